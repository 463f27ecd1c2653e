/** The clocks: shifted time for schedules and records, real time for leases and limits, and monotonic time. */

export interface Clock {
  /** Epoch milliseconds of the service: real time plus the sandbox's shift. */
  now(): number;
  /** Epoch milliseconds, real. */
  real(): number;
  /** Milliseconds since an arbitrary instant. Setting the machine's time does not change it. */
  monotonic(): number;
  /** Runs `action` once after `ms` real milliseconds, at most an hour. The returned function cancels it. */
  after(ms: number, action: () => void): () => void;
}

/** How far the service is ahead of real time, in milliseconds. A change moves every clock that shares it. */
export interface ClockShift {
  ms: number;
}

/** The machine's clock, ahead by `shift`. */
export function systemClock(shift: ClockShift = { ms: 0 }): Clock {
  return {
    now: () => Date.now() + shift.ms,
    real: () => Date.now(),
    monotonic: () => performance.now(),
    after(ms, action) {
      const timer = setTimeout(action, ms);
      return () => clearTimeout(timer);
    },
  };
}
