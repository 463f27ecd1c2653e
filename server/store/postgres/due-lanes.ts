/** The query for the lanes of a queue with something due. */

import { type RawBuilder, sql } from "kysely";
import type { Queue } from "../store.ts";
import { dueDeliveryLanes } from "./delivery-lanes.ts";

function dueLanesQuery(queue: Queue, now: number): RawBuilder<{ lane: string; due_at: number }> {
  return queue === "messages" ? dueMessageLanes(now) : dueDeliveryLanes(now);
}

/** `dueLanesQuery` with one row more. That last row has no lane, and says how many milliseconds the server needed for the others. */
export function timedDueLanesQuery(queue: Queue, now: number): RawBuilder<{ lane: string | null; due_at: number }> {
  return sql`
    with found as materialized (${dueLanesQuery(queue, now)})
    select lane, due_at::float8 from found
    union all
    select null, extract(epoch from clock_timestamp() - statement_timestamp())::float8 * 1000`;
}

/** The query for the lanes with a due message that may be leased: one step for each lane, and one row for each lease. */
function dueMessageLanes(now: number): RawBuilder<{ lane: string; due_at: number }> {
  return sql`
    with recursive free as (
      (select lane, due_at from due_messages where lease is null and due_at is not null order by lane, due_at limit 1)
      union all
      select next.lane, next.due_at from free cross join lateral (
        select d.lane, d.due_at from due_messages d
        where d.lease is null and d.due_at is not null and d.lane > free.lane order by d.lane, d.due_at limit 1
      ) next
    )
    select lane, min(due_at) as due_at from (
      select lane, due_at from free
      union all
      select lane, due_at from due_messages where lease is not null and is_held = 0 and leased_until <= statement_timestamp()
    ) due where due_at <= ${now} group by lane`;
}
