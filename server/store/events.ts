/** Reads of events. Responses carry the bytes of an event as they were created. */

import { type Expression, type Kysely, type SqlBool, sql } from "kysely";
import type { EventType } from "../../sdk/wire.ts";
import type { Event } from "../core/event.ts";
import { type CustomerId, type EventId, type MessageId, timeOfId } from "../core/id.ts";
import { type IndexedList, indexed, is, type ListPage, readPage } from "./list-windows.ts";
import { unpackEnvelope } from "./packed-envelope.ts";
import { dayOfPosition, firstPositionOf, isNear, positionsNear } from "./positions.ts";
import { decodeAll } from "./quarantine.ts";
import { type DailyPositions, daysToAsk, onPartitions } from "./recent-days.ts";
import { type Database, decode } from "./rows.ts";
import { nearCustomer, ofCustomer, ofSameCustomer } from "./rows-of-customer.ts";
import { perDialect, unindexed, valuesOf } from "./sql-dialects.ts";

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
  const days =
    messageId === undefined ? await daysToAsk({ db, order }, from === null ? null : dayOfPosition(from)) : [];
  const ends = days.map(firstPositionOf);
  const events: PositionedEvent[] = [];
  for (let at = from; ; ) {
    const [end] = ends;
    const behind = at === null ? [] : [sql<SqlBool>`position ${sql.raw(isNewest ? "<" : ">")} ${at}`];
    const before = end === undefined ? [] : [sql<SqlBool>`position ${sql.raw(isNewest ? ">=" : "<")} ${end}`];
    const wanted = limit - events.length;
    const conditions = [...narrow, ...behind, ...before];
    const { rows } = await sql<PositionedRow>`select * from events where ${sql.join(conditions, sql` and `)}
      order by position ${sql.raw(isNewest ? "desc" : "asc")} limit ${wanted} + 0`.execute(db);
    events.push(...decodeAll(db, rows, decodePositioned));
    const last = rows.at(-1);
    // Further rows replace rows that cannot be decoded, so that a short page is the last one.
    if (events.length === limit) return events;
    if (last !== undefined && rows.length === wanted) at = last.position;
    else if (ends.shift() === undefined) return events;
    else if (end !== undefined) at = isNewest ? end : end - 1;
  }
}

/** A filter of events. */
export interface EventFilter {
  type?: EventType | undefined;
  messageId?: string | undefined;
}

const EVENT_DAYS: DailyPositions<number> = { dayOf: dayOfPosition, beginningOf: firstPositionOf };

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
    ...(messageId === undefined ? onPartitions(EVENT_DAYS, db) : {}),
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

/** An event without its envelope, and its position among all events. */
export type EventSummary = Pick<
  PositionedEvent,
  "id" | "customerId" | "type" | "messageId" | "sequence" | "createdAt" | "position"
>;

/** Summaries of a customer's events after a position, up to `until`, oldest first. */
export async function listEventSummaries(
  db: Kysely<Database>,
  customerId: CustomerId,
  { after, until }: { after: number; until: number },
  limit: number,
): Promise<EventSummary[]> {
  const { rows } = await sql<EventSummary>`
    select id, position, type, sequence, customer_id as "customerId", message_id as "messageId", created_at as "createdAt"
    from events where ${ofCustomer(customerId)} and position > ${after} and position <= ${until}
    order by position limit ${limit} + 0`.execute(db);
  return rows;
}

/** The position of a customer's newest event; null without events. */
export async function newestPosition(db: Kysely<Database>, customerId: CustomerId): Promise<number | null> {
  const ends = (await daysToAsk({ db, order: "newest" }, null)).map(firstPositionOf);
  for (const end of [...ends, 0]) {
    const query = db.selectFrom("events").select("position").where(ofCustomer(customerId)).where("position", ">=", end);
    const row = await query.orderBy("position", "desc").limit(1).executeTakeFirst();
    if (row !== undefined) return row.position;
  }
  return null;
}

/**
 * The newest positions of customers. `known` has the position that is known for each. Customers without a newer event
 * are left out.
 */
export async function newestPositions(
  db: Kysely<Database>,
  known: ReadonlyMap<CustomerId, number>,
): Promise<Map<CustomerId, number>> {
  const list = JSON.stringify([...known]);
  const given = perDialect<unknown>(
    sql`select value ->> 0 as id, value ->> 1 as known from json_each(${list})`,
    sql`select value ->> 0 as id, (value ->> 1)::bigint as known from json_array_elements(${list}::json) as listed (value)`,
  );
  // A bound that is known beforehand lets PostgreSQL leave out partitions.
  const least = Math.min(...known.values());
  const { rows } = await sql<{ id: CustomerId; newest: number | null }>`
    select given.id, (
      select max(e.position) from events e
      where ${ofSameCustomer("e", "given.id")} and e.position > given.known and e.position > ${least}) as newest
    from (${given}) as given`.execute(db);
  return new Map(rows.flatMap(({ id, newest }) => (newest === null ? [] : [[id, newest]])));
}

/** A customer's event; null for another customer's. */
export async function findEvent(
  db: Kysely<Database>,
  customerId: CustomerId,
  id: string,
): Promise<PositionedEvent | null> {
  const { from, to } = positionsNear([id]);
  const isNearBy = sql.raw<SqlBool>(isNear("position", String(from), String(to)));
  // On PostgreSQL an event is asked for where its id says, and everywhere only if it is not there.
  for (const where of [perDialect<SqlBool>(sql`true`, isNearBy), perDialect<SqlBool>(sql`false`, sql`true`)]) {
    const query = db
      .selectFrom("events")
      .selectAll()
      .where("id", "=", id as EventId)
      .where("customer_id", "=", customerId);
    const row = await query.where(where).executeTakeFirst();
    if (row !== undefined) return decodePositioned(row);
  }
  return null;
}

type EventBytes = Pick<Event, "id" | "type" | "bytes" | "correlationId">;

/** The bytes of all events of a message, even if the rest of their rows cannot be decoded. */
export async function listEventBytes(db: Kysely<Database>, messageId: MessageId): Promise<EventBytes[]> {
  return (await selectBytes(db).where("message_id", "=", messageId).execute()).map(bytesOf);
}

/**
 * The bytes of a customer's events with these ids, by id. Unknown ids are left out. At most a thousand ids, which may
 * be any texts.
 */
export async function findEventBytes(
  db: Kysely<Database>,
  customerId: CustomerId,
  ids: readonly string[],
): Promise<Map<string, EventBytes>> {
  const found = new Map<string, EventBytes>();
  const isOwn = sql<SqlBool>`${unindexed("customer_id")} = ${customerId}`;
  const { from, to } = positionsNear(ids.filter((id) => !Number.isNaN(timeOfId(id))));
  const isNearBy = sql.raw<SqlBool>(isNear("position", String(from), String(to)));
  // On PostgreSQL the events are asked for where their ids say, and those that are not there everywhere.
  for (const where of [perDialect<SqlBool>(sql`true`, isNearBy), perDialect<SqlBool>(sql`false`, sql`true`)]) {
    const left = ids.filter((id) => !found.has(id));
    if (left.length === 0) break;
    const query = selectBytes(db).where(sql<SqlBool>`id in ${valuesOf(left)}`);
    const rows = await query.where(isOwn).where(where).execute();
    for (const row of rows) found.set(row.id, bytesOf(row));
  }
  return found;
}

const selectBytes = (db: Kysely<Database>) =>
  db.selectFrom("events").select(["id", "type", "bytes", "message_id", "correlation_id"]);

function bytesOf({ id, type, bytes, message_id, correlation_id }: Selected): EventBytes {
  const columns = { id, type, messageId: message_id, correlationId: String(correlation_id) };
  return { id, type, bytes: unpackEnvelope(String(bytes), columns), correlationId: columns.correlationId };
}

type Selected = Awaited<ReturnType<ReturnType<typeof selectBytes>["execute"]>>[number];

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
