/** How far a clock is behind that of another machine, by questions and answers. The fastest recent answer counts, as in NTP (RFC 5905). Pure. */

/** How fast two clocks may drift apart: NTP corrects a clock by at most 500 parts in a million (RFC 5905, section 11.3). */
const DRIFT = 500e-6;

/** The clock is set by whole milliseconds. */
const ROUNDED_MS = 1;

/** If a clock and the monotonic one differ by more about the time of a question, in milliseconds, the machine slept or the clock was set. */
const SLEPT_MS_MIN = 100;

/** A moment, by the clock that is set and by the monotonic clock. */
export interface Moment {
  real: number;
  monotonic: number;
}

/** An answer: the other machine's time between a question and its answer, in epoch milliseconds. */
export interface TimeAnswer {
  now: number;
  asked: Moment;
  answered: Moment;
}

/** Sets a clock by the answers, as exactly as the fastest of the last ones was. */
export class ClockOffset {
  /** How wrong the clock may be since the answer that it was set by; the drift is added. */
  #errorMs = Number.POSITIVE_INFINITY;
  #setAt = 0;

  /** Milliseconds to add to the own clock; 0 while an earlier answer told its time better, and if the machine slept meanwhile. */
  correction({ now, asked, answered }: TimeAnswer): number {
    const tookMs = answered.monotonic - asked.monotonic;
    if (Math.abs(answered.real - asked.real - tookMs) > SLEPT_MS_MIN) return 0;
    const halfMs = tookMs / 2;
    const behindMs = now - (answered.real - halfMs);
    const errorMs = this.#errorMs + (answered.monotonic - this.#setAt) * DRIFT;
    const isStep = Math.abs(behindMs) > halfMs + errorMs;
    if (halfMs > errorMs && !isStep) return 0;
    this.#errorMs = halfMs + ROUNDED_MS;
    this.#setAt = answered.monotonic;
    return Math.round(behindMs);
  }
}
