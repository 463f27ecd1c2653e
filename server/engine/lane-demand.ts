/** How many items a lane may run at once, and how many it claims. */

import type { FairSemaphore } from "../core/fair-semaphore.ts";
import type { RoundRobin } from "../core/round-robin.ts";
import type { Drain } from "./drain.ts";
import { isHeld, type Lane } from "./lane-state.ts";

/** The parts of a drain that bound a lane. */
type LaneBounds = Pick<Drain<never>, "clock" | "permitsPerLane" | "prefetch" | "prefetchMs" | "takesMore">;

/** Whether an item of the lane can begin now. */
export function canBegin<Item>(lane: Lane<Item>, drain: LaneBounds): boolean {
  if (isHeld(lane, drain.clock.now())) return false;
  return lane.cancelPause === null && lane.prefetched.hasReady && lane.running < permitsOf(lane, drain);
}

/** Items to claim for a lane now. */
export function demandOf<Item>(lane: Lane<Item>, drain: LaneBounds): number {
  if (lane.claimingSince !== null || lane.cancelPause !== null) return 0;
  if (isHeld(lane, drain.clock.now())) return 0;
  const prefetch = prefetchOf(lane, drain);
  const wanted = permitsOf(lane, drain) - lane.running - lane.prefetched.size;
  if (prefetch === 0) return Math.max(0, wanted);
  return lane.prefetched.size < prefetch / 2 ? Math.max(prefetch, wanted) : 0;
}

/** Items that a lane may claim ahead of its permits: none while its peer is not reached. */
function prefetchOf<Item>(lane: Lane<Item>, drain: LaneBounds): number {
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

/** Lanes named in one claim. */
const LANES_PER_CLAIM_MAX = 64;

/** A lane of a claim, and the number of items that it wants. */
export interface LaneDemand<Item> {
  lane: Lane<Item>;
  owner: string;
  permits: number;
}

/** Lanes for the next claim, owner by owner. They are being claimed from now on. `laneOf`: the lane of a name. */
export function takeDemands<Item>(
  toClaim: RoundRobin<string>,
  owners: Pick<FairSemaphore, "room">,
  drain: LaneBounds,
  laneOf: (name: string) => Lane<Item>,
): LaneDemand<Item>[] {
  const wanted: LaneDemand<Item>[] = [];
  let refused = 0;
  while (wanted.length < LANES_PER_CLAIM_MAX && refused < toClaim.owners) {
    const owner = toClaim.nextOwner();
    if (owner === null) break;
    const room = owners.room(owner);
    const name = room > 0 ? toClaim.take(owner) : null;
    if (name === null) {
      refused += 1;
      continue;
    }
    refused = 0;
    const lane = laneOf(name);
    const demand = demandOf(lane, drain);
    const permits = prefetchOf(lane, drain) === 0 ? Math.min(demand, room) : demand;
    if (lane.moreSince === null || permits === 0) continue;
    lane.claimingSince = lane.moreSince;
    lane.moreSince = null;
    wanted.push({ lane, owner, permits });
  }
  return wanted;
}
