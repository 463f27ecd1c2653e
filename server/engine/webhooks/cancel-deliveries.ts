/** Cancels pending deliveries, of an endpoint that was paused or deleted or of a replay that was stopped: some before the response, the rest after it. */

import type { EndpointId } from "../../core/id.ts";
import type { Replay } from "../../core/replay.ts";
import type { Deps } from "../deps.ts";
import { inPages } from "../in-pages.ts";

/** Deliveries cancelled in one commit: more would hold up the commits of others. */
const BATCH_MAX = 500;
/** Batches before the response; a million deliveries would take longer than a caller waits. */
const BATCHES_INLINE = 10;

/** Cancels up to `limit` deliveries, and returns how many. */
type CancelBatch = (limit: number) => Promise<number>;

/**
 * Cancels the pending deliveries of an endpoint that is no longer active; attempts in flight end as usual. Never throws: the
 * delivery loop cancels the remaining deliveries when they are due.
 */
export function cancelDeliveriesOf(deps: Deps, endpointId: EndpointId, gone: AbortSignal): Promise<void> {
  return cancel(deps, gone, (limit) => deps.store.cancelDeliveries(endpointId, limit));
}

/** Cancels the deliveries of a stopped replay that were not tried. Never throws: what remains after a fault is tried as usual. */
export function cancelReplayed(deps: Deps, { id, endpointId }: Replay, gone: AbortSignal): Promise<void> {
  return cancel(deps, gone, (limit) => deps.store.cancelDeliveries(endpointId, limit, id));
}

function cancel({ observer }: Deps, gone: AbortSignal, batch: CancelBatch): Promise<void> {
  return inPages(async () => (await batch(BATCH_MAX)) < BATCH_MAX, {
    pagesMax: BATCHES_INLINE,
    gone,
    fault: (error) => observer.fault("cancel-deliveries", error),
  });
}
