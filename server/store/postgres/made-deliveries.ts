/** Makes the deliveries of the events of a wave from the endpoints of their customers. */

import { type Delivery, deliveriesOf } from "../../core/delivery.ts";
import type { Event } from "../../core/event.ts";
import { encodeRecord } from "../jobs/jobs.ts";
import { decodeRecord, type SqlValue } from "../rows.ts";
import type { UsedRouting } from "./checks.ts";
import type { Routing } from "./endpoint-cache.ts";
import type { PlacedOperation } from "./shapes.ts";

/** A new delivery of a transaction. */
export interface MadeDelivery {
  transaction: number;
  delivery: Delivery;
  values: SqlValue[];
  event: Event;
}

/** The deliveries of the events among some operations, in order, and the endpoints from which they were made. */
export function makeDeliveries(
  operations: readonly PlacedOperation[],
  routing: ReadonlyMap<string, Routing>,
): { made: MadeDelivery[]; used: UsedRouting[] } {
  const made: MadeDelivery[] = [];
  const used: UsedRouting[] = [];
  for (const { transaction, operation } of operations) {
    if (operation[0] !== "event") continue;
    const event = decodeRecord("events", operation[1]);
    const { version, endpoints } = routing.get(event.customerId) ?? { version: 0, endpoints: [] };
    used.push({ transaction, customerId: event.customerId, version });
    for (const delivery of deliveriesOf(event, endpoints, operation[2]))
      made.push({ transaction, delivery, values: encodeRecord("deliveries", delivery), event });
  }
  return { made, used };
}
