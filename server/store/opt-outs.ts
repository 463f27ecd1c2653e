/** Reads of opt-outs. */

import { type Kysely, type RawBuilder, type SqlBool, sql } from "kysely";
import type { CustomerId } from "../core/id.ts";
import type { OptOut } from "../core/opt-out.ts";
import { decodePage, decodeRows } from "./quarantine.ts";
import type { Database } from "./rows.ts";
import { unindexed } from "./sql-dialects.ts";

/** A number and its customer, and the forms of a contact's address. */
export interface OptOutPair {
  customerId: CustomerId;
  number: string;
  contacts: readonly string[];
}

/**
 * The opt-outs of a contact that hold for a number: opt-outs from the number, under any of its customers, and opt-outs
 * from all numbers of the customer. Opt-outs of the customer come first, and of these the opt-outs from the number
 * itself.
 */
export async function findOptOuts(
  db: Kysely<Database>,
  { customerId, number, contacts }: OptOutPair,
): Promise<OptOut[]> {
  const found: OptOut[] = [];
  for (const contact of contacts) {
    const { rows } = await sql<object>`select * from opt_outs where number = ${number} and contact = ${contact}
      union all select * from opt_outs where customer_id = ${customerId} and contact = ${contact} and scope = 'customer'
        and ${unindexed("number")} <> ${number}`.execute(db);
    found.push(...decodeRows(db, "optOuts", rows));
  }
  const rank = (one: OptOut) => (one.customerId === customerId ? 0 : 2) + (one.number === number ? 0 : 1);
  return found.sort((one, other) => rank(one) - rank(other));
}

/** Whether an opt-out of a contact holds for a number, even if its row cannot be decoded. */
export async function hasOptOut(db: Kysely<Database>, { customerId, number, contacts }: OptOutPair): Promise<boolean> {
  for (const contact of contacts) {
    const { rows } = await sql<object>`select contact from opt_outs where number = ${number} and contact = ${contact}
      union all select contact from opt_outs where customer_id = ${customerId} and contact = ${contact} and scope = 'customer'`.execute(
      db,
    );
    if (rows.length > 0) return true;
  }
  return false;
}

/** Up to `limit` contacts that opted out from a number, under any customer of the number. */
export async function listContactsOptedOut(db: Kysely<Database>, number: string, limit: number): Promise<string[]> {
  const rows = await db.selectFrom("opt_outs").select("contact").where("number", "=", number).limit(limit).execute();
  return rows.map(({ contact }) => contact);
}

/** Up to `limit` contacts that opted out from all numbers of a customer. */
export async function listContactsOptedOutOfAll(
  db: Kysely<Database>,
  customerId: CustomerId,
  limit: number,
): Promise<string[]> {
  const { rows } = await sql<{ contact: string }>`select contact from opt_outs
    where customer_id = ${customerId} and scope = 'customer' limit ${limit} + 0`.execute(db);
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
