/** Reads of events. What is answered carries their bytes as they were made. */

import type { Kysely } from "kysely";
import type { EventType } from "../../sdk/wire.ts";
import type { Event } from "../core/event.ts";
import type { CustomerId, EventId, MessageId } from "../core/id.ts";
import { type Database, decode } from "./rows.ts";

/** An event and where it stands among all. */
export interface PlacedEvent extends Event {
  position: number;
}

export interface EventFilter {
  type?: EventType | undefined;
  messageId?: string | undefined;
}

/** A direction to read in, from a position (exclusive; null: from the end). */
export interface EventPage {
  order: "newest" | "oldest";
  from: number | null;
  limit: number;
}

/** A customer's events. */
export async function listEvents(
  db: Kysely<Database>,
  customerId: CustomerId,
  filter: EventFilter,
  page: EventPage,
): Promise<PlacedEvent[]> {
  const newest = page.order === "newest";
  let query = db
    .selectFrom("events")
    .selectAll()
    .where("customer_id", "=", customerId)
    .orderBy("position", newest ? "desc" : "asc")
    .limit(page.limit);
  if (page.from !== null) query = query.where("position", newest ? "<" : ">", page.from);
  if (filter.type !== undefined) query = query.where("type", "=", filter.type);
  if (filter.messageId !== undefined) query = query.where("message_id", "=", filter.messageId as MessageId);
  return (await query.execute()).map((row) => ({ ...decode("events", row), position: row.position }));
}

/** The position of a customer's newest event; null when there is none. */
export async function newestPosition(db: Kysely<Database>, customerId: CustomerId): Promise<number | null> {
  const query = db
    .selectFrom("events")
    .select("position")
    .where("customer_id", "=", customerId)
    .orderBy("position", "desc")
    .limit(1);
  return (await query.executeTakeFirst())?.position ?? null;
}

/** A customer's event; null for another customer's. */
export async function findEvent(db: Kysely<Database>, customerId: CustomerId, id: string): Promise<PlacedEvent | null> {
  const query = db
    .selectFrom("events")
    .selectAll()
    .where("id", "=", id as EventId)
    .where("customer_id", "=", customerId);
  const row = await query.executeTakeFirst();
  return row === undefined ? null : { ...decode("events", row), position: row.position };
}

/** All events of a message, in order. */
export async function listEventsOfMessage(db: Kysely<Database>, messageId: MessageId): Promise<Event[]> {
  const rows = await db
    .selectFrom("events")
    .selectAll()
    .where("message_id", "=", messageId)
    .orderBy("position")
    .execute();
  return rows.map((row) => decode("events", row));
}
