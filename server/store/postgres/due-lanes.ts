/** The query for the lanes of a queue that have something due. */

import type { RawBuilder } from "kysely";
import type { Queue } from "../store.ts";
import { dueDeliveryLanes } from "./delivery-lanes.ts";
import { dueMessageLanes } from "./message-queue.ts";

export function dueLanesQuery(queue: Queue, now: number): RawBuilder<{ lane: string; due_at: number }> {
  return queue === "messages" ? dueMessageLanes(now) : dueDeliveryLanes(now);
}
