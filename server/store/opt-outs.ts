/** Reads of opt-outs. */

import { type Kysely, type RawBuilder, type SqlBool, sql } from "kysely";
import type { CustomerId } from "../core/id.ts";
import type { OptOut } from "../core/opt-out.ts";
import { decodePage } from "./quarantine.ts";
import { type Database, decode } from "./rows.ts";
import { unindexed } from "./spelling.ts";

/** The opt-out of a contact from a number, under any customer of the number; null if there is none. */
export async function findOptOut(db: Kysely<Database>, number: string, contact: string): Promise<OptOut | null> {
  const query = db.selectFrom("opt_outs").selectAll().where("number", "=", number).where("contact", "=", contact);
  const row = await query.executeTakeFirst();
  return row === undefined ? null : decode("optOuts", row);
}

/** Up to `limit` contacts that opted out from a number, under any customer of the number. */
export async function listContactsOptedOut(db: Kysely<Database>, number: string, limit: number): Promise<string[]> {
  const rows = await db.selectFrom("opt_outs").select("contact").where("number", "=", number).limit(limit).execute();
  return rows.map(({ contact }) => contact);
}

/** Where a page of opt-outs begins: after this one. */
export interface OptOutCursor {
  createdAt: number;
  number: string;
  contact: string;
}

/** Opt-outs created while the customer had the number, newest first; from one `number` if given. */
export async function listOptOuts(
  db: Kysely<Database>,
  customerId: CustomerId,
  number: string | undefined,
  after: OptOutCursor | null,
  limit: number,
): Promise<OptOut[]> {
  const narrow = number === undefined ? [] : [sql<SqlBool>`number = ${number}`];
  // The first condition lets the index seek.
  const behind = after === null ? [] : [sql<SqlBool>`created_at <= ${after.createdAt}`, isBehind(after)];
  const conditions = [sql<SqlBool>`customer_id = ${customerId}`, ...narrow, ...behind];
  return decodePage(db, "optOuts", limit, async (skip, count) => {
    const { rows } = await sql<object>`select * from opt_outs where ${sql.join(conditions, sql` and `)}
      order by created_at desc, number, contact limit ${count} + 0 offset ${skip} + 0`.execute(db);
    return rows;
  });
}

function isBehind({ createdAt, number, contact }: OptOutCursor): RawBuilder<SqlBool> {
  return sql<SqlBool>`(created_at < ${createdAt} or (${unindexed("number")}, ${unindexed("contact")}) > (${number}, ${contact}))`;
}
