/** How many items a lane may run at once, and how many it claims. */

import type { Drain } from "./drain.ts";
import type { Lane } from "./lane-state.ts";

/** The parts of a drain that bound a lane. */
type LaneBounds = Pick<Drain<never>, "clock" | "permitsPerLane" | "prefetch" | "prefetchMs" | "takesMore">;

/** Whether an item of the lane can begin now. */
export function canBegin<Item>(lane: Lane<Item>, drain: LaneBounds): boolean {
  return lane.cancelPause === null && lane.prefetched.hasReady && lane.running < permitsOf(lane, drain);
}

/** Items to claim for a lane now. */
export function demandOf<Item>(lane: Lane<Item>, drain: LaneBounds): number {
  if (lane.claimingSince !== null || lane.cancelPause !== null) return 0;
  const prefetch = prefetchOf(lane, drain);
  const wanted = permitsOf(lane, drain) - lane.running - lane.prefetched.size;
  if (prefetch === 0) return Math.max(0, wanted);
  return lane.prefetched.size < prefetch / 2 ? Math.max(prefetch, wanted) : 0;
}

/** Items that a lane may claim ahead of its permits: none while its peer is not reached. */
export function prefetchOf<Item>(lane: Lane<Item>, drain: LaneBounds): number {
  const { prefetch, prefetchMs, takesMore } = drain;
  if (lane.breaker.isLimited) return 0;
  if (prefetchMs === undefined) return prefetch;
  if (!takesMore(lane.name)) return 0;
  const { runMs } = lane.lag;
  return runMs === 0 ? 0 : Math.min(prefetch, Math.floor((permitsOf(lane, drain) * prefetchMs) / runMs));
}

/** Items of the lane that may run at once. */
export function permitsOf<Item>({ name, permits, breaker }: Lane<Item>, drain: LaneBounds): number {
  const allowed = Math.min(permits, drain.permitsPerLane(name));
  return breaker.isLimited ? breaker.permits(allowed, drain.clock.monotonic()) : allowed;
}
