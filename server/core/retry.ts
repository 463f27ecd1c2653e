/** Delays before retries of deliveries, send attempts and connections. Pure. */

const JITTER_SHARE = 0.1;
const JITTER_MS_MAX = 30_000;

/**
 * When retry number `retry` (0 is the first) is due; null if the schedule has no further retry. The delay counts from
 * `endedAt`, and jitter only lengthens it, by at most 10 % and never more than 30 s. `chance` is in [0, 1).
 */
export function nextRetryAt(
  schedule: readonly number[],
  retry: number,
  endedAt: number,
  chance: number,
): number | null {
  const delayMs = schedule[retry];
  if (delayMs === undefined) return null;
  return endedAt + delayMs + Math.floor(Math.min(delayMs * JITTER_SHARE, JITTER_MS_MAX) * chance);
}

/** A pause that doubles with each failure in a row, from `firstMs` to `mostMs`. */
export function doublingMs(failures: number, firstMs: number, mostMs: number): number {
  return Math.min(firstMs * 2 ** Math.max(0, failures - 1), mostMs);
}

const BACKOFF_FIRST_MS = 1_000;
const BACKOFF_MS_MAX = 300_000;

/** Delay before send attempt number `attempt` + 1 after a transient error: 1 s doubling to 5 min, plus up to 10 %. */
export function backoffMs(attempt: number, chance: number): number {
  const delayMs = doublingMs(attempt, BACKOFF_FIRST_MS, BACKOFF_MS_MAX);
  return delayMs + Math.floor(delayMs * JITTER_SHARE * chance);
}
