/** A read of due deliveries by a test that only looks at them, or has them in hand for a while. */

import type { DueDelivery } from "../../server/store/due-deliveries.ts";
import type { Store } from "../../server/store/store.ts";

/** Before all places of a lane. */
export const FRONT = { dueAt: 0, row: 0 } as const;

/** Due deliveries of lanes, from their fronts on, at most `limit` of each. */
export async function readDue(
  store: Pick<Store, "dueDeliveries">,
  lanes: readonly string[],
  now: number,
  limit = 16,
): Promise<DueDelivery[]> {
  const reads = lanes.map((lane) => ({ lane, after: FRONT, limit }));
  return (await store.dueDeliveries({ lanes: reads, now, bytesMax: 2 ** 30 })).found;
}
