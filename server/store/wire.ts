/** Reads of the Wire's feed: the records that it follows, by their ids. */

import { type Kysely, type SqlBool, sql } from "kysely";
import type { Delivery } from "../core/delivery.ts";
import type { CustomerId, DeliveryId, EventId, MessageId } from "../core/id.ts";
import type { Message } from "../core/message.ts";
import { boundsBeside } from "./deliveries-of-event.ts";
import { decodeRows } from "./quarantine.ts";
import { DELIVERY_QUEUE } from "./queue-rows.ts";
import type { Database } from "./rows.ts";
import { ofCustomer } from "./rows-of-customer.ts";
import { storedColumn } from "./split-timeline.ts";
import { narrowedId, perDialect } from "./sql-dialects.ts";

/**
 * Versions of a customer's records with these ids; at most a few hundred. To read the versions of 256 records takes a
 * fifth of the time of the records.
 */
export async function findVersions(
  db: Kysely<Database>,
  table: "deliveries" | "messages",
  customerId: CustomerId,
  ids: readonly (DeliveryId | MessageId)[],
): Promise<Map<string, number>> {
  if (ids.length === 0) return new Map();
  const isOwn = table === "deliveries" ? ofCustomer(customerId) : sql<SqlBool>`customer_id = ${customerId}`;
  const rows = await db.selectFrom(table).select(["id", "version"]).where("id", "in", ids).where(isOwn).execute();
  return new Map(rows.map(({ id, version }) => [id, Number(version)]));
}

/** A customer's deliveries with these ids, in no order; at most a few hundred. */
export async function findDeliveries(
  db: Kysely<Database>,
  customerId: CustomerId,
  ids: readonly DeliveryId[],
): Promise<Delivery[]> {
  if (ids.length === 0) return [];
  const query = db.selectFrom("deliveries").selectAll().where(ofCustomer(customerId));
  return decodeRows(db, "deliveries", await query.where("id", "in", ids).execute());
}

/**
 * The newest deliveries, at most `limit`, of an event and of the customer's events with later ids, the oldest first.
 * Includes deliveries of replays that were made since.
 */
export async function findDeliveriesSince(
  db: Kysely<Database>,
  customerId: CustomerId,
  eventId: EventId,
  limit: number,
): Promise<Delivery[]> {
  const [bound] = boundsBeside(eventId, eventId);
  const id = narrowedId("deliveries");
  // Named in the collation of the table, too, the bound leaves out partitions.
  const isRecent = perDialect<SqlBool>(sql`true`, sql`deliveries.id > ${bound}`);
  const { rows } = await sql<object>`select * from deliveries
    where ${ofCustomer(customerId)} and ${id} > ${bound} and ${isRecent}
    order by ${id} desc limit ${limit} + 0`.execute(db);
  return decodeRows(db, "deliveries", rows).toReversed();
}

/**
 * Up to `limit` pending deliveries of a customer's endpoints, those that are due first of each; not those of a
 * `callbackUrl`.
 */
export async function findPendingDeliveries(
  db: Kysely<Database>,
  customerId: CustomerId,
  limit: number,
): Promise<Delivery[]> {
  const lanes = await db.selectFrom("endpoints").select("id").where("customer_id", "=", customerId).execute();
  const found: Delivery[] = [];
  for (const { id } of lanes) {
    const { lane, dueAt: order, firstRecords } = DELIVERY_QUEUE;
    const each = Math.ceil(limit / lanes.length);
    const where = sql<SqlBool>`${lane} = ${id} and ${order} is not null`;
    const { rows } = await sql<object>`select deliveries.* from ${firstRecords({ where, order, limit: each })}
      where ${where} order by ${order} limit ${each} + 0`.execute(db);
    found.push(...decodeRows(db, "deliveries", rows));
  }
  return found;
}

/** The parts of a message that the Wire shows. */
export type WireMessage = Pick<Message, "id" | "version" | "status" | "correlationId" | "timeline">;

/** A customer's messages with these ids, in no order; at most a few hundred. */
export async function findWireMessages(
  db: Kysely<Database>,
  customerId: CustomerId,
  ids: readonly MessageId[],
): Promise<WireMessage[]> {
  if (ids.length === 0) return [];
  const timeline = perDialect<string>(sql.ref("timeline"), sql.raw(storedColumn("messages", "timeline", "messages")));
  const columns = ["id", "version", "status", "correlation_id", timeline.as("timeline")] as const;
  const query = db.selectFrom("messages").select(columns).where("id", "in", ids);
  return decodeRows(db, "messages", await query.where("customer_id", "=", customerId).execute());
}
