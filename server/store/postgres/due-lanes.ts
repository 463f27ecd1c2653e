/** The query for the lanes of a queue that have something due. */

import { type RawBuilder, sql } from "kysely";
import type { Queue } from "../store.ts";
import { dueDeliveryLanes } from "./delivery-lanes.ts";

export function dueLanesQuery(queue: Queue, now: number): RawBuilder<{ lane: string; due_at: number }> {
  return queue === "messages" ? dueMessageLanes(now) : dueDeliveryLanes(now);
}

/** The query for the lanes with a due message, leased or not: one step per lane, and one row per lease. */
function dueMessageLanes(now: number): RawBuilder<{ lane: string; due_at: number }> {
  return sql`
    with recursive lanes (lane) as (
      (select lane from due_messages where lease is null order by lane limit 1)
      union all
      select (select lane from due_messages d where lease is null and d.lane > lanes.lane order by lane limit 1)
      from lanes where lanes.lane is not null
    )
    select lane, min(due_at) as due_at from (
      select lane, (select due_at from due_messages d where lease is null and d.lane = lanes.lane order by due_at limit 1) as due_at
      from lanes where lane is not null
      union all
      select lane, due_at from due_messages where lease is not null and is_held = 0
    ) due where due_at <= ${now} group by lane`;
}
