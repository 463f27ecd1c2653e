/**
 * The rate limits of keys in a database that several processes share: a process takes a slice of a key's limit from the database,
 * and counts requests against it. A limit too small for slices is taken request by request. The window is in the database: a window
 * here (`core/rate-limit.ts`) would count the requests of one process only.
 */

import type { RateLimit } from "../../../sdk/wire.ts";
import type { Clock } from "../../clock.ts";
import { setBounded } from "../../core/bounded-map.ts";
import { type RateBucket, type RateLimitResult, WINDOWS_MAX } from "../../core/rate-limit.ts";
import type { TakeRate } from "../../store/shared-database.ts";
import type { Deps } from "../deps.ts";

/** Processes that may hold an unused slice of one limit while another process has used its own. */
const HOLDERS = 8;
/** Their unused slices together are this part of the limit. So much more may be used: no process refuses a request while another holds some. */
const HELD_SHARE = 0.05;

/** A window of a key as this process sees it. Instants are monotonic. */
interface SliceWindow {
  endsAt: number;
  /** Requests of the slice that are left. */
  left: number;
  /** Taken by all processes together, when this one took last. */
  taken: number;
  /** The limit that is used up; null if the database gave something last. A limit may be raised during its window. */
  usedUp: number | null;
}

/** Requests that wait for the next slice of a key. */
interface WaitingCount {
  limit: RateLimit;
  resolve: (result: RateLimitResult) => void;
  reject: (error: unknown) => void;
}

/** The requests of one slice, and how many more than the limit may be taken in a window. */
export function sliceOf(limit: number): { requests: number; beyond: number } {
  const requests = Math.floor((limit * HELD_SHARE) / HOLDERS);
  return requests < 2 ? { requests: 1, beyond: 0 } : { requests, beyond: requests * HOLDERS };
}

/** Counts requests against the limits that processes share; null in a database of one process. */
export function countShared({ store, clock }: Pick<Deps, "store" | "clock">) {
  if (store.shared === null) return null;
  const slices = new RateSlices(store.shared.takeRate, clock);
  return (bucket: RateBucket, limit: RateLimit) => slices.count(bucket, limit);
}

export class RateSlices {
  readonly #take: TakeRate;
  readonly #clock: Clock;
  readonly #windows = new Map<RateBucket, SliceWindow>();
  readonly #waiting = new Map<RateBucket, WaitingCount[]>();

  constructor(take: TakeRate, clock: Clock) {
    this.#take = take;
    this.#clock = clock;
  }

  /** Counts one request of a key. Rejects if the database cannot be reached. */
  count(bucket: RateBucket, limit: RateLimit): RateLimitResult | Promise<RateLimitResult> {
    return this.#fromSlice(bucket, limit) ?? this.#wait(bucket, limit);
  }

  /** The result if the window that this process knows decides it. */
  #fromSlice(bucket: RateBucket, limit: RateLimit): RateLimitResult | null {
    const window = this.#windows.get(bucket);
    if (window === undefined || this.#clock.monotonic() >= window.endsAt) return null;
    if (window.left === 0)
      return window.usedUp !== null && limit.limit <= window.usedUp ? this.#result(window, limit, false) : null;
    window.left -= 1;
    return this.#result(window, limit, true);
  }

  #result({ endsAt, left, taken }: SliceWindow, { limit }: RateLimit, allowed: boolean): RateLimitResult {
    const remaining = allowed ? Math.max(0, limit - taken + left) : 0;
    return { allowed, limit, remaining, resetAt: Math.ceil(this.#clock.real() + endsAt - this.#clock.monotonic()) };
  }

  #wait(bucket: RateBucket, limit: RateLimit): Promise<RateLimitResult> {
    return new Promise((resolve, reject) => {
      const waiting = this.#waiting.get(bucket);
      const one = { limit, resolve, reject };
      if (waiting !== undefined) waiting.push(one);
      else {
        this.#waiting.set(bucket, [one]);
        void this.#takeFor(bucket, limit);
      }
    });
  }

  /** Takes slices until nobody waits; those who came meanwhile share the next one. */
  async #takeFor(bucket: RateBucket, limit: RateLimit): Promise<void> {
    const waiting = this.#waiting.get(bucket) ?? [];
    try {
      while (waiting.length > 0) {
        await this.#takeSlice(bucket, limit, waiting.length);
        while (waiting.length > 0 && this.#resolveFirst(bucket, waiting));
      }
    } catch (error) {
      for (const { reject } of waiting) reject(error);
    } finally {
      this.#waiting.delete(bucket);
    }
  }

  #resolveFirst(bucket: RateBucket, waiting: WaitingCount[]): boolean {
    const [first] = waiting;
    const result = first === undefined ? null : this.#fromSlice(bucket, first.limit);
    if (result === null) return false;
    waiting.shift();
    first?.resolve(result);
    return true;
  }

  async #takeSlice(bucket: RateBucket, { limit, windowSeconds }: RateLimit, wanted: number): Promise<void> {
    const { requests, beyond } = sliceOf(limit);
    const askedAt = this.#clock.monotonic();
    const taken = await this.#take({
      bucket,
      wanted: Math.max(requests, wanted),
      takenMax: limit + beyond,
      windowMs: windowSeconds * 1_000,
    });
    const window: SliceWindow = {
      endsAt: askedAt + taken.endsInMs,
      left: taken.given,
      taken: taken.taken,
      usedUp: taken.given === 0 ? limit : null,
    };
    setBounded(this.#windows, bucket, window, WINDOWS_MAX);
  }
}
