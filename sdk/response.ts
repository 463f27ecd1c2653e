/** Answers of the service: the envelope opened, and what its headers say. */

import { TightbeamError } from "./errors.ts";
import type { ErrorDetail } from "./wire.ts";

/** How much of the key's rate limit is left after a request. */
export interface RateLimitStatus {
  /** Requests in a window. */
  limit: number;
  /** How many of them are left. */
  remaining: number;
  /** When the window ends. */
  resetAt: Date;
}

/** The data of an answer with what came beside it. */
export interface WithResponse<Data> {
  data: Data;
  /** The answer as `fetch` gave it; its body has been read. */
  response: Response;
  /** Names the request in the service's log. */
  requestId: string | null;
  /** Null when the service does not say. */
  rateLimit: RateLimitStatus | null;
}

/** The promise of an answer's data; `withResponse()` answers the request id and the rate limit beside it. */
export interface ApiPromise<Data> extends Promise<Data> {
  withResponse(): Promise<WithResponse<Data>>;
}

/** A promise of the data alone that also knows the whole answer. */
export function apiPromise<Data>(answered: Promise<WithResponse<Data>>): ApiPromise<Data> {
  const data = answered.then((answer) => answer.data);
  return Object.assign(data, {
    withResponse() {
      // The caller now waits for the other promise: a failure is thrown there, and must not count as unhandled here.
      data.catch(() => {});
      return answered;
    },
  });
}

/** Opens the envelope. A refusal, or an answer that is none of this service, is a value here. */
export function open(response: Response, text: string): WithResponse<unknown> | TightbeamError {
  const envelope = parseJson(text);
  const requestId = isRecord(envelope) && typeof envelope.requestId === "string" ? envelope.requestId : null;
  if (response.ok && isRecord(envelope) && envelope.success === true && "data" in envelope) {
    return { data: envelope.data, response, requestId, rateLimit: rateLimitOf(response.headers) };
  }
  const retryAfterSeconds = parseRetryAfter(response.headers.get("Retry-After"));
  const answer = { status: response.status, requestId, retryAfterSeconds };
  const error = isRecord(envelope) ? envelope.error : undefined;
  if (isRecord(error) && typeof error.code === "string" && typeof error.message === "string") {
    const details = Array.isArray(error.details) ? error.details.filter(isDetail) : [];
    return new TightbeamError(error.code, error.message, { ...answer, details });
  }
  const what = `${response.status} ${text.slice(0, 200)}`.trim();
  return new TightbeamError("UNEXPECTED_RESPONSE", `The answer is not one of this service: ${what}`, answer);
}

function rateLimitOf(headers: Headers): RateLimitStatus | null {
  const [limit, remaining, reset] = ["Limit", "Remaining", "Reset"].map((name) => headers.get(`X-RateLimit-${name}`));
  if (!limit || !remaining || !reset) return null;
  return { limit: Number(limit), remaining: Number(remaining), resetAt: new Date(Number(reset) * 1000) };
}

function parseJson(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}

/** Whole seconds, as many as a timer can wait; null for none, and for the date form, which this service does not use. */
function parseRetryAfter(value: string | null): number | null {
  return value !== null && /^\d{1,6}$/.test(value) ? Number(value) : null;
}

function isDetail(value: unknown): value is ErrorDetail {
  return isRecord(value) && typeof value.path === "string" && typeof value.message === "string";
}

function isRecord(value: unknown): value is Record<string, unknown> {
  return typeof value === "object" && value !== null;
}
