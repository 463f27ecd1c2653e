/** The two clocks: the shifted one that schedules and records go by, and the real one that leases and limits go by. */

export interface Clock {
  /** Epoch milliseconds of the service: real time plus the sandbox's shift. */
  now(): number;
  /** Epoch milliseconds, real. */
  real(): number;
  /** Runs `action` once after `ms` real milliseconds; the answer stops it. Never for more than an hour. */
  after(ms: number, action: () => void): () => void;
}

/** The machine's clock, `shiftMs` ahead. */
export function systemClock(shiftMs = 0): Clock {
  return {
    now: () => Date.now() + shiftMs,
    real: () => Date.now(),
    after(ms, action) {
      const timer = setTimeout(action, ms);
      return () => clearTimeout(timer);
    },
  };
}
