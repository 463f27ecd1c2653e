/** The query for the lanes of a queue that have something due. */

import { type RawBuilder, sql } from "kysely";
import type { Queue } from "../store.ts";

/** Finds the lanes for `Store.dueLanes` by a loose index scan: one step per lane, however many rows a lane has. */
export function dueLanesQuery(queue: Queue, now: number): RawBuilder<{ lane: string; due_at: number }> {
  const [table, lane] = queue === "messages" ? ["messages", "instance_id"] : ["deliveries", "lane"];
  const from = sql.raw(table);
  const column = sql.raw(lane);
  return sql`
    with recursive lanes (lane) as (
      select min(${column}) from ${from} where due_at is not null
      union all
      select (select min(${column}) from ${from} where ${column} > lanes.lane and due_at is not null)
      from lanes where lanes.lane is not null
    )
    select lane, due_at from (
      select lane, (select min(due_at) from ${from} where ${column} = lanes.lane and due_at is not null) as due_at
      from lanes where lane is not null
    ) where due_at <= ${now} and ${isClaimable(queue)}`;
}

/** Whether the lane is not in quarantine: deliveries to an undecodable endpoint wait until its row is repaired. */
function isClaimable(queue: Queue): RawBuilder<boolean> {
  if (queue === "messages") return sql`true`;
  return sql`not exists (select 1 from quarantined where "table" = 'endpoints' and id = lane)`;
}
