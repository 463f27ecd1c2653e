/** Rate limits: a fixed window per bucket that opens with its first request. Knows no clock. */

import type { RateLimit } from "../../sdk/wire.ts";
import type { KeyId } from "./id.ts";

/** The default limit of a key: 100 requests in 60 s. */
export const DEFAULT_RATE_LIMIT: Readonly<RateLimit> = { limit: 100, windowSeconds: 60 };

/** The limit of all sessions of a key together, beside the limit of the key: 1,200 requests in 60 s. */
export const SESSIONS_RATE_LIMIT: Readonly<RateLimit> = { limit: 1_200, windowSeconds: 60 };

/** The requests that one limit counts: those with a key, or those of the sessions of a key. */
export type RateBucket = KeyId | `sessions of ${KeyId}`;

/** Most windows kept. Beyond this closed windows are dropped first, then the oldest window. */
export const WINDOWS_MAX = 100_000;

interface RateWindow {
  openedAt: number;
  resetAt: number;
  used: number;
}

/** The open windows of this process, oldest first. */
export type RateLimitState = Map<RateBucket, RateWindow>;

/** The limit of a bucket after a request. `resetAt` is the end of its window, epoch milliseconds. */
export interface RateLimitResult {
  allowed: boolean;
  limit: number;
  remaining: number;
  resetAt: number;
}

/** Counts one request of `bucket` at the real time `now`, and returns whether it is within `limit`. */
export function take(state: RateLimitState, bucket: RateBucket, limit: RateLimit, now: number): RateLimitResult {
  let window = state.get(bucket);
  if (window === undefined || now >= window.resetAt || now < window.openedAt) {
    // A window that opens anew goes to the end, so that the map stays ordered by age.
    if (!state.delete(bucket)) makeRoom(state, now);
    window = { openedAt: now, resetAt: now + limit.windowSeconds * 1000, used: 0 };
    state.set(bucket, window);
  }
  const allowed = window.used < limit.limit;
  if (allowed) window.used += 1;
  return { allowed, limit: limit.limit, remaining: Math.max(0, limit.limit - window.used), resetAt: window.resetAt };
}

function makeRoom(state: RateLimitState, now: number): void {
  if (state.size < WINDOWS_MAX) return;
  for (const [bucket, window] of state) {
    if (now >= window.resetAt) state.delete(bucket);
  }
  for (const bucket of state.keys()) {
    if (state.size < WINDOWS_MAX) return;
    state.delete(bucket);
  }
}

/** `Retry-After` of a refused request: whole seconds until the window ends, rounded up, at least 1. */
export function retryAfterSeconds(result: RateLimitResult, now: number): number {
  return Math.max(1, Math.ceil((result.resetAt - now) / 1000));
}
