/** Cursors of lists: opaque text that holds where the next page begins. */

import type { ErrorDetail } from "../../sdk/wire.ts";
import { ApiError } from "../core/error.ts";

/** An opaque cursor that holds `value`, which must be JSON. */
export function encodeCursor(value: unknown): string {
  return Buffer.from(JSON.stringify(value)).toString("base64url");
}

/** The value of a cursor. Throws 400 for a cursor that no list has issued. */
export function decodeCursor<Value>(cursor: string, is: (value: unknown) => value is Value): Value {
  const value = readCursor(cursor);
  if (is(value)) return value;
  const detail: ErrorDetail = { path: "cursor", message: "must be the nextCursor of an earlier answer of this list" };
  throw new ApiError("VALIDATION_ERROR", `cursor ${detail.message}`, { details: [detail] });
}

/** The value of a cursor of any list; undefined for text that is no cursor. */
export function readCursor(cursor: string): unknown {
  const bytes = Buffer.from(cursor, "base64url");
  // The decoder skips other characters; a cursor is exactly the text that the encoder would write.
  if (bytes.toString("base64url") !== cursor) return undefined;
  try {
    return JSON.parse(bytes.toString());
  } catch {
    return undefined;
  }
}
