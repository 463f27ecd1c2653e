/** The error that the client throws: for requests that the service refused, and for responses that never came. */

import type { ErrorCode, ErrorDetail } from "./wire.ts";

/** Codes of the client itself: no connection, no response in time, a response that is not this service's envelope. */
export type ClientErrorCode = "CONNECTION_FAILED" | "TIMEOUT" | "UNEXPECTED_RESPONSE";

interface ErrorContext {
  /** HTTP status; 0 if no response came. */
  status?: number;
  requestId?: string | null;
  details?: ErrorDetail[];
  retryAfterSeconds?: number | null;
  cause?: unknown;
}

/** A request that was refused or got no response. `code` is one of the service's, or one of `ClientErrorCode`. */
export class TightbeamError extends Error {
  override readonly name = "TightbeamError";
  readonly code: ErrorCode | ClientErrorCode | (string & {});
  /** HTTP status; 0 if no response came. */
  readonly status: number;
  /** Id of the request, also in the service's log; null if no response came. */
  readonly requestId: string | null;
  /** Every bad field of the request; empty if the refusal is about no field. */
  readonly details: ErrorDetail[];
  /** Seconds of the `Retry-After` header; null without it. */
  readonly retryAfterSeconds: number | null;

  constructor(code: TightbeamError["code"], message: string, context: ErrorContext = {}) {
    super(message, "cause" in context ? { cause: context.cause } : {});
    this.code = code;
    this.status = context.status ?? 0;
    this.requestId = context.requestId ?? null;
    this.details = context.details ?? [];
    this.retryAfterSeconds = context.retryAfterSeconds ?? null;
  }
}
