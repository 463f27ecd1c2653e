/** Rate limits: a fixed window per key that opens with its first request. Knows no clock. */

import type { RateLimit } from "../../sdk/wire.ts";
import type { KeyId } from "./id.ts";

/** The default limit of a key: 100 requests in 60 s. */
export const DEFAULT_RATE_LIMIT: Readonly<RateLimit> = { limit: 100, windowSeconds: 60 };

/** Most windows kept. Beyond this closed windows are dropped first, then the oldest window. */
export const WINDOWS_MAX = 100_000;

interface RateWindow {
  openedAt: number;
  resetAt: number;
  used: number;
}

/** The open windows of this process, oldest first. */
export type RateLimitState = Map<KeyId, RateWindow>;

/** The limit of a key after a request. `resetAt` is the end of its window, epoch milliseconds. */
export interface RateLimitResult {
  allowed: boolean;
  limit: number;
  remaining: number;
  resetAt: number;
}

/** Counts one request of `keyId` at the real time `now`, and returns whether it is within `limit`. */
export function take(state: RateLimitState, keyId: KeyId, limit: RateLimit, now: number): RateLimitResult {
  let window = state.get(keyId);
  if (window === undefined || now >= window.resetAt || now < window.openedAt) {
    // A window that opens anew goes to the end, so that the map stays ordered by age.
    if (!state.delete(keyId)) makeRoom(state, now);
    window = { openedAt: now, resetAt: now + limit.windowSeconds * 1000, used: 0 };
    state.set(keyId, window);
  }
  const allowed = window.used < limit.limit;
  if (allowed) window.used += 1;
  return { allowed, limit: limit.limit, remaining: Math.max(0, limit.limit - window.used), resetAt: window.resetAt };
}

function makeRoom(state: RateLimitState, now: number): void {
  if (state.size < WINDOWS_MAX) return;
  for (const [keyId, window] of state) {
    if (now >= window.resetAt) state.delete(keyId);
  }
  for (const keyId of state.keys()) {
    if (state.size < WINDOWS_MAX) return;
    state.delete(keyId);
  }
}

/** `Retry-After` of a refused request: whole seconds until the window ends, rounded up, at least 1. */
export function retryAfterSeconds(result: RateLimitResult, now: number): number {
  return Math.max(1, Math.ceil((result.resetAt - now) / 1000));
}
