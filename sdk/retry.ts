/** Decides which failed requests are retried, and when. Pure: chance is an argument. */

import type { TightbeamError } from "./errors.ts";

/** Default number of retries. */
export const MAX_RETRIES = 3;

/** Waits after a 429 without `Retry-After`: 10 s, doubled each time. */
const RATE_LIMITED_MS_FIRST = 10_000;
/** Waits after a lost connection or a 503 without `Retry-After`: 1 s, doubled up to 8 s, then shortened by up to half. */
const BACKOFF_MS_FIRST = 1_000;
const BACKOFF_MS_MAX = 8_000;

/** Milliseconds before retry number `retry` (0 for the first); `chance` is from 0 up to 1. */
export function retryDelayMs(error: TightbeamError, retry: number, chance: number): number {
  if (error.retryAfterSeconds !== null) return error.retryAfterSeconds * 1000;
  if (error.status === 429) return RATE_LIMITED_MS_FIRST * 2 ** retry;
  const longest = Math.min(BACKOFF_MS_FIRST * 2 ** retry, BACKOFF_MS_MAX);
  return Math.round((longest / 2) * (1 + chance));
}

/**
 * Whether a failed request is retried. The service refuses with 429 and 503 before it does anything: every request is
 * retried. Without a response, and after 502 and 504, the request may have been done: only a `repeatable` one is
 * retried. An edit that the phone refused (502 `EDIT_FAILED`) would be refused again, with one more event. If no server
 * listens at the first call of a client (`hasResponded` is false), there is no retry.
 */
export function isRetryable(error: TightbeamError, given: { repeatable: boolean; hasResponded: boolean }): boolean {
  if (error.status === 429 || error.status === 503) return true;
  if (error.code === "EDIT_FAILED") return false;
  if (isAbsence(error) && !given.hasResponded) return false;
  return given.repeatable && [0, 502, 504].includes(error.status);
}

/** Whether nothing listens at the address, or its name does not exist: the request had no effect. */
export function isAbsence(error: TightbeamError): boolean {
  return error.code === "CONNECTION_FAILED" && ABSENT.test(reasonOf(error.cause));
}

/** Last sentence of the message if no server listens. */
export const ABSENCE_ADVICE = "Start the server, or set baseUrl or TIGHTBEAM_URL to its address.";

/** Codes of Node and Bun, and words of Deno. */
const ABSENT = /ECONNREFUSED|ENOTFOUND|ConnectionRefused|connection refused|failed to lookup address/i;

/** The code or message of the cause (`ECONNREFUSED`, `ENOTFOUND`, …): `fetch` itself says only "fetch failed". */
export function reasonOf(error: unknown): string {
  const cause = error instanceof Error && error.cause !== undefined ? error.cause : error;
  for (const each of [cause, error]) {
    if (typeof each === "object" && each !== null && "code" in each && typeof each.code === "string") return each.code;
  }
  return cause instanceof Error ? cause.message : String(cause);
}
