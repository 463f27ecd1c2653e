/** The query for the lanes with a due delivery. */

import { type RawBuilder, sql } from "kysely";

/**
 * Reads the lanes with a due delivery, and since when the first one is due. It is a loose index scan: one step for each
 * lane, however many rows the lane has. The lane of an endpoint in quarantine waits until the endpoint's row is repaired.
 */
export function dueDeliveryLanes(now: number): RawBuilder<{ lane: string; due_at: number }> {
  return sql`
    with recursive found as (
      (select lane, due_at from due_deliveries order by lane, due_at, row limit 1)
      union all
      select next.lane, next.due_at from found cross join lateral (
        select q.lane, q.due_at from due_deliveries q
        where q.lane > found.lane order by q.lane, q.due_at, q.row limit 1
      ) next
    )
    select lane, due_at from found
    where due_at <= ${now} and not exists (select 1 from quarantined u where u."table" = 'endpoints' and u.id = lane)`;
}
