/** Renders every error that a client sees. An error that is no `ApiError` is a 500 without any detail of the inside. */

import type { ErrorCode, ErrorDetail, Failure } from "../../../sdk/wire.ts";
import { ApiError, lostDatabase } from "../../core/error.ts";
import { RowUnreadable } from "../../store/rows.ts";
import { StoreUnavailable } from "../../store/store.ts";

/** Most `details` of one response. */
export const DETAILS_MAX = 100;

/** An error as it is sent: status, headers, and the envelope as text. */
export interface RenderedError {
  status: number;
  headers: Record<string, string>;
  body: string;
  code: ErrorCode;
  /** Whether the service is at fault: the error has to be logged with its cause. */
  isBug: boolean;
}

/** Renders a thrown value. Anything but an `ApiError` is a 500 `INTERNAL_ERROR`. */
export function renderError(error: unknown, requestId: string): RenderedError {
  if (error instanceof ApiError) return render(error, requestId, false);
  if (error instanceof StoreUnavailable) return render(lostDatabase(), requestId, false);
  if (error instanceof RowUnreadable) {
    const { table, id } = error.row;
    const text = `The stored record ${id} (${table}) cannot be read. The operator of this service has to repair it.`;
    return render(new ApiError("INTERNAL_ERROR", text), requestId, true);
  }
  const message = "Something went wrong on our side. Try again; if it happens again, send us the requestId.";
  return render(new ApiError("INTERNAL_ERROR", message), requestId, true);
}

function render(error: ApiError, requestId: string, isBug: boolean): RenderedError {
  const { status, code } = error;
  return { status, code, headers: headersOf(error), body: renderFailure(error, requestId), isBug };
}

/** The envelope of a failure, as text. */
export function renderFailure(error: Pick<ApiError, "code" | "message" | "details">, requestId: string): string {
  const { code, message } = error;
  const details = error.details?.slice(0, DETAILS_MAX).map(tidy);
  const failure: Failure = {
    success: false,
    error: { code, message: message.toWellFormed(), ...(details === undefined ? {} : { details }) },
    requestId,
  };
  return JSON.stringify(failure);
}

/** Longest path of a detail, in characters: the caller chooses field names, and one can be as long as the body. */
const PATH_LENGTH_MAX = 200;

function tidy({ path, message }: ErrorDetail): ErrorDetail {
  const shown = path.length > PATH_LENGTH_MAX ? `${path.slice(0, PATH_LENGTH_MAX)}…` : path;
  return { path: shown.toWellFormed(), message: message.toWellFormed() };
}

const NEEDS_RETRY_AFTER: ReadonlySet<ErrorCode> = new Set(["RATE_LIMITED", "SERVICE_UNAVAILABLE"]);

function headersOf(error: ApiError): Record<string, string> {
  if (error.code === "UNAUTHORIZED") return { "www-authenticate": "Bearer" };
  if (error.retryAfterSeconds === undefined && !NEEDS_RETRY_AFTER.has(error.code)) return {};
  return { "retry-after": String(Math.max(1, Math.ceil(error.retryAfterSeconds ?? 1))) };
}
