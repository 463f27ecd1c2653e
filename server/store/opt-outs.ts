/** Reads of opt-outs. */

import type { Kysely } from "kysely";
import type { CustomerId } from "../core/id.ts";
import type { OptOut } from "../core/opt-out.ts";
import { type Database, decode } from "./rows.ts";

/** The entry of a contact on a number's list, whoever had the number then; null when it is not there. */
export async function findOptOut(db: Kysely<Database>, number: string, contact: string): Promise<OptOut | null> {
  const query = db.selectFrom("opt_outs").selectAll().where("number", "=", number).where("contact", "=", contact);
  const row = await query.executeTakeFirst();
  return row === undefined ? null : decode("optOuts", row);
}

/** The contacts on a number's list, whoever had the number then; of a long one `limit` of them. */
export async function listContactsOptedOut(db: Kysely<Database>, number: string, limit: number): Promise<string[]> {
  const rows = await db.selectFrom("opt_outs").select("contact").where("number", "=", number).limit(limit).execute();
  return rows.map(({ contact }) => contact);
}

/** Where a page of opt-outs begins: behind this one. */
export interface OptOutPlace {
  createdAt: number;
  number: string;
  contact: string;
}

/** The opt-outs that came to be while the customer had the number, newest first; of one `number` where it is given. */
export async function listOptOuts(
  db: Kysely<Database>,
  customerId: CustomerId,
  number: string | undefined,
  after: OptOutPlace | null,
  limit: number,
): Promise<OptOut[]> {
  let query = db
    .selectFrom("opt_outs")
    .selectAll()
    .where("customer_id", "=", customerId)
    .orderBy("created_at", "desc")
    .orderBy("number")
    .orderBy("contact")
    .limit(limit);
  if (number !== undefined) query = query.where("number", "=", number);
  if (after !== null) {
    query = query.where((where) =>
      where.or([
        where("created_at", "<", after.createdAt),
        where.and([where("created_at", "=", after.createdAt), where("number", ">", after.number)]),
        where.and([
          where("created_at", "=", after.createdAt),
          where("number", "=", after.number),
          where("contact", ">", after.contact),
        ]),
      ]),
    );
  }
  return (await query.execute()).map((row) => decode("optOuts", row));
}
