/** Refusals of requests. Any other error that is thrown is a bug. */

import { ERROR_STATUS, type ErrorCode, type ErrorDetail } from "../../sdk/wire.ts";

/** A refusal with a code of the API (docs/errors.md). `message` says what happened, with the value, and what to do. */
export class ApiError extends Error {
  readonly code: ErrorCode;
  readonly details: ErrorDetail[] | undefined;
  /** Seconds for `Retry-After` (429, 503). */
  readonly retryAfterSeconds: number | undefined;

  constructor(code: ErrorCode, message: string, more: { details?: ErrorDetail[]; retryAfterSeconds?: number } = {}) {
    super(message);
    this.code = code;
    this.details = more.details;
    this.retryAfterSeconds = more.retryAfterSeconds;
  }

  /** HTTP status of the code. */
  get status(): number {
    return ERROR_STATUS[this.code];
  }
}

const CLOSING_RETRY_AFTER_SECONDS = 5;
const DATABASE_RETRY_AFTER_SECONDS = 1;

/** The 503 while the service starts or stops. */
export function closing(): ApiError {
  const retryAfterSeconds = CLOSING_RETRY_AFTER_SECONDS;
  const message = `The service is starting or shutting down. Try again in ${retryAfterSeconds} s.`;
  return new ApiError("SERVICE_UNAVAILABLE", message, { retryAfterSeconds });
}

/** The 503 while too many requests wait. */
export function overloaded(retryAfterSeconds: number): ApiError {
  const message = `The service is overloaded: too many requests wait already. Try again in ${retryAfterSeconds} s.`;
  return new ApiError("SERVICE_UNAVAILABLE", message, { retryAfterSeconds });
}

/** The 503 while the database cannot be reached, before anything is done. */
export function withoutDatabase(): ApiError {
  const retryAfterSeconds = DATABASE_RETRY_AFTER_SECONDS;
  const message = `The database cannot be reached; nothing was done. Try again in ${retryAfterSeconds} s.`;
  return new ApiError("SERVICE_UNAVAILABLE", message, { retryAfterSeconds });
}

/** The 503 when the database went away during a request. */
export function lostDatabase(): ApiError {
  const message =
    "The database went away during this request, which may have been done. Try again with the same Idempotency-Key.";
  return new ApiError("SERVICE_UNAVAILABLE", message, { retryAfterSeconds: DATABASE_RETRY_AFTER_SECONDS });
}

/** A refusal about one field. `message` has neither the name of the field nor a full stop. */
export function refusedField(code: ErrorCode, path: string, message: string): ApiError {
  return new ApiError(code, `${path}: ${message}.`, { details: [{ path, message }] });
}

/** A 400 `VALIDATION_ERROR` about one field. */
export function invalidField(path: string, message: string): ApiError {
  return new ApiError("VALIDATION_ERROR", `${path}: ${message}`, { details: [{ path, message }] });
}

/** The 400 that names all of `details`, of which there is at least one. The first is in the message too. */
export function invalidFields(found: readonly ErrorDetail[]): ApiError {
  const [first = { path: "body", message: "is not as expected" }] = found;
  const more = found.length > 1 ? ` (and ${found.length - 1} more, see details)` : "";
  const message = `${quotePath(first.path)}: ${first.message}${more}`;
  return new ApiError("VALIDATION_ERROR", message, { details: [...found] });
}

function quotePath(path: string): string {
  return path.length > 80 ? `${path.slice(0, 80)}…` : path;
}
