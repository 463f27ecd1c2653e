/** How fast messages may go: so many a second, less for a while when the SMSC asks for it. */

import type { Clock } from "../../clock.ts";

/** How much of a second may go at once: what a timer that is late lets catch up, and never less than one message. */
const BURST_SECONDS = 0.05;

/** A token bucket on the real clock. */
export class SubmitRateLimiter {
  readonly #clock: Clock;
  readonly #perMs: number | null;
  readonly #most: number;
  #tokens: number;
  #filledAt: number;
  #pausedUntil = 0;

  /** `perSecond` null: no bound but pauses. */
  constructor(clock: Clock, perSecond: number | null) {
    this.#clock = clock;
    this.#perMs = perSecond === null ? null : perSecond / 1_000;
    this.#most = Math.max(1, (perSecond ?? 0) * BURST_SECONDS);
    this.#tokens = this.#most;
    this.#filledAt = clock.real();
  }

  /** Takes the right to send one message: 0, or how many milliseconds to wait before asking again. */
  take(): number {
    const now = this.#clock.real();
    if (now < this.#pausedUntil) return this.#pausedUntil - now;
    if (this.#perMs === null) return 0;
    this.#tokens = Math.min(this.#most, this.#tokens + Math.max(0, now - this.#filledAt) * this.#perMs);
    this.#filledAt = now;
    if (this.#tokens < 1) return Math.ceil((1 - this.#tokens) / this.#perMs);
    this.#tokens -= 1;
    return 0;
  }

  /** Lets none go for `ms` from now on, unless a longer pause is set. */
  pause(ms: number): void {
    this.#pausedUntil = Math.max(this.#pausedUntil, this.#clock.real() + ms);
  }
}
