/** Parses responses of the service: the envelope, and the rate limit in the headers. */

import { TightbeamError } from "./errors.ts";
import type { ErrorDetail } from "./wire.ts";

/** The key's rate limit after a request. */
export interface RateLimitStatus {
  /** Requests in a window. */
  limit: number;
  /** Requests that are left. */
  remaining: number;
  /** When the window ends. */
  resetAt: Date;
}

/** The data of a response, with the response itself. */
export interface WithResponse<Data> {
  data: Data;
  /** The response of `fetch`; its body has been read. */
  response: Response;
  /** Id of the request, also in the service's log. */
  requestId: string | null;
  /** Null if the response has no such headers. */
  rateLimit: RateLimitStatus | null;
}

/** The promise of a response's data; `withResponse()` gives the request id and the rate limit too. */
export interface ApiPromise<Data> extends Promise<Data> {
  withResponse(): Promise<WithResponse<Data>>;
}

/** Makes the promise of the data from the promise of the response. */
export function apiPromise<Data>(responded: Promise<WithResponse<Data>>): ApiPromise<Data> {
  const data = responded.then((response) => response.data);
  return Object.assign(data, {
    withResponse() {
      // The caller awaits the other promise: a failure is thrown there, and is not unhandled here.
      data.catch(() => {});
      return responded;
    },
  });
}

/** Parses the envelope. Returns a refusal, and a response that is not from this service, as an error value. */
export function open(response: Response, text: string): WithResponse<unknown> | TightbeamError {
  const envelope = parseJson(text);
  const requestId = isRecord(envelope) && typeof envelope.requestId === "string" ? envelope.requestId : null;
  if (response.ok && isRecord(envelope) && envelope.success === true && "data" in envelope) {
    return { data: envelope.data, response, requestId, rateLimit: rateLimitOf(response.headers) };
  }
  const retryAfterSeconds = parseRetryAfter(response.headers.get("Retry-After"));
  const context = { status: response.status, requestId, retryAfterSeconds };
  const error = isRecord(envelope) ? envelope.error : undefined;
  if (isRecord(error) && typeof error.code === "string" && typeof error.message === "string") {
    const details = Array.isArray(error.details) ? error.details.filter(isDetail) : [];
    return new TightbeamError(error.code, error.message, { ...context, details });
  }
  const what = `${response.status} ${text.slice(0, 200)}`.trim();
  return new TightbeamError("UNEXPECTED_RESPONSE", `The response is not from this service: ${what}`, context);
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

/** Whole seconds, as many as a timer can wait; null without the header, and for a date, which the service never sends. */
function parseRetryAfter(value: string | null): number | null {
  return value !== null && /^\d{1,6}$/.test(value) ? Number(value) : null;
}

function isDetail(value: unknown): value is ErrorDetail {
  return isRecord(value) && typeof value.path === "string" && typeof value.message === "string";
}

function isRecord(value: unknown): value is Record<string, unknown> {
  return typeof value === "object" && value !== null;
}
