/** Reads of events. Responses carry the bytes of an event as they were created. */

import { type Expression, type Kysely, type SqlBool, sql } from "kysely";
import type { EventType } from "../../sdk/wire.ts";
import type { Event } from "../core/event.ts";
import type { CustomerId, EventId, MessageId } from "../core/id.ts";
import { decodeAll } from "./quarantine.ts";
import { type Database, decode } from "./rows.ts";
import { nearCustomer, ofCustomer } from "./rows-of-customer.ts";
import { type IndexedList, indexed, is, type ListPage, readPage } from "./windows.ts";

/** An event with its position among all events. */
export interface PositionedEvent extends Event {
  position: number;
}

/** A direction of reading, from a position (exclusive; null: from the end). */
export interface EventPage {
  order: "newest" | "oldest";
  from: number | null;
  limit: number;
}

/** Up to `limit` events of a customer, or of one of its messages. */
export async function listEvents(
  db: Kysely<Database>,
  customerId: CustomerId,
  { messageId }: { messageId?: string | undefined },
  { order, from, limit }: EventPage,
): Promise<PositionedEvent[]> {
  const isNewest = order === "newest";
  const narrow = messageId === undefined ? [ofCustomer(customerId)] : narrowToMessage(messageId, customerId);
  const events: PositionedEvent[] = [];
  for (let at = from; ; ) {
    const behind = at === null ? [] : [sql<SqlBool>`position ${sql.raw(isNewest ? "<" : ">")} ${at}`];
    const wanted = limit - events.length;
    const { rows } = await sql<PositionedRow>`select * from events where ${sql.join([...narrow, ...behind], sql` and `)}
      order by position ${sql.raw(isNewest ? "desc" : "asc")} limit ${wanted} + 0`.execute(db);
    events.push(...decodeAll(db, rows, decodePositioned));
    const last = rows.at(-1);
    // Further rows replace rows that cannot be decoded, so that a short page is the last one.
    if (last === undefined || rows.length < wanted || events.length === limit) return events;
    at = last.position;
  }
}

/** A filter of events. */
export interface EventFilter {
  type?: EventType | undefined;
  messageId?: string | undefined;
}

/** A page of a customer's events that match. */
export function pageOfEvents(
  db: Kysely<Database>,
  customerId: CustomerId,
  { type, messageId }: EventFilter,
  { order, from, limit }: EventPage,
): Promise<ListPage<PositionedEvent, number>> {
  const list: IndexedList<PositionedEvent, number> = {
    db,
    table: "events",
    column: "position",
    order,
    narrow: messageId === undefined ? [nearCustomer(customerId)] : [indexed("message_id", messageId)],
    filter: [...is("customer_id", customerId), ...is("type", type)],
    decode: (row) => decodePositioned(row as PositionedRow),
    placeOf: ({ position }) => position,
  };
  return readPage(list, { from, skip: 0 }, limit);
}

function narrowToMessage(messageId: string, customerId: CustomerId): Expression<SqlBool>[] {
  return [indexed("message_id", messageId), ...is("customer_id", customerId)];
}

type PositionedRow = object & { position: number };

function decodePositioned(row: PositionedRow): PositionedEvent {
  return { ...decode("events", row), position: row.position };
}

/** An event without its bytes; `messageId` is null for an event of no message. Times are epoch milliseconds. */
export interface EventSummary {
  id: EventId;
  position: number;
  messageId: MessageId | null;
  createdAt: number;
}

/** Summaries of a customer's events after a position, oldest first. */
export async function listEventSummaries(
  db: Kysely<Database>,
  customerId: CustomerId,
  from: number,
  limit: number,
): Promise<EventSummary[]> {
  const { rows } =
    await sql<EventSummary>`select id, position, message_id as "messageId", created_at as "createdAt" from events
    where ${ofCustomer(customerId)} and position > ${from} order by position limit ${limit} + 0`.execute(db);
  return rows;
}

/** The position of a customer's newest event; null without events. */
export async function newestPosition(db: Kysely<Database>, customerId: CustomerId): Promise<number | null> {
  const query = db
    .selectFrom("events")
    .select("position")
    .where(ofCustomer(customerId))
    .orderBy("position", "desc")
    .limit(1);
  return (await query.executeTakeFirst())?.position ?? null;
}

/** A customer's event; null for another customer's. */
export async function findEvent(
  db: Kysely<Database>,
  customerId: CustomerId,
  id: string,
): Promise<PositionedEvent | null> {
  const query = db
    .selectFrom("events")
    .selectAll()
    .where("id", "=", id as EventId)
    .where("customer_id", "=", customerId);
  const row = await query.executeTakeFirst();
  return row === undefined ? null : decodePositioned(row);
}

/** The bytes of all events of a message, even if the rest of their rows cannot be decoded. */
export async function listEventBytes(
  db: Kysely<Database>,
  messageId: MessageId,
): Promise<Pick<Event, "id" | "type" | "bytes">[]> {
  const query = db.selectFrom("events").select(["id", "type", "bytes"]).where("message_id", "=", messageId);
  return (await query.execute()).map(({ id, type, bytes }) => ({ id, type, bytes: String(bytes) }));
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
