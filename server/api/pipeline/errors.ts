/** The one place where an error becomes an answer. What is not an `ApiError` says nothing about the inside. */

import type { ErrorCode, ErrorDetail, Failure } from "../../../sdk/wire.ts";
import { ApiError } from "../../core/error.ts";
import { RowUnreadable } from "../../store/rows.ts";

/** Most `details` of one answer. */
export const DETAILS_MAX = 100;

/** An error as it goes out: status, headers of its own, and the envelope as text. */
export interface RenderedError {
  status: number;
  headers: Record<string, string>;
  body: string;
  /** Whether it is a fault of this service, to be logged with its cause. */
  isBug: boolean;
}

/** Renders whatever was thrown. Anything but an `ApiError` is a 500 `INTERNAL_ERROR`. */
export function renderError(error: unknown, requestId: string): RenderedError {
  if (error instanceof ApiError) return render(error, requestId, false);
  if (error instanceof RowUnreadable) {
    const { table, id } = error.row;
    const text = `The stored record ${id} (${table}) cannot be read. The operator of this service has to mend it.`;
    return render(new ApiError("INTERNAL_ERROR", text), requestId, true);
  }
  const message = "Something went wrong on our side. Try again; if it stays, tell us the requestId.";
  return render(new ApiError("INTERNAL_ERROR", message), requestId, true);
}

function render(error: ApiError, requestId: string, isBug: boolean): RenderedError {
  const { code, message } = error;
  const details = error.details?.slice(0, DETAILS_MAX).map(tidy);
  const failure: Failure = {
    success: false,
    error: { code, message: message.toWellFormed(), ...(details === undefined ? {} : { details }) },
    requestId,
  };
  return { status: error.status, headers: headersOf(error), body: JSON.stringify(failure), isBug };
}

/** Longest path of a detail: a field name comes from the caller and can be as long as the body. */
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
