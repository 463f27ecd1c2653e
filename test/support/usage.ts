/** Adds usage to a store, each time as a batch of its own. */

import type { UsageHour } from "../../server/core/usage.ts";
import type { Store } from "../../server/store/store.ts";

let batches = 0;

/** Adds counters to the hours they name. */
export function addUsage(store: Store, hours: readonly UsageHour[]): Promise<void> {
  batches += 1;
  return store.addUsage({ owner: `test ${batches}`, number: 1, hours }, 0);
}
