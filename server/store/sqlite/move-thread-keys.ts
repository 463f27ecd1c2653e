/** Gives the threads of older versions the keys of this one, batch by batch, and drops the index that they make superfluous. */

import type { DatabaseSync } from "node:sqlite";

/** Threads changed in one transaction. */
const BATCH_CHATS = 2_000;
/** The index of older versions by contact. It is dropped last: while it exists, keys may be left to change. */
const CONTACTS = "chats_contact";

const NEXT = `select max(id) as until, count(*) as chats from (select id from chats where id > ? order by id limit ${BATCH_CHATS})`;

/** As `threadKey` makes it. A key that is in use already, which only a damaged row can have, stays as it is. */
const CHANGE = `update or ignore chats set "key" = customer_id || '/' || contact || '/' || "from"
  where id > ? and id <= ? and contact is not null and "key" not glob customer_id || '/*'`;

/**
 * Changes all keys; does nothing if that was done. A process that is stopped in between begins again at its next start, and passes
 * over those that it changed. `report` gets the number of threads passed so far, after each batch.
 */
export function moveThreadKeys(database: DatabaseSync, report: (moved: number) => void = () => {}): void {
  if (database.prepare("select 1 from sqlite_schema where name = ?").get(CONTACTS) === undefined) return;
  const next = database.prepare(NEXT);
  const change = database.prepare(CHANGE);
  let moved = 0;
  for (let after = ""; ; ) {
    const { until = null, chats = 0 } = next.get(after) ?? {};
    if (typeof until !== "string") break;
    change.run(after, until);
    after = until;
    moved += Number(chats);
    report(moved);
  }
  database.exec(`drop index ${CONTACTS}`);
}
