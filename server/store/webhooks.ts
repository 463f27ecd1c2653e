/** Reads of endpoints, without the sandbox's inboxes (`inboxes.ts`). */

import type { Kysely } from "kysely";
import type { CustomerId, EndpointId } from "../core/id.ts";
import type { Endpoint } from "../core/webhook.ts";
import { decodeRows } from "./quarantine.ts";
import { type Database, decode } from "./rows.ts";

/** Ids that one statement names. */
const IDS_PER_READ = 500;

/** The primary endpoint of a customer. */
export async function findPrimaryEndpoint(db: Kysely<Database>, customerId: CustomerId): Promise<Endpoint | null> {
  const query = db.selectFrom("endpoints").selectAll().where("customer_id", "=", customerId);
  const row = await query.where("kind", "=", "primary").executeTakeFirst();
  return row === undefined ? null : decode("endpoints", row);
}

/** A customer's endpoint; null for another customer's and for the inbox. */
export async function findWebhook(db: Kysely<Database>, customerId: CustomerId, id: string): Promise<Endpoint | null> {
  const row = await db
    .selectFrom("endpoints")
    .selectAll()
    .where("id", "=", id as EndpointId)
    .where("customer_id", "=", customerId)
    .where("kind", "<>", "inbox")
    .executeTakeFirst();
  return row === undefined ? null : decode("endpoints", row);
}

/** Customer and `maxInFlight` of endpoints, inboxes included; unknown ids are left out. */
export async function findReceivers(
  db: Kysely<Database>,
  ids: readonly string[],
): Promise<Pick<Endpoint, "id" | "customerId" | "maxInFlight">[]> {
  const found: Pick<Endpoint, "id" | "customerId" | "maxInFlight">[] = [];
  for (let from = 0; from < ids.length; from += IDS_PER_READ) {
    const some = ids.slice(from, from + IDS_PER_READ) as EndpointId[];
    const query = db.selectFrom("endpoints").select(["id", "customer_id", "max_in_flight"]).where("id", "in", some);
    for (const row of await query.execute())
      found.push({ id: row.id, customerId: row.customer_id, maxInFlight: row.max_in_flight });
  }
  return found;
}

/** All endpoints of a customer without its inbox: the primary one first, then the oldest. */
export async function listWebhooks(db: Kysely<Database>, customerId: CustomerId): Promise<Endpoint[]> {
  const rows = await db
    .selectFrom("endpoints")
    .selectAll()
    .where("customer_id", "=", customerId)
    .where("kind", "<>", "inbox")
    .orderBy("kind", "desc")
    .orderBy("id")
    .execute();
  return decodeRows(db, "endpoints", rows);
}
