/** Moves the attempts of older versions from their table into the rows of their deliveries, batch by batch, before those are moved. */

import type { DatabaseSync } from "node:sqlite";
import { ATTEMPTS_KEPT_MAX } from "../../core/delivery.ts";

/** Deliveries moved in one transaction. */
const BATCH_DELIVERIES = 2_000;
/** The setting that holds the last delivery moved, so that a start goes on where the one before it ended. */
const CURSOR = "attempts-moved";

/**
 * The newest attempts of the next deliveries as JSON. An attempt that cannot be decoded is left out, as the lists of older
 * versions left it out.
 */
const NEXT = `
  select delivery_id, json_group_array(json_object(
    'at', at, 'status', status, 'durationMs', duration_ms, 'response', response, 'error', error))
  from (
    select *, row_number() over (partition by delivery_id order by number desc) as age from attempts
    where delivery_id in (select distinct delivery_id from attempts where delivery_id > ? order by delivery_id limit ?)
      and typeof(at) = 'integer' and typeof(duration_ms) in ('integer', 'real')
      and typeof(status) in ('integer', 'null') and typeof(response) in ('text', 'null') and typeof(error) in ('text', 'null')
    order by delivery_id, number
  ) where age <= ${ATTEMPTS_KEPT_MAX} group by delivery_id`;

const LAST = `select max(delivery_id) from (
  select distinct delivery_id from attempts where delivery_id > ? order by delivery_id limit ?)`;

/**
 * Moves all attempts and drops their table; does nothing if it is gone. Every batch is on disk with its cursor, so a process
 * that is stopped in between goes on at its next start. `report` gets the number of deliveries moved so far, after each batch.
 */
export function moveAttempts(database: DatabaseSync, report: (moved: number) => void = () => {}): void {
  if (database.prepare("select 1 from sqlite_schema where name = 'attempts'").get() === undefined) return;
  const next = database.prepare(NEXT);
  const last = database.prepare(LAST);
  const update = database.prepare("update deliveries_before set attempts = ? where id = ?");
  const save = database.prepare(
    "insert into settings (name, value) values (?, ?) on conflict (name) do update set value = excluded.value",
  );
  for (const statement of [next, last]) statement.setReturnArrays(true);
  const saved = database.prepare("select value from settings where name = ?").get(CURSOR);
  let cursor = String(saved?.value ?? "");
  for (let moved = 0; ; ) {
    const [end] = last.get(cursor, BATCH_DELIVERIES) as unknown as [string | null];
    if (end === null) break;
    const rows = next.all(cursor, BATCH_DELIVERIES) as unknown as [id: string, attempts: string][];
    transaction(database, () => {
      for (const [id, attempts] of rows) update.run(attempts, id);
      save.run(CURSOR, end);
    });
    cursor = end;
    moved += rows.length;
    report(moved);
  }
  transaction(database, () => {
    database.exec("drop table attempts");
    database.prepare("delete from settings where name = ?").run(CURSOR);
  });
}

function transaction(database: DatabaseSync, work: () => void): void {
  database.exec("begin immediate");
  try {
    work();
    database.exec("commit");
  } catch (error) {
    if (database.isTransaction) database.exec("rollback");
    throw error;
  }
}
