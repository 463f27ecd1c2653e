/** Makes the entry of a request in the request log, once its response was sent: masked, and with at most 4 KiB of each body. */

import type { ErrorCode } from "../../../sdk/wire.ts";
import type { LoggedRequest } from "../../core/logged-request.ts";
import { type MaskedBody, maskBody, maskPath, SCANNED_MAX } from "../../core/mask.ts";
import type { Exchange } from "./exchange.ts";

/** How a request ended, for the log. `body`: the text of its response; null for a stream, or if nobody got it. */
interface RequestEnd {
  status: number;
  errorCode: ErrorCode | null;
  body: string | null;
}

/**
 * Adds a request to the log: any under `/v1` with an accepted key, except reads of the log itself and those of a browser's session,
 * which shows what others ask.
 */
export function logRequest(exchange: Exchange, end: RequestEnd): void {
  const { edge, key, compiled, session, request } = exchange;
  if (edge.requestLog === null || key === null || compiled?.isLogged === false) return;
  if (session !== null && (request.method === "GET" || request.method === "HEAD")) return;
  edge.requestLog.add(entryOf(exchange, end, edge.requestLog.keepsBodies));
}

function entryOf(exchange: Exchange, { status, errorCode, body }: RequestEnd, keepsBodies: boolean): LoggedRequest {
  const { edge, key, request, requestId, correlationId, compiled, startedAt, createdAt } = exchange;
  if (key === null) throw new Error("a request without a key is not logged");
  const durationMs = performance.now() - startedAt;
  const asked = keepsBodies ? maskedBytes(exchange.body) : null;
  const answered = keepsBodies ? maskedText(body) : null;
  return {
    id: requestId,
    customerId: key.customerId,
    keyId: key.id,
    method: request.method ?? "",
    path: maskPath(request.url ?? ""),
    route: compiled?.route.path ?? null,
    status,
    durationUs: Math.round(durationMs * 1_000),
    correlationId,
    errorCode,
    createdAt,
    loggedAt: edge.clock.real(),
    request: asked?.text ?? null,
    response: answered?.text ?? null,
    requestCut: asked?.isCut ?? false,
    responseCut: answered?.isCut ?? false,
  };
}

function maskedBytes(bytes: Uint8Array | null): MaskedBody | null {
  if (bytes === null || bytes.length === 0) return null;
  const scanned = Buffer.from(bytes.buffer, bytes.byteOffset, Math.min(bytes.length, SCANNED_MAX));
  return maskBody(scanned.toString(), bytes.length <= SCANNED_MAX);
}

function maskedText(text: string | null): MaskedBody | null {
  if (text === null) return null;
  if (text.length <= SCANNED_MAX) return maskBody(text, true);
  // A copy, since a slice would keep the whole text in memory until it is written.
  return maskBody(Buffer.from(text.slice(0, SCANNED_MAX)).toString(), false);
}
