/** The query for the lanes with a due delivery. */

import { type RawBuilder, sql } from "kysely";

/**
 * Reads the lanes with a delivery that may be leased, and since when one of them is due. A loose index scan: one step per lane,
 * however many rows a lane has. Lanes of endpoints in quarantine wait until they are repaired.
 */
export function dueDeliveryLanes(now: number): RawBuilder<{ lane: string; due_at: number }> {
  return sql`
    with recursive free as (
      (select lane, due_at from due_deliveries where lease is null order by lane, due_at, row limit 1)
      union all
      select next.lane, next.due_at from free cross join lateral (
        select q.lane, q.due_at from due_deliveries q
        where q.lease is null and q.lane > free.lane order by q.lane, q.due_at, q.row limit 1
      ) next
    ), leased as (
      (select lane from due_deliveries where lease is not null order by lane limit 1)
      union all
      select next.lane from leased cross join lateral (
        select q.lane from due_deliveries q where q.lease is not null and q.lane > leased.lane order by q.lane limit 1
      ) next
    )
    select lane, min(due_at) as due_at from (
      select lane, due_at from free
      union all
      select leased.lane, expired.due_at from leased cross join lateral (
        select q.due_at from due_deliveries q
        where q.lane = leased.lane and q.lease is not null and q.leased_until <= statement_timestamp() order by q.due_at limit 1
      ) expired
    ) found
    where due_at <= ${now} and not exists (select 1 from quarantined u where u."table" = 'endpoints' and u.id = lane)
    group by lane`;
}
