/** Reads the idempotency key of a request from its header or its body (400). */

import type { IncomingMessage } from "node:http";
import { invalidField } from "../../core/error.ts";

/** Printable ASCII, 1 to 255 characters. */
const IDEMPOTENCY_KEY = /^[\x20-\x7e]{1,255}$/;

/** Returns the key from the header or the body, and removes it from the body, because it is no part of the request. */
export function takeIdempotencyKey(request: IncomingMessage, body: unknown): string | null {
  const inHeader = request.headers["idempotency-key"];
  const given = (body ?? {}) as { idempotencyKey?: unknown };
  const fromBody = typeof given.idempotencyKey === "string" ? given.idempotencyKey : null;
  delete given.idempotencyKey;
  if (typeof inHeader !== "string") return fromBody;
  if (!IDEMPOTENCY_KEY.test(inHeader)) {
    throw invalidField("Idempotency-Key", "must have 1 to 255 printable ASCII characters");
  }
  if (fromBody !== null && fromBody !== inHeader) {
    throw invalidField("idempotencyKey", "differs from the header Idempotency-Key; give one, or both alike");
  }
  return inHeader;
}
