/** Reads of the sandbox's inboxes: the endpoints of that kind, one for each customer. */

import { type Kysely, sql } from "kysely";
import type { CustomerId } from "../core/id.ts";
import type { Endpoint } from "../core/webhook.ts";
import { decodeRows } from "./quarantine.ts";
import { type Database, decode } from "./rows.ts";

/** The inbox of a customer, whether or not it is active. */
export async function findInbox(db: Kysely<Database>, customerId: CustomerId): Promise<Endpoint | null> {
  const query = db.selectFrom("endpoints").selectAll().where("customer_id", "=", customerId);
  const row = await query.where("kind", "=", "inbox").executeTakeFirst();
  return row === undefined ? null : decode("endpoints", row);
}

/** The inbox with this address (a path). */
export async function findInboxByUrl(db: Kysely<Database>, url: string): Promise<Endpoint | null> {
  const { rows } = await sql<object>`select * from endpoints where kind = 'inbox' and url = ${url}`.execute(db);
  const [row] = rows;
  return row === undefined ? null : decode("endpoints", row);
}

/** The inboxes of all customers that are active, or those that are not. */
export async function listInboxes(db: Kysely<Database>, active: boolean): Promise<Endpoint[]> {
  const { rows } = await sql<object>`select * from endpoints where kind = 'inbox' and active = ${active ? 1 : 0}
    order by url`.execute(db);
  return decodeRows(db, "endpoints", rows);
}
