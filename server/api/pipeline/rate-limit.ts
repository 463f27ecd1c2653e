/** Counts a request against the rate limit of its key, or of the sessions of its key (429). */

import type { RateLimit } from "../../../sdk/wire.ts";
import { ApiError } from "../../core/error.ts";
import type { ApiKey } from "../../core/key.ts";
import {
  type RateBucket,
  type RateLimitResult,
  retryAfterSeconds,
  SESSIONS_RATE_LIMIT,
  take,
} from "../../core/rate-limit.ts";
import type { Exchange } from "./exchange.ts";

/** Counts the request and keeps the result for the response's headers. Throws 429 beyond the limit. */
export function countRequest(exchange: Exchange, key: ApiKey): void | Promise<void> {
  const { edge, state } = exchange;
  const isSession = exchange.session !== null;
  const limit = isSession ? SESSIONS_RATE_LIMIT : (key.rateLimit ?? edge.rateLimit);
  if (limit === null) return;
  const bucket: RateBucket = isSession ? `sessions of ${key.id}` : key.id;
  const counted =
    edge.countShared === null ? take(state.windows, bucket, limit, edge.clock.real()) : edge.countShared(bucket, limit);
  if (counted instanceof Promise) return counted.then((result) => checkRate(exchange, limit, result));
  checkRate(exchange, limit, counted);
}

function checkRate(exchange: Exchange, limit: RateLimit, result: RateLimitResult): void {
  exchange.rate = result;
  if (!result.allowed) throw rateLimited(limit, retryAfterSeconds(result, exchange.edge.clock.real()));
}

function rateLimited({ limit, windowSeconds }: RateLimit, seconds: number): ApiError {
  const message = `The rate limit of ${limit} requests per ${windowSeconds} s is used up. Try again in ${seconds} s.`;
  return new ApiError("RATE_LIMITED", message, { retryAfterSeconds: seconds });
}
