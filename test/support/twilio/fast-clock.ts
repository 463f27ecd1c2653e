/** A clock that runs faster than real time, for tests with a real server as the peer. */

import type { Clock } from "../../../server/clock.ts";

/**
 * A clock that is `speed` times as fast as the machine's. Timers of exactly `realMs` end by real time: a request to a real server on a
 * machine that may be slow has its whole limit.
 */
export function fastClock(speed: number, realMs: number | null = null): Clock {
  const startedAt = Date.now();
  const startedMs = performance.now();
  const now = () => startedAt + Math.floor((performance.now() - startedMs) * speed);
  return {
    now,
    aheadMs: () => 0,
    real: now,
    monotonic: () => (performance.now() - startedMs) * speed,
    turnMs: () => 0,
    after(ms, action) {
      const timer = setTimeout(action, ms === realMs ? ms : ms / speed);
      return () => clearTimeout(timer);
    },
  };
}
