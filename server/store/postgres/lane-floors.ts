/**
 * Decides where a claim of a lane begins to read. While an old snapshot is open, the entries of deleted rows stay in the indexes of the
 * queues, and a claim from the start of a lane reads all of them. So each claim keeps a floor for the next one: nothing in the lane is
 * due earlier, except rows that unfinished and later SQL transactions have put there. The next claim finds those rows by `changed_in`.
 */

import { pauseAfterLook } from "../../core/look-pause.ts";

/** A claim's finding about a lane. */
export interface LaneFloor {
  /** No row that the claim could lease had an earlier due time. */
  dueAt: number;
  /** The oldest SQL transaction in progress at the claim. Rows that the claim did not see were written by that one or a later one. */
  since: string;
}

/**
 * A claim reads the due times of so many rows that were put into a lane since
 * its last claim. If there are as many, it begins at the start of the lane.
 */
const CHANGED_MAX = 64;
/** Lanes whose floors are kept. Without a floor a claim begins at the start. */
const LANES_MAX = 10_000;
/** The time between two claims of a lane from its start, in milliseconds. They find rows that floors miss for a reason that nobody foresaw. */
const FULL_EVERY_MS = 1_000;

/** Before all due times. */
export const OLDEST = Number.MIN_SAFE_INTEGER;

/** SQL for the oldest SQL transaction in progress. Rows that the statement does not see were written by that one or a later one. */
export const OLDEST_RUNNING = "pg_snapshot_xmin(pg_current_snapshot())";

/**
 * SQL for the due time from which a claim reads a lane. `floor` and `since` are SQL for
 * the due time and the SQL transaction of the lane's floor; `floor` is null without one.
 */
export function startOf(lane: string, floor: string, since: string): string {
  return `(select case when count(*) < ${CHANGED_MAX} and ${floor} is not null then least(${floor}, min(put.due_at)) else ${OLDEST} end
    from (select p.due_at from due_messages p where p.lane = ${lane} and p.lease is null and p.changed_in > '0'::xid8
      and p.changed_in >= ${since} order by p.lane, p.changed_in limit ${CHANGED_MAX}) put)`;
}

/** The floors of the lanes that this process claims, and which claims begin at the start. Pure: the time is an argument. */
export class LaneFloors<Floor extends LaneFloor = LaneFloor> {
  readonly #lanes = new Map<string, { floor: Floor; fullAt: number }>();
  #nextFullAt = Number.NEGATIVE_INFINITY;

  /** The floor that the lane's last claim left; null if there is none. */
  of(lane: string): Floor | null {
    return this.#lanes.get(lane)?.floor ?? null;
  }

  /** Whether the next claim of a lane begins at the start. `now`: monotonic time. */
  isFullDue(lane: string, now: number): boolean {
    const known = this.#lanes.get(lane);
    return known === undefined || (now >= known.fullAt + FULL_EVERY_MS && now >= this.#nextFullAt);
  }

  /** A claim from the start of some lane has ended. The longer it took, the longer no other claim begins at a start: 2 s at most. */
  fullEnded(startedAt: number, now: number): void {
    // This delays no first claim of a lane. A short claim does not end the wait after a long one.
    this.#nextFullAt = Math.max(this.#nextFullAt, now + pauseAfterLook(now - startedAt, 0));
  }

  /** Keeps the floor that a claim left. `fullAt`: when the claim began, if it began at the start of the lane. */
  keep(lane: string, floor: Floor, fullAt: number | null): void {
    const known = this.#lanes.get(lane);
    if (known === undefined && this.#lanes.size >= LANES_MAX) this.#lanes.clear();
    this.#lanes.set(lane, { floor, fullAt: fullAt ?? known?.fullAt ?? Number.NEGATIVE_INFINITY });
  }

  /** The next claim of each lane begins at the start. */
  forget(): void {
    this.#lanes.clear();
  }
}
