/** The one token bucket: limits a rate, and pauses when the peer asks for it. */

import type { Clock } from "../../clock.ts";

/** A token bucket on the real clock. */
export class TokenBucket {
  readonly #clock: Clock;
  readonly #perMs: number | null;
  readonly #burst: number;
  #tokens: number;
  #filledAt: number;
  #pausedUntil = 0;

  /** `perSecond` null: no limit except pauses. `burst` tokens are saved up at most, and at least one. */
  constructor(clock: Clock, perSecond: number | null, burst: number) {
    this.#clock = clock;
    this.#perMs = perSecond === null ? null : perSecond / 1_000;
    this.#burst = Math.max(1, burst);
    this.#tokens = this.#burst;
    this.#filledAt = clock.real();
  }

  /** Takes a token. Returns 0, or the milliseconds to wait before the next try. */
  take(): number {
    const now = this.#clock.real();
    if (now < this.#pausedUntil) return this.#pausedUntil - now;
    if (this.#perMs === null) return 0;
    // A clock that was set back delays nothing for longer.
    this.#tokens = Math.min(this.#burst, this.#tokens + Math.max(0, now - this.#filledAt) * this.#perMs);
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
