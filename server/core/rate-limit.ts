/** The one way to count in a period: a fixed window for each subject, which opens with the first count. Knows no clock. */

import type { RateLimit } from "../../sdk/wire.ts";
import { setBounded } from "./bounded-map.ts";
import type { KeyId } from "./id.ts";

/** The default limit of a key: 100 requests in 60 s. */
export const DEFAULT_RATE_LIMIT: Readonly<RateLimit> = { limit: 100, windowSeconds: 60 };

/** The limit of all sessions of a key together, beside the limit of the key: 1,200 requests in 60 s. */
export const SESSIONS_RATE_LIMIT: Readonly<RateLimit> = { limit: 1_200, windowSeconds: 60 };

/** The requests that one limit counts: those with a key, or those of the sessions of a key. */
export type RateBucket = KeyId | `sessions of ${KeyId}`;

/** Most windows of one state. Beyond this the oldest is dropped. */
export const WINDOWS_MAX = 100_000;

interface RateWindow {
  openedAt: number;
  resetAt: number;
  used: number;
}

/** The windows of one kind of subject in this process, the oldest first. */
export type RateLimitState<Subject = RateBucket> = Map<Subject, RateWindow>;

/** The limit of a subject after a count. `resetAt` is the end of its window, epoch milliseconds. */
export interface RateLimitResult {
  allowed: boolean;
  limit: number;
  remaining: number;
  resetAt: number;
}

/** Counts one request of `subject` at the real time `now`, and returns whether it is within `limit`. */
export function take<Subject>(
  state: RateLimitState<Subject>,
  subject: Subject,
  limit: RateLimit,
  now: number,
): RateLimitResult {
  let window = openWindow(state, subject, now);
  if (window === null) {
    window = { openedAt: now, resetAt: now + limit.windowSeconds * 1000, used: 0 };
    setBounded(state, subject, window, WINDOWS_MAX);
  }
  const allowed = window.used < limit.limit;
  if (allowed) window.used += 1;
  return { allowed, limit: limit.limit, remaining: Math.max(0, limit.limit - window.used), resetAt: window.resetAt };
}

/** Whole seconds until `take` would be within `limit` again, as in `Retry-After`; null if it would be now. Counts nothing. */
export function waitSeconds<Subject>(
  state: RateLimitState<Subject>,
  subject: Subject,
  limit: number,
  now: number,
): number | null {
  const window = openWindow(state, subject, now);
  return window === null || window.used < limit ? null : retryAfterSeconds(window, now);
}

/** A window that opened in the future does not count: the clock was set back. */
function openWindow<Subject>(state: RateLimitState<Subject>, subject: Subject, now: number): RateWindow | null {
  const window = state.get(subject);
  return window === undefined || now >= window.resetAt || now < window.openedAt ? null : window;
}

/** `Retry-After` of a refused request: whole seconds until the window ends, rounded up, at least 1. */
export function retryAfterSeconds({ resetAt }: Pick<RateLimitResult, "resetAt">, now: number): number {
  return Math.max(1, Math.ceil((resetAt - now) / 1000));
}
