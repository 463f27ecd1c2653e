/** How far a clock is behind that of another machine, by questions and answers. The best answer counts, as in NTP (RFC 5905). Pure. */

/** How fast two clocks may drift apart: NTP corrects a clock by at most 500 parts in a million (RFC 5905, section 11.3). */
const DRIFT = 500e-6;

/** The clock is set by whole milliseconds. */
const ROUNDED_MS = 1;

/** An answer with the other machine's time. `now` and `own` are epoch milliseconds, the others monotonic ones. */
export interface TimeAnswer {
  /** By the other clock, between the question and the answer. */
  now: number;
  /** By the own clock, at the answer. */
  own: number;
  askedAt: number;
  answeredAt: number;
}

/** Sets a clock by the answers, as exactly as the fastest of the last ones was. */
export class ClockOffset {
  /** How wrong the clock may be since the answer that it was set by; the drift is added. */
  #errorMs = Number.POSITIVE_INFINITY;
  #setAt = 0;

  /** Milliseconds to add to the own clock; 0 while an earlier answer told its time better. */
  correction({ now, own, askedAt, answeredAt }: TimeAnswer): number {
    const halfMs = (answeredAt - askedAt) / 2;
    const behindMs = now - (own - halfMs);
    const errorMs = this.#errorMs + (answeredAt - this.#setAt) * DRIFT;
    const isStep = Math.abs(behindMs) > halfMs + errorMs;
    if (halfMs > errorMs && !isStep) return 0;
    this.#errorMs = halfMs + ROUNDED_MS;
    this.#setAt = answeredAt;
    return Math.round(behindMs);
  }
}
