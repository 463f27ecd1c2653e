/**
 * SQL that finds deliveries by their ids and by their events with one index, of customer and id. The id of a delivery begins as the
 * id of its event, so either names the customer. That of a replay, or one of an older version, does not begin so: those are in
 * small indexes of their own.
 */

import { isNearCustomer, isOfCustomer } from "./rows-of-customer.ts";

const BEGINNING = (id: string) => `substr(${id}, 5, 18)`;
const IS_APART = (d: string) => `${BEGINNING(`${d}.id`)} <> ${BEGINNING(`${d}.event_id`)}`;

/** Rows whose id begins as `id` does, with the prefix of their kind. */
function beginsAs(column: string, prefix: string, id: string): string {
  const beginning = `'${prefix}' || ${BEGINNING(id)}`;
  return `${column} > ${beginning} || '-' and ${column} < ${beginning} || '.'`;
}

/** Deliveries `d` whose id begins as that of their event. `event` and `customer` are SQL for the ids of the event and its customer. */
export function besideEvent(d: string, event: string, customer: string): string {
  return `${isOfCustomer(d, customer)} and ${beginsAs(`${d}.id`, "dlv_", event)} and ${d}.event_id = ${event}`;
}

/** The other deliveries `d` of an event. */
export function apartFromEvent(d: string, event: string): string {
  return `${d}.event_id = ${event} and ${IS_APART(d)}`;
}

/** The row numbers of all deliveries of an event. */
export function deliveriesOf(event: string): string {
  return `select d.rowid from events e cross join deliveries d on ${besideEvent("d", "e.id", "e.customer_id")} where e.id = ${event}
    union all select d.rowid from deliveries d where ${apartFromEvent("d", event)}`;
}

/** The row number of the delivery with this id. */
export function deliveryById(id: string): string {
  return `select d.rowid from events e cross join deliveries d on ${isNearCustomer("d", "e.customer_id")} and d.id = ${id}
      where ${beginsAs("e.id", "evt_", id)}
    union all select d.rowid from deliveries d where d.id = ${id} and ${IS_APART("d")}`;
}

/** Whether the event `e` has an open delivery. */
export function hasOpenDelivery(e: string): string {
  const isAny = (found: string) => `exists (select 1 from deliveries d where ${found} and d.due_at is not null)`;
  return `(${isAny(besideEvent("d", `${e}.id`, `${e}.customer_id`))} or ${isAny(apartFromEvent("d", `${e}.id`))})`;
}
