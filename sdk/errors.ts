/** What a caller of the client is thrown: refusals of the service, and answers that never came. Nothing else. */

import type { ErrorCode, ErrorDetail } from "./wire.ts";

/** Codes that this client gives where the service gave none: no connection, no answer in time, not our envelope. */
export type ClientErrorCode = "CONNECTION_FAILED" | "TIMEOUT" | "UNEXPECTED_RESPONSE";

interface Circumstances {
  /** HTTP status; 0 when no answer came. */
  status?: number;
  requestId?: string | null;
  details?: ErrorDetail[];
  retryAfterSeconds?: number | null;
  cause?: unknown;
}

/** A request that was refused or got no answer. `code` is one of the API's, or one of `ClientErrorCode`. */
export class TightbeamError extends Error {
  override readonly name = "TightbeamError";
  readonly code: ErrorCode | ClientErrorCode | (string & {});
  /** HTTP status; 0 when no answer came. */
  readonly status: number;
  /** Names the request in the service's log; null when no answer came. */
  readonly requestId: string | null;
  /** Every bad field of the request; empty where the refusal is about no field. */
  readonly details: ErrorDetail[];
  /** What `Retry-After` asked for, in seconds; null when it did not. */
  readonly retryAfterSeconds: number | null;

  constructor(code: TightbeamError["code"], message: string, circumstances: Circumstances = {}) {
    super(message, "cause" in circumstances ? { cause: circumstances.cause } : {});
    this.code = code;
    this.status = circumstances.status ?? 0;
    this.requestId = circumstances.requestId ?? null;
    this.details = circumstances.details ?? [];
    this.retryAfterSeconds = circumstances.retryAfterSeconds ?? null;
  }
}
