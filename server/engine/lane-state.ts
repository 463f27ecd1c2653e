/** The state of one lane in the loop that drains it. */

import { CircuitBreaker } from "./breaker.ts";
import type { Drain } from "./drain.ts";
import { LaneLag } from "./lane-lag.ts";
import { Prefetch } from "./prefetch.ts";

export interface Lane<Item> {
  readonly name: string;
  readonly prefetched: Prefetch<Item>;
  readonly lag: LaneLag;
  /** Counts the runs without a connection to the peer, by monotonic time. */
  readonly breaker: CircuitBreaker;
  running: number;
  permits: number;
  /** Since when the store may have had due items that are not claimed (monotonic time); null if it has none. */
  moreSince: number | null;
  /** `moreSince` of the claim in progress; null if there is none. */
  claimingSince: number | null;
  /** Whether nothing of the lane could begin when that was last asked: it was paused, or its account was down or at its limit. */
  isBlocked: boolean;
  /** Ends the pause of the lane. */
  cancelPause: (() => void) | null;
}

/** The parts of a new lane. */
interface LaneParts<Item> {
  name: string;
  permits: number;
  orderingKeyOf: (item: Item) => string | null;
  monotonic: () => number;
}

export function createLane<Item>({ name, permits, orderingKeyOf, monotonic }: LaneParts<Item>): Lane<Item> {
  return {
    name,
    prefetched: new Prefetch(orderingKeyOf, monotonic),
    lag: new LaneLag(monotonic),
    breaker: new CircuitBreaker(),
    running: 0,
    permits,
    moreSince: null,
    claimingSince: null,
    isBlocked: false,
    cancelPause: null,
  };
}

/**
 * Adds claimed items to their lanes, and returns since when the last one of each lane could have begun (monotonic time). `laneOf`: the lane
 * of an item.
 */
export function addClaimed<Item>(
  items: readonly Item[],
  laneOf: (item: Item) => Lane<Item>,
  { clock, dueAtOf }: Pick<Drain<Item>, "clock" | "dueAtOf">,
): Map<string, number> {
  const [now, monotonic] = [clock.now(), clock.monotonic()];
  const lastSince = new Map<string, number>();
  for (const item of items) {
    const lane = laneOf(item);
    // The service's time may have been moved: the loop has known of the item no longer than of its lane.
    const dueSince = monotonic - Math.max(0, now - dueAtOf(item));
    const since = Math.max(dueSince, lane.claimingSince ?? monotonic);
    lane.prefetched.add(item, since);
    lastSince.set(lane.name, since);
  }
  return lastSince;
}

/** Whether the breaker of a lane is not closed, and work of the lane is due or runs. */
export function isUnreached<Item>(lane: Lane<Item>, now: number): boolean {
  if (lane.breaker.state(now) === "closed") return false;
  return lane.running > 0 || lane.cancelPause !== null || waitingSince(lane) !== null;
}

/** Since when the oldest work of a lane waits (monotonic time); null if none waits. */
export function waitingSince<Item>({ prefetched, moreSince, claimingSince }: Lane<Item>): number | null {
  const { readySince } = prefetched;
  let since = claimingSince;
  if (moreSince !== null && (since === null || moreSince < since)) since = moreSince;
  if (readySince !== null && (since === null || readySince < since)) since = readySince;
  return since;
}
