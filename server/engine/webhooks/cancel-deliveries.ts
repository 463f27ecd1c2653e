/** Cancels what waits for an endpoint that was paused or deleted: some before the answer, the rest behind it. */

import type { EndpointId } from "../../core/id.ts";
import type { Deps } from "../deps.ts";

/** Deliveries cancelled in one commit: more would hold up the commits of others. */
const BATCH_MAX = 500;
/** Batches before the answer; a million deliveries would take longer than a caller waits. */
const BATCHES_INLINE = 10;

/**
 * Cancels the pending deliveries of an endpoint that is no longer active; those in flight end as they end. Never
 * throws: what it cannot cancel, the deliver loop cancels when its turn comes.
 */
export async function cancelDeliveriesOf(deps: Deps, endpointId: EndpointId): Promise<void> {
  if (await cancelBatches(deps, endpointId, BATCHES_INLINE)) return;
  void cancelBatches(deps, endpointId, Number.POSITIVE_INFINITY);
}

/** Whether it came to an end within `batchesMax`. */
async function cancelBatches(deps: Deps, endpointId: EndpointId, batchesMax: number): Promise<boolean> {
  try {
    for (let batch = 0; batch < batchesMax; batch += 1) {
      if ((await deps.store.cancelDeliveries(endpointId, BATCH_MAX)) < BATCH_MAX) return true;
    }
    return false;
  } catch (error) {
    deps.observer.fault("cancel deliveries", error);
    return true;
  }
}
