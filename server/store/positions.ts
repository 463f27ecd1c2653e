/** Positions of events on PostgreSQL: the positions of each day begin at a number that tells the day. Pure. */

import { timeOfId } from "../core/id.ts";

export const DAY_MS = 86_400_000;
/** Positions that a day has room for. The first one of a day stays below 2^53 for four thousand years. */
const POSITIONS_A_DAY = 2 ** 33;
/** Positions before those of a day are of events from an embedded database: they are in `events_before`. */
export const FIRST_DAY = Date.UTC(2026, 10, 1) / DAY_MS;
/**
 * How far the clocks of processes may be apart, and how late the positions of a day may begin, before a read by id
 * costs more.
 */
export const SLACK_MS = 3_600_000;
/** Days since 1970. */
export const dayOf = (atMs: number) => Math.floor(atMs / DAY_MS);

/** The position with which a day begins. */
export const firstPositionOf = (day: number) => day * POSITIONS_A_DAY;

/** The day that a position tells. */
export const dayOfPosition = (position: number) => Math.floor(position / POSITIONS_A_DAY);

/** Positions, from the first one up to another. */
export interface Positions {
  from: number;
  to: number;
}

/**
 * The positions where events with these ids should be. If a clock was far off, an event is elsewhere: when a read with
 * `isNear` does not find it, the caller has to read again without `isNear`.
 */
export function positionsNear(ids: readonly string[]): Positions {
  let [first, last] = [Number.POSITIVE_INFINITY, 0];
  for (const id of ids) {
    const at = timeOfId(id);
    first = Math.min(first, at);
    last = Math.max(last, at);
  }
  if (ids.length === 0 || Number.isNaN(first)) return { from: 0, to: 0 };
  return { from: firstPositionOf(dayOf(first - SLACK_MS)), to: firstPositionOf(dayOf(last + SLACK_MS) + 1) };
}

/** SQL: whether a position is among `positionsNear`, or of an event from an embedded database. */
export function isNear(position: string, from: string, to: string): string {
  return `(${position} < ${firstPositionOf(FIRST_DAY)} or ${position} >= ${from} and ${position} < ${to})`;
}
