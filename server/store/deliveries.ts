/** Reads of deliveries with their attempts. In the API, only the Wire shows deliveries to the sandbox's inbox. */

import { type Kysely, type RawBuilder, type SqlBool, sql } from "kysely";
import type { DeliveryStatus } from "../../sdk/wire.ts";
import type { Delivery } from "../core/delivery.ts";
import { type CustomerId, type DeliveryId, firstIdAt, timeOfId } from "../core/id.ts";
import { idsOfDeliveries, idsSince } from "./deliveries-of-event.ts";
import { type IndexedList, is, type ListPage, type PageStart, readNamed, readPage } from "./list-windows.ts";
import { DAY_MS, dayOf, SLACK_MS } from "./positions.ts";
import { DELIVERY_QUEUE } from "./queue-rows.ts";
import { type DailyPositions, onPartitions } from "./recent-days.ts";
import { type Database, decode } from "./rows.ts";
import { hasWholeId, nearCustomer, ofCustomer } from "./rows-of-customer.ts";
import { perDialect, unindexed } from "./sql-dialects.ts";

export interface DeliveryFilter {
  status?: DeliveryStatus | undefined;
  webhookId?: string | undefined;
  eventId?: string | undefined;
  messageId?: string | undefined;
  /** Whether deliveries to the sandbox's inbox are listed too. */
  withInbox?: boolean | undefined;
}

const DELIVERY_DAYS: DailyPositions<string> = {
  dayOf: (id) => dayOf(timeOfId(id)),
  beginningOf: (day) => firstIdAt("dlv", day * DAY_MS),
};

/** A customer's deliveries, newest first. */
export function listDeliveries(
  db: Kysely<Database>,
  customerId: CustomerId,
  filter: DeliveryFilter,
  start: PageStart,
  limit: number,
): Promise<ListPage<Delivery>> {
  const list: IndexedList<Delivery> = {
    db,
    table: "deliveries",
    column: "id",
    order: "newest",
    narrow: [nearCustomer(customerId)],
    filter: [
      hasWholeId(customerId),
      ...is("status", filter.status),
      ...is("endpoint_id", filter.webhookId),
      ...(filter.withInbox === true ? [] : [isToOthers(customerId)]),
    ],
    decode: (row) => decode("deliveries", row),
    placeOf: ({ id }) => id,
    ...onPartitions(DELIVERY_DAYS, db),
  };
  const named = namedBy(filter);
  return named === null ? readPage(list, start, limit) : readNamed(list, named, start, limit);
}

/** Leaves out deliveries to the inbox. */
function isToOthers(customerId: CustomerId): RawBuilder<SqlBool> {
  return sql`(${unindexed("endpoint_id")} is null or ${unindexed("endpoint_id")} not in (
    select id from endpoints where customer_id = ${customerId} and kind = 'inbox'))`;
}

/**
 * The most deliveries of one event or message that a read looks at. An event has one per endpoint, and more after
 * replays.
 */
const NAMED_MAX = 5_000;

/** Ids of the deliveries of an event or message; null if the filter names neither. */
function namedBy({ eventId, messageId }: DeliveryFilter): RawBuilder<{ id: string }> | null {
  const ofMessage = messageId === undefined ? [] : [sql<SqlBool>`e.message_id = ${messageId}`];
  const ofEvent = eventId === undefined ? [] : [sql<SqlBool>`e.id = ${eventId}`];
  const conditions = [...ofMessage, ...ofEvent];
  if (conditions.length === 0) return null;
  const ids = idsOfDeliveries(sql<SqlBool>`${sql.join(conditions, sql` and `)}`);
  const found = messageId === undefined && eventId !== undefined ? perDialect(ids, sinceEvent(eventId)) : ids;
  return sql`${found} limit ${NAMED_MAX} + 0`;
}

/**
 * The deliveries of an event on PostgreSQL. None is older than the event, so the event's time names the partitions to
 * look in.
 */
function sinceEvent(eventId: string): RawBuilder<{ id: string }> {
  const madeAt = timeOfId(eventId);
  const oldest = firstIdAt("dlv", Number.isNaN(madeAt) ? 0 : madeAt - SLACK_MS);
  return idsSince(eventId, oldest);
}

/** A customer's delivery, even one to the sandbox's inbox. */
export async function findDelivery(
  db: Kysely<Database>,
  { id, customerId }: Pick<Delivery, "id" | "customerId">,
): Promise<Delivery | null> {
  const query = db.selectFrom("deliveries").selectAll().where(ofCustomer(customerId));
  const row = await query.where("id", "=", id).executeTakeFirst();
  return row === undefined ? null : decode("deliveries", row);
}

/** A customer's delivery; null for another customer's and for one to the inbox. */
export async function findDeliveryOf(
  db: Kysely<Database>,
  customerId: CustomerId,
  id: string,
): Promise<Delivery | null> {
  const inbox = db
    .selectFrom("endpoints")
    .select("id")
    .where("customer_id", "=", customerId)
    .where("kind", "=", "inbox");
  const row = await db
    .selectFrom("deliveries")
    .selectAll()
    .where("id", "=", id as DeliveryId)
    .where(ofCustomer(customerId))
    .where((where) => where.or([where("endpoint_id", "is", null), where("endpoint_id", "not in", inbox)]))
    .executeTakeFirst();
  return row === undefined ? null : decode("deliveries", row);
}

/** The most due times of a lane that one statement reads, since it cannot be interrupted. */
const WINDOW_ROWS = 500;

/** A delivery whose time was taken from a clock that was ahead. */
export type DeliveryAhead = Pick<Delivery, "id" | "version">;

/**
 * Up to `limit` deliveries of a lane without an attempt that become due after `from` although they were created after
 * `now`, from the next deliveries by due time. `until` is the due time of the last delivery that was read; null if
 * there are no more.
 */
export async function listDeliveriesAhead(
  db: Kysely<Database>,
  lane: string,
  { now, from }: { now: number; from: number },
  limit: number,
): Promise<{ records: DeliveryAhead[]; until: number | null }> {
  const { dueAt } = DELIVERY_QUEUE;
  const isBehind = sql<SqlBool>`${DELIVERY_QUEUE.lane} = ${lane} and ${dueAt} > ${from}`;
  const first = DELIVERY_QUEUE.firstRows({ where: isBehind, order: dueAt, limit: WINDOW_ROWS });
  const { rows: ends } = await sql<{ until: number }>`select ${dueAt} as until from ${first}
    where ${isBehind} order by ${dueAt} limit 1 offset ${WINDOW_ROWS - 1} + 0`.execute(db);
  const until = ends[0]?.until ?? null;
  const { rows } = await sql<DeliveryAhead>`select deliveries.id, deliveries.version from ${DELIVERY_QUEUE.records}
    where ${isBehind} and ${dueAt} <= ${until ?? Number.MAX_SAFE_INTEGER} and deliveries.created_at > ${now}
      and deliveries.status = 'pending' and deliveries.attempt_count = 0 limit ${limit} + 0`.execute(db);
  return { records: rows, until };
}
