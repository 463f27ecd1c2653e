/** Limits the rate of submits, and pauses when the SMSC throttles. */

import type { Clock } from "../../clock.ts";

/** The burst, in seconds of the rate: it makes up for a late timer. At least one message. */
const BURST_SECONDS = 0.05;

/** A token bucket on the real clock. */
export class SubmitRateLimiter {
  readonly #clock: Clock;
  readonly #perMs: number | null;
  readonly #most: number;
  #tokens: number;
  #filledAt: number;
  #pausedUntil = 0;

  /** `perSecond` null: no limit except pauses. */
  constructor(clock: Clock, perSecond: number | null) {
    this.#clock = clock;
    this.#perMs = perSecond === null ? null : perSecond / 1_000;
    this.#most = Math.max(1, (perSecond ?? 0) * BURST_SECONDS);
    this.#tokens = this.#most;
    this.#filledAt = clock.real();
  }

  /** Takes a token. Returns 0, or the milliseconds to wait before the next try. */
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

  /** Grants no token for `ms`, unless a longer pause is set. */
  pause(ms: number): void {
    this.#pausedUntil = Math.max(this.#pausedUntil, this.#clock.real() + ms);
  }
}
