/** Time that passes faster than it does, for tests whose peer is a real server: nothing here stands still. */

import type { Clock } from "../../../server/clock.ts";

/** A clock that goes `speed` times as fast as the machine's. */
export function fastClock(speed: number): Clock {
  const startedAt = Date.now();
  const startedMs = performance.now();
  const now = () => startedAt + Math.floor((performance.now() - startedMs) * speed);
  return {
    now,
    real: now,
    after(ms, action) {
      const timer = setTimeout(action, ms / speed);
      return () => clearTimeout(timer);
    },
  };
}
