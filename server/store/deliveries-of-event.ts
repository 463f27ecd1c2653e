/**
 * SQL that finds the deliveries of an event without an index for it. The id of a delivery begins as the id of its event; that of
 * a replay, or one of an older version, does not, and is in the index `deliveries_apart`.
 */

/** Deliveries `d` whose id begins as that of their event. `event` is SQL for the id of the event. */
export function besideEvent(d: string, event: string): string {
  const beginning = `'dlv_' || substr(${event}, 5, 18)`;
  return `${d}.id > ${beginning} || '-' and ${d}.id < ${beginning} || '.' and ${d}.event_id = ${event}`;
}

/** The other deliveries `d` of an event. */
export function apartFromEvent(d: string, event: string): string {
  return `${d}.event_id = ${event} and substr(${d}.id, 5, 18) <> substr(${d}.event_id, 5, 18)`;
}

/** The ids of all deliveries of an event. */
export function deliveryIdsOf(event: string): string {
  return `select d.id from deliveries d where ${besideEvent("d", event)}
    union all select d.id from deliveries d where ${apartFromEvent("d", event)}`;
}

/** Whether an event has an open delivery. */
export function hasOpenDelivery(event: string): string {
  const isAny = (found: string) => `exists (select 1 from deliveries d where ${found} and d.due_at is not null)`;
  return `(${isAny(besideEvent("d", event))} or ${isAny(apartFromEvent("d", event))})`;
}
