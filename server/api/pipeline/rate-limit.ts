/** Counts a request against the rate limit of its key (429). */

import type { RateLimit } from "../../../sdk/wire.ts";
import { ApiError } from "../../core/error.ts";
import type { ApiKey } from "../../core/key.ts";
import { retryAfterSeconds, take } from "../../core/rate-limit.ts";
import type { Exchange } from "./exchange.ts";

/** Counts the request and keeps the result for the response's headers. Throws 429 beyond the limit. */
export function countRequest(exchange: Exchange, key: ApiKey): void {
  const { edge, state } = exchange;
  const limit = key.rateLimit ?? edge.rateLimit;
  if (limit === null) return;
  const now = edge.clock.real();
  exchange.rate = take(state.windows, key.id, limit, now);
  if (!exchange.rate.allowed) throw rateLimited(limit, retryAfterSeconds(exchange.rate, now));
}

function rateLimited({ limit, windowSeconds }: RateLimit, seconds: number): ApiError {
  const message = `The rate limit of ${limit} requests per ${windowSeconds} s is used up. Try again in ${seconds} s.`;
  return new ApiError("RATE_LIMITED", message, { retryAfterSeconds: seconds });
}
