/**
 * Where a claim of a lane begins to look. While an old snapshot is open, the entries of deleted rows stay in the indexes of the queues,
 * and a claim that begins at the start of a lane reads all of them. So each claim keeps the lane's floor: nothing in the lane is due
 * earlier, except what SQL transactions that were not over have put there since. These rows are found by `changed_in`.
 */

import { pauseAfterLook } from "../../core/look-pause.ts";

/** A claim's finding about a lane. */
export interface LaneFloor {
  /** No row that may be leased had an earlier due time. */
  dueAt: number;
  /** The oldest SQL transaction that was in progress at the claim: what the claim did not see was written by it or by a later one. */
  since: string;
}

/** Rows put into a lane since its last claim, of which a claim reads the due time. If there are more, it begins at the start of the lane. */
const CHANGED_MAX = 64;
/** Lanes whose floors are kept. Without a floor a claim begins at the start. */
const LANES_MAX = 10_000;
/** A claim begins at the start again after this time, in milliseconds: what a floor misses for a reason that nobody foresaw is found then. */
const FULL_EVERY_MS = 1_000;

/** Before all due times. */
export const OLDEST = Number.MIN_SAFE_INTEGER;

/** SQL for the oldest SQL transaction in progress, as the statement sees it: what it does not see was written by this or a later one. */
export const OLDEST_RUNNING = "pg_snapshot_xmin(pg_current_snapshot())";

/**
 * SQL for the due time from which on a claim of a lane looks. `floor` is SQL for the due time of the lane's floor, or null, and `since`
 * for its SQL transaction.
 */
export function startOf(lane: string, floor: string, since: string): string {
  return `(select case when count(*) < ${CHANGED_MAX} and ${floor} is not null then least(${floor}, min(put.due_at)) else ${OLDEST} end
    from (select p.due_at from due_messages p where p.lane = ${lane} and p.lease is null and p.changed_in > '0'::xid8
      and p.changed_in >= ${since} order by p.lane, p.changed_in limit ${CHANGED_MAX}) put)`;
}

/** The findings about lanes by the claims of this process, and which claims begin at the start. Pure: the time is an argument. */
export class LaneFloors<Floor extends LaneFloor = LaneFloor> {
  readonly #lanes = new Map<string, { floor: Floor; fullAt: number }>();
  #nextFullAt = Number.NEGATIVE_INFINITY;

  /** The finding of the lane's last claim; null if there is none. */
  of(lane: string): Floor | null {
    return this.#lanes.get(lane)?.floor ?? null;
  }

  /** Whether the next claim of a lane begins at the start. `now`: monotonic time. */
  isFullDue(lane: string, now: number): boolean {
    const known = this.#lanes.get(lane);
    return known === undefined || (now >= known.fullAt + FULL_EVERY_MS && now >= this.#nextFullAt);
  }

  /** A claim that began at the start of some lane has ended: by what it took, no lane's claim begins there again for at most 2 s. */
  fullEnded(startedAt: number, now: number): void {
    // The first claim of a lane is not delayed, and a short one does not end the wait after a long one.
    this.#nextFullAt = Math.max(this.#nextFullAt, now + pauseAfterLook(now - startedAt, 0));
  }

  /** Keeps a claim's finding. `fullAt`: when it began, if it began at the start of the lane. */
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
