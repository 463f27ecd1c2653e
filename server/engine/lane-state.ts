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
  /** Until when the peer asked the lane to wait, in the service's time. */
  heldUntil: number;
  /** Until when new items go through the store, in the service's time: earlier ones, which were put off, may be there. */
  putOffUntil: number;
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
    heldUntil: Number.NEGATIVE_INFINITY,
    putOffUntil: Number.NEGATIVE_INFINITY,
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

/** Whether the peer asked the lane to wait, and the time is not over. `now`: the service's time. */
export function isHeld<Item>({ heldUntil }: Lane<Item>, now: number): boolean {
  return heldUntil > now;
}

/** Whether a lane may run fewer items at once than its own number: its peer was not reached, or asked it to wait. */
export function isLimited<Item>(lane: Lane<Item>, now: number): boolean {
  return lane.breaker.isLimited || isHeld(lane, now);
}

/** Whether nothing of a lane runs, waits or holds it up. */
export function isIdle<Item>(lane: Lane<Item>, now: number): boolean {
  const { running, claimingSince, cancelPause, prefetched, moreSince, putOffUntil } = lane;
  const isStill = running === 0 && claimingSince === null && cancelPause === null;
  return isStill && prefetched.size === 0 && moreSince === null && putOffUntil <= now && !isHeld(lane, now);
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
