/** Reads of the sandbox's inboxes: the endpoints of that kind, one for each customer. */

import type { Kysely } from "kysely";
import type { CustomerId } from "../core/id.ts";
import type { Endpoint } from "../core/webhook.ts";
import { type Database, decode } from "./rows.ts";

/** The inbox of a customer, whether or not it is active. */
export async function findInbox(db: Kysely<Database>, customerId: CustomerId): Promise<Endpoint | null> {
  const query = db.selectFrom("endpoints").selectAll().where("customer_id", "=", customerId);
  const row = await query.where("kind", "=", "inbox").executeTakeFirst();
  return row === undefined ? null : decode("endpoints", row);
}

/** The inbox with this address (a path). Looks at every endpoint: to be remembered by whoever asks. */
export async function findInboxByUrl(db: Kysely<Database>, url: string): Promise<Endpoint | null> {
  const query = db.selectFrom("endpoints").selectAll().where("kind", "=", "inbox");
  const row = await query.where("url", "=", url).executeTakeFirst();
  return row === undefined ? null : decode("endpoints", row);
}

/** The inboxes of all customers that are active, or those that are not. */
export async function listInboxes(db: Kysely<Database>, active: boolean): Promise<Endpoint[]> {
  const query = db.selectFrom("endpoints").selectAll().where("kind", "=", "inbox");
  const rows = await query.where("active", "=", active ? 1 : 0).execute();
  return rows.map((row) => decode("endpoints", row));
}
