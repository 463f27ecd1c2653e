/** Waiting in tests: for a condition, with a limit. Nothing sleeps. */

/** Time between two probes: a tenth of the time waited so far, since many probes are requests that cost CPU. */
const PAUSE_MS_MIN = 5;
const PAUSE_MS_MAX = 100;

/** Only a hang takes this long: a limit is no expectation, and a busy machine is slow. */
const LIMIT_MS = 60_000;

/** The limit for something that the service does within a second on an idle machine. */
export const WITHIN_A_SECOND = { limitMs: LIMIT_MS };

/** Resolves with the first value of `probe` that is truthy; throws naming `what` after `limitMs` (default 60 s). */
export async function until<Value>(
  probe: () => Value | Promise<Value>,
  { limitMs = LIMIT_MS, what = "the condition" }: { limitMs?: number; what?: string } = {},
): Promise<NonNullable<Value>> {
  const startedAt = performance.now();
  for (;;) {
    const value = await probe();
    if (value) return value;
    const waitedMs = performance.now() - startedAt;
    if (waitedMs > limitMs) throw new Error(`${what} did not come true within ${limitMs} ms`);
    const pauseMs = Math.min(PAUSE_MS_MAX, Math.max(PAUSE_MS_MIN, waitedMs / 10));
    await new Promise((resolve) => setTimeout(resolve, pauseMs));
  }
}
