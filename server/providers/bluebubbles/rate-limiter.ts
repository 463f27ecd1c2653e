/**
 * Rate limiter for the Private API of one Mac: four calls a second, first come, first served. A queue before a token bucket, and no
 * semaphore: time gives the next permit, and no call gives one back.
 */

import type { Clock } from "../../clock.ts";
import { TokenBucket } from "../kit/token-bucket.ts";

/** A Mac executes one call in 200 ms, one at a time. A slightly longer interval leaves room for its own calls. */
const CALLS_PER_SECOND = 4;
/** Limit of waiting calls; further ones are rejected. */
const WAITING_MAX = 256;

/** The call was rejected, or aborted while it waited. It was not made. */
export class RateLimited extends Error {}

/** Admits one call every 250 ms, in the order of arrival, until `stop`. */
export class PrivateApiRateLimiter {
  readonly #clock: Clock;
  readonly #waiting: { admit: () => void; reject: () => void }[] = [];
  readonly #rate: TokenBucket;
  #stopTimer: (() => void) | null = null;
  #stopped = false;

  constructor(clock: Clock) {
    this.#clock = clock;
    this.#rate = new TokenBucket(clock, CALLS_PER_SECOND, 1);
  }

  /** Number of waiting calls. */
  get waiting(): number {
    return this.#waiting.length;
  }

  /** Resolves when the call may be made. Rejects with `RateLimited` if aborted or stopped, or if too many calls wait. */
  acquire(abort?: AbortSignal): Promise<void> {
    return new Promise((resolve, reject) => {
      if (this.#stopped || abort?.aborted === true) return reject(new RateLimited("aborted before the call was made"));
      if (this.#waiting.length >= WAITING_MAX) return reject(new RateLimited(`${WAITING_MAX} calls wait for the Mac`));
      const unsubscribe = () => abort?.removeEventListener("abort", abortNow);
      const call = {
        admit: () => {
          unsubscribe();
          resolve();
        },
        reject: () => {
          unsubscribe();
          reject(new RateLimited("aborted before the call was made"));
        },
      };
      const abortNow = () => {
        this.#waiting.splice(this.#waiting.indexOf(call), 1);
        call.reject();
      };
      abort?.addEventListener("abort", abortNow, { once: true });
      this.#waiting.push(call);
      this.#admitNext();
    });
  }

  /** Rejects all calls, now and later. */
  stop(): void {
    this.#stopped = true;
    this.#stopTimer?.();
    this.#stopTimer = null;
    for (const call of this.#waiting.splice(0)) call.reject();
  }

  #admitNext(): void {
    if (this.#stopTimer !== null) return;
    for (let [next] = this.#waiting; next !== undefined; [next] = this.#waiting) {
      const waitMs = this.#rate.take();
      if (waitMs > 0) {
        this.#stopTimer = this.#clock.after(waitMs, () => {
          this.#stopTimer = null;
          this.#admitNext();
        });
        return;
      }
      this.#waiting.shift();
      next.admit();
    }
  }
}
