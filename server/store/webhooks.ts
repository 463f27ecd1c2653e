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

/** Endpoints by id, inboxes included, and the ids of those that cannot be decoded. Unknown ids are left out. */
export async function findEndpoints(
  db: Kysely<Database>,
  ids: readonly string[],
): Promise<{ endpoints: Endpoint[]; unreadable: string[] }> {
  const endpoints: Endpoint[] = [];
  const unreadable: string[] = [];
  for (let from = 0; from < ids.length; from += IDS_PER_READ) {
    const some = ids.slice(from, from + IDS_PER_READ) as EndpointId[];
    const rows = await db.selectFrom("endpoints").selectAll().where("id", "in", some).execute();
    const decoded = decodeRows(db, "endpoints", rows);
    const readable = new Set(decoded.map(({ id }) => id));
    endpoints.push(...decoded);
    unreadable.push(...rows.flatMap(({ id }) => (readable.has(id) ? [] : [id])));
  }
  return { endpoints, unreadable };
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

/** Endpoints of all customers whose receivers are gone, in order of their ids. */
export async function findGoneEndpoints(db: Kysely<Database>, limit: number): Promise<EndpointId[]> {
  const gone = db.selectFrom("endpoints").select("id").where("gone_since", "is not", null);
  const rows = await gone.orderBy("id").limit(limit).execute();
  return rows.map(({ id }) => id as EndpointId);
}
