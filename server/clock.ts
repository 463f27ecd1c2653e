/** The clocks: shifted time for schedules and records, real time for leases and limits, and monotonic time. */

import { withoutStepBack } from "./core/step-back.ts";

export interface Clock {
  /** Epoch milliseconds of the service: real time plus the sandbox's shift. The machine's clock hides small steps back (`withoutStepBack`). */
  now(): number;
  /** How far the sandbox's clock is ahead of real time, in milliseconds; 0 unless somebody moved it. */
  aheadMs(): number;
  /** Epoch milliseconds, real. */
  real(): number;
  /** Milliseconds since an arbitrary instant. Setting the machine's time does not change it. */
  monotonic(): number;
  /** Busy milliseconds of a turn of the event loop, on average lately: a response is read up to this long after it came. */
  turnMs(): number;
  /** Runs `action` once after `ms` real milliseconds, at most an hour. The returned function cancels it. */
  after(ms: number, action: () => void): () => void;
}

/** How far the service is ahead of real time, in milliseconds. A change moves every clock that shares it. */
export interface ClockShift {
  ms: number;
}

/** The machine's clock, ahead by `shift`. `skew`: how far the machine's time is behind the real one. */
export function systemClock(shift: ClockShift = { ms: 0 }, skew: Readonly<ClockShift> = { ms: 0 }): Clock {
  const real = () => Date.now() + skew.ms;
  let last = Number.NEGATIVE_INFINITY;
  return {
    now() {
      last = withoutStepBack(last, real());
      return last + shift.ms;
    },
    aheadMs: () => shift.ms,
    real,
    monotonic: () => performance.now(),
    turnMs: turnMeter(),
    after(ms, action) {
      const timer = setTimeout(action, ms);
      return () => clearTimeout(timer);
    },
  };
}

/** The turns of the event loop are counted anew at most this often, in milliseconds. */
const TURNS_READ_MS = 50;

function turnMeter(): () => number {
  let last = readTurns();
  let turnMs = 0;
  return () => {
    if (performance.now() - last.at < TURNS_READ_MS) return turnMs;
    const read = readTurns();
    const turns = read.turns - last.turns;
    if (turns > 0) turnMs = Math.max(0, read.at - last.at - (read.idleMs - last.idleMs)) / turns;
    last = read;
    return turnMs;
  };
}

/** The turns of the event loop so far, and the time in which it waited for something to do. */
function readTurns() {
  const { idleTime, uvMetricsInfo } = performance.nodeTiming;
  return { at: performance.now(), idleMs: idleTime, turns: uvMetricsInfo.loopCount };
}
