/**
 * Checks the head of a parsed request (400, 414, 431) and reads its ids. The first stage: nothing else is checked
 * before.
 */

import type { IncomingMessage } from "node:http";
import { ApiError } from "../../core/error.ts";
import { type NewId, newCorrelationId, type Random } from "../../core/id.ts";

/** Longest request target, in characters. */
export const URL_LENGTH_MAX = 8_192;

/** Most bytes of request headers. */
const HEADER_BYTES_MAX = 16_384;

/** Most header fields of a request. */
const HEADER_COUNT_MAX = 500;

/**
 * Throws for a parsed head that is not acceptable: too long a target, too large headers, not exactly one Host, or two
 * Authorization headers. Node would keep the first of the two, and a proxy may have checked the other.
 */
export function checkHead(request: IncomingMessage): void {
  const { url = "", rawHeaders } = request;
  if (url.length > URL_LENGTH_MAX) throw uriTooLong();
  let bytes = 0;
  let hosts = 0;
  let authorizations = 0;
  for (let index = 0; index < rawHeaders.length; index += 2) {
    const name = rawHeaders[index] ?? "";
    // Four more for the colon, the space and the line end.
    bytes += name.length + (rawHeaders[index + 1] ?? "").length + 4;
    if (name.length === 4 && name.toLowerCase() === "host") hosts += 1;
    if (name.length === 13 && name.toLowerCase() === "authorization") authorizations += 1;
  }
  if (bytes > HEADER_BYTES_MAX || rawHeaders.length > 2 * HEADER_COUNT_MAX) throw headersTooLarge();
  if (authorizations > 1) throw notOnce("Authorization", "The request has more than one Authorization header.");
  if (hosts === 1 || (hosts === 0 && request.httpVersion === "1.0")) return;
  throw notOnce("Host", `The request has ${hosts === 0 ? "no" : "more than one"} Host header.`);
}

/** The 414 for a target beyond the limit. */
export function uriTooLong(): ApiError {
  return new ApiError("URI_TOO_LONG", `The address of the request is longer than ${URL_LENGTH_MAX} characters.`);
}

/** The 431 for headers beyond the limits. */
export function headersTooLarge(): ApiError {
  const message = `The headers of the request are larger than ${HEADER_BYTES_MAX} bytes or more than ${HEADER_COUNT_MAX}.`;
  return new ApiError("HEADERS_TOO_LARGE", message);
}

function notOnce(path: string, message: string): ApiError {
  return new ApiError("VALIDATION_ERROR", message, { details: [{ path, message: "must be given once" }] });
}

const REQUEST_ID = /^[A-Za-z0-9._:-]{1,128}$/;
const CORRELATION_ID = /^cor_[0-9a-f]{32}$/i;

/** The caller's `X-Request-Id` if it is 1 to 128 of `[A-Za-z0-9._:-]`, else a new id. */
export function requestIdOf(request: IncomingMessage, newId: NewId): string {
  const given = request.headers["x-request-id"];
  return typeof given === "string" && REQUEST_ID.test(given) ? given : newId("req");
}

/** The caller's `X-Correlation-Id` if it is `cor_` and 32 hex digits, else a new id. */
export function correlationIdOf(request: IncomingMessage, random: Random): string {
  const given = request.headers["x-correlation-id"];
  if (typeof given === "string" && CORRELATION_ID.test(given)) return given;
  return newCorrelationId(random);
}
