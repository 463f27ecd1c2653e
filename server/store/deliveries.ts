/** Reads of deliveries and their attempts. Customers do not see those to the sandbox's inbox. */

import { type Kysely, type SelectQueryBuilder, sql } from "kysely";
import type { DeliveryStatus } from "../../sdk/wire.ts";
import type { Attempt, Delivery } from "../core/delivery.ts";
import type { CustomerId, DeliveryId, EndpointId } from "../core/id.ts";
import { type Database, decode, type Row } from "./rows.ts";

export interface DeliveryFilter {
  status?: DeliveryStatus | undefined;
  webhookId?: string | undefined;
  eventId?: string | undefined;
  messageId?: string | undefined;
}

/** Where a page of deliveries lies: after the delivery `before` (an id), or at the newest when null. */
export interface DeliveryPage {
  before: string | null;
  limit: number;
}

/** A customer's deliveries, newest first. */
export async function listDeliveries(
  db: Kysely<Database>,
  customerId: CustomerId,
  filter: DeliveryFilter,
  page: DeliveryPage,
): Promise<Delivery[]> {
  let query = filtered(listed(db, customerId), filter).orderBy("id", "desc").limit(page.limit);
  if (page.before !== null) query = query.where("id", "<", page.before as DeliveryId);
  return (await query.execute()).map((row) => decode("deliveries", row));
}

/** The delivery, whoever's it is and wherever it goes. */
export async function findDelivery(db: Kysely<Database>, id: DeliveryId): Promise<Delivery | null> {
  const row = await db.selectFrom("deliveries").selectAll().where("id", "=", id).executeTakeFirst();
  return row === undefined ? null : decode("deliveries", row);
}

/** A customer's delivery; null for another customer's and for one to the inbox. */
export async function findDeliveryOf(
  db: Kysely<Database>,
  customerId: CustomerId,
  id: string,
): Promise<Delivery | null> {
  const row = await listed(db, customerId)
    .where("id", "=", id as DeliveryId)
    .executeTakeFirst();
  return row === undefined ? null : decode("deliveries", row);
}

/** Attempts of the deliveries named, the first one first; a delivery without any is not in the answer. */
export async function findAttempts(
  db: Kysely<Database>,
  ids: readonly DeliveryId[],
): Promise<ReadonlyMap<DeliveryId, Attempt[]>> {
  const attempts = new Map<DeliveryId, Attempt[]>();
  if (ids.length === 0) return attempts;
  const rows = await db
    .selectFrom("attempts")
    .selectAll()
    .where("delivery_id", "in", ids)
    .orderBy("delivery_id")
    .orderBy("number")
    .execute();
  for (const row of rows) {
    const attempt = decode("attempts", row);
    const known = attempts.get(attempt.deliveryId);
    if (known === undefined) attempts.set(attempt.deliveryId, [attempt]);
    else known.push(attempt);
  }
  return attempts;
}

/** Which of these deliveries there are. */
export async function findExisting(db: Kysely<Database>, ids: readonly DeliveryId[]): Promise<ReadonlySet<DeliveryId>> {
  if (ids.length === 0) return new Set();
  const rows = await db.selectFrom("deliveries").select("id").where("id", "in", ids).execute();
  return new Set(rows.map((row) => row.id));
}

type Deliveries = SelectQueryBuilder<Database, "deliveries", Row<Delivery>>;

function listed(db: Kysely<Database>, customerId: CustomerId): Deliveries {
  const inbox = db
    .selectFrom("endpoints")
    .select("id")
    .where("customer_id", "=", customerId)
    .where("kind", "=", "inbox");
  return db
    .selectFrom("deliveries")
    .selectAll()
    .where("customer_id", "=", customerId)
    .where((where) => where.or([where("endpoint_id", "is", null), where("endpoint_id", "not in", inbox)]));
}

/** Event and message name ids to look up, so that no filter of theirs reads through all of a customer's deliveries. */
function filtered(deliveries: Deliveries, filter: DeliveryFilter): Deliveries {
  let query = deliveries;
  if (filter.status !== undefined) query = query.where("status", "=", filter.status);
  if (filter.webhookId !== undefined) query = query.where("endpoint_id", "=", filter.webhookId as EndpointId);
  if (filter.eventId !== undefined) {
    query = query.where("id", "in", sql<DeliveryId>`(select id from deliveries where event_id = ${filter.eventId})`);
  }
  if (filter.messageId !== undefined) {
    const ofMessage = sql<DeliveryId>`(select d.id from events e join deliveries d on d.event_id = e.id
      where e.message_id = ${filter.messageId})`;
    query = query.where("id", "in", ofMessage);
  }
  return query;
}

/** The delivery, whoever's it is and wherever it goes, the sandbox's inbox included. */
export async function findAnyDelivery(db: Kysely<Database>, id: DeliveryId): Promise<Delivery | null> {
  const row = await db.selectFrom("deliveries").selectAll().where("id", "=", id).executeTakeFirst();
  return row === undefined ? null : decode("deliveries", row);
}
