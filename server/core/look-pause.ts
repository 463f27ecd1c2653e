/** How long a task that repeats itself pauses, by what its last run cost. */

/** Bounds of a pause. All times are in milliseconds. */
export interface PauseBounds {
  /** The pause is at least this multiple of the run's duration, within the bounds. */
  costFactor: number;
  msMin: number;
  msMax: number;
}

/**
 * The pause after a run that took `tookMs`. It is bounded on both sides: a run also takes long while its process or its connection
 * stands still, and that says nothing about the cost of the next one.
 */
export function pauseAfter(tookMs: number, { costFactor, msMin, msMax }: PauseBounds): number {
  return Math.min(Math.max(msMin, tookMs * costFactor), msMax);
}

/** The pause after a look at a queue that failed, in milliseconds. */
export const FAILED_LOOK_PAUSE_MS = 500;

/** Looks at a queue take at most a twentieth of the time, unless the pause would be longer than 2 s. */
const LOOK_COST_FACTOR = 20;
const LOOK_PAUSE_MS_MAX = 2_000;

/** The pause after a look at a queue that took `tookMs`: at least `msMin`, and at most 2 s, in milliseconds. */
export function pauseAfterLook(tookMs: number, msMin: number): number {
  return pauseAfter(tookMs, { costFactor: LOOK_COST_FACTOR, msMin, msMax: LOOK_PAUSE_MS_MAX });
}
