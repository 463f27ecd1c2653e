/**
 * SQL that finds deliveries by their ids and by their events. The id of a delivery begins like the id of its event, so
 * that PostgreSQL finds deliveries by the index of ids. SQLite has only an index of customer and id: the event found by
 * either id names the customer. The id of a delivery that a replay made begins otherwise. Small indexes of their own
 * hold these deliveries.
 */

import { type RawBuilder, type SqlBool, sql } from "kysely";
import { isNearCustomer, isOfCustomer } from "./rows-of-customer.ts";
import { perDialect } from "./sql-dialects.ts";

const BEGINNING = (id: string) => `substr(${id}, 5, 18)`;
/** Whether the id of a delivery `d` does not begin like the id of its event. */
export const isApart = (d: string) => `${BEGINNING(`${d}.id`)} <> ${BEGINNING(`${d}.event_id`)}`;

/** Whether the id in `column` begins like `id`, with the prefix of its own kind. */
function beginsAs(column: string, prefix: string, id: string): string {
  const beginning = `'${prefix}' || ${BEGINNING(id)}`;
  return `${column} > ${beginning} || '-' and ${column} < ${beginning} || '.'`;
}

/**
 * Whether `d` is a delivery of the event whose id begins like the event's id. SQLite. `event` and `customer` are SQL
 * for the ids of the event and its customer.
 */
function besideEvent(d: string, event: string, customer: string): string {
  return `${isOfCustomer(d, customer)} and ${beginsAs(`${d}.id`, "dlv_", event)} and ${d}.event_id = ${event}`;
}

/** `besideEvent` for PostgreSQL. */
function besideInPostgres(d: string, event: string): string {
  return `${beginsAs(`${d}.id`, "dlv_", event)} and ${d}.event_id = ${event}`;
}

/**
 * A query of the ids of the deliveries of events on PostgreSQL. `events`: rows `e` with an `id`, as an item of `from`.
 */
export function idsInPostgres(events: string): string {
  return [besideInPostgres("d", "e.id"), apartFromEvent("d", "e.id")]
    .map((found) => `select d.id from ${events} cross join deliveries d where ${found}`)
    .join(" union all ");
}

/** The bounds, exclusive, of the ids of deliveries whose id begins like an event's from `first` to `last`. */
export function boundsBeside(first: string, last: string): [from: string, to: string] {
  const beginning = (id: string) => id.slice(4, 22);
  return [`dlv_${beginning(first)}-`, `dlv_${beginning(last)}.`];
}

/**
 * A query of the ids of the deliveries of one event on PostgreSQL, from the id `oldest` on. The bounds let the server
 * skip partitions.
 */
export function idsSince(eventId: string, oldest: string): RawBuilder<{ id: string }> {
  const [from, to] = boundsBeside(eventId, eventId);
  return sql`select d.id from deliveries d where d.id > ${from} and d.id < ${to} and d.event_id = ${eventId}
    union all select d.id from deliveries d where d.event_id = ${eventId} and d.id >= ${oldest} and ${sql.raw(isApart("d"))}`;
}

/** Whether `d` is one of the other deliveries of an event, whose id does not begin like the event's id. */
function apartFromEvent(d: string, event: string): string {
  return `${d}.event_id = ${event} and ${isApart(d)}`;
}

/** A query of the ids of the deliveries of the events `e` that match. */
export function idsOfDeliveries(matching: RawBuilder<SqlBool>): RawBuilder<{ id: string }> {
  // The join of SQLite keeps its order; PostgreSQL has no condition of a cross join.
  const idsOf = (found: string, before: "on" | "where", behind: "where" | "and") =>
    sql`select d.id from events e cross join deliveries d ${sql.raw(`${before} ${found} ${behind}`)} ${matching}`;
  const apart = apartFromEvent("d", "e.id");
  return perDialect<{ id: string }>(
    sql`${idsOf(besideEvent("d", "e.id", "e.customer_id"), "on", "where")} union all ${idsOf(apart, "on", "where")}`,
    sql`${idsOf(besideInPostgres("d", "e.id"), "where", "and")} union all ${idsOf(apart, "where", "and")}`,
  );
}

/** The row numbers of all deliveries of an event. SQLite. */
export function deliveriesOf(event: string): string {
  return `select d.rowid from events e cross join deliveries d on ${besideEvent("d", "e.id", "e.customer_id")} where e.id = ${event}
    union all select d.rowid from deliveries d where ${apartFromEvent("d", event)}`;
}

/** The row number of the delivery with this id. SQLite. */
export function deliveryById(id: string): string {
  return `select d.rowid from events e cross join deliveries d on ${isNearCustomer("d", "e.customer_id")} and d.id = ${id}
      where ${beginsAs("e.id", "evt_", id)}
    union all select d.rowid from deliveries d where d.id = ${id} and ${isApart("d")}`;
}

/** Whether the event `e` has an open delivery. */
export function isAwaited(e: string): RawBuilder<SqlBool> {
  return perDialect(sql.raw<SqlBool>(hasOpenDelivery(e)), sql.raw<SqlBool>(hasOpenInPostgres(e)));
}

/** `isAwaited` of PostgreSQL in SQL by hand. Scalar subqueries: the planner could join `exists` with all deliveries. */
export function hasOpenInPostgres(e: string): string {
  const isAny = (found: string) =>
    `(select 1 from deliveries d where ${found} and d.due_at is not null limit 1) is not null`;
  return `(${isAny(besideInPostgres("d", `${e}.id`))} or ${isAny(apartFromEvent("d", `${e}.id`))})`;
}

/** `isAwaited` of SQLite in SQL by hand. */
export function hasOpenDelivery(e: string): string {
  const isAny = (found: string) => `exists (select 1 from deliveries d where ${found} and d.due_at is not null)`;
  return `(${isAny(besideEvent("d", `${e}.id`, `${e}.customer_id`))} or ${isAny(apartFromEvent("d", `${e}.id`))})`;
}
