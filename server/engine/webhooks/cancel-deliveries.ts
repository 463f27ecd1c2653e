/** Cancels the pending deliveries of an endpoint that was paused or deleted: some before the response, the rest after it. */

import type { EndpointId } from "../../core/id.ts";
import type { Deps } from "../deps.ts";

/** Deliveries cancelled in one commit: more would hold up the commits of others. */
const BATCH_MAX = 500;
/** Batches before the response; a million deliveries would take longer than a caller waits. */
const BATCHES_INLINE = 10;

/**
 * Cancels the pending deliveries of an endpoint that is no longer active; attempts in flight end as usual. Never throws: the
 * delivery loop cancels the remaining deliveries when they are due.
 */
export async function cancelDeliveriesOf(deps: Deps, endpointId: EndpointId): Promise<void> {
  if (await cancelBatches(deps, endpointId, BATCHES_INLINE)) return;
  void cancelBatches(deps, endpointId, Number.POSITIVE_INFINITY);
}

/** Returns whether all were cancelled within `batchesMax`. */
async function cancelBatches(deps: Deps, endpointId: EndpointId, batchesMax: number): Promise<boolean> {
  try {
    for (let batch = 0; batch < batchesMax; batch += 1) {
      if ((await deps.store.cancelDeliveries(endpointId, BATCH_MAX)) < BATCH_MAX) return true;
    }
    return false;
  } catch (error) {
    deps.observer.fault("cancel-deliveries", error);
    return true;
  }
}
