/** Passes a request on to the process that runs its instance, and sends the response of that process. */

import type { IncomingMessage } from "node:http";
import { ApiError } from "../../core/error.ts";
import type { InstanceId } from "../../core/id.ts";
import { type NotRunningHere, PassedReplyLost } from "../../core/not-running-here.ts";
import { mayHaveBody } from "./body.ts";
import type { HeldBody } from "./body-budget.ts";
import { PASSED_COOKIE } from "./browser.ts";
import { placeOf } from "./client.ts";
import { goneSignal } from "./client-gone.ts";
import type { RequestHop } from "./edge.ts";
import { type Exchange, ownerOf } from "./exchange.ts";
import { OF_ONE_HOP, sendPassed } from "./response.ts";

/** Largest body that is read to be passed on: callbacks of peers, in bytes. */
const BODY_BYTES_MAX = 1_048_576;

/** Headers that the other process gets from its own connection. It does not compress: this process sends its response as it comes. */
const OF_CONNECTION: ReadonlySet<string> = new Set(["host", "content-length", "expect", "accept-encoding"]);

/**
 * Whether another process answered. False, and nothing is sent: the request was passed on already, or no other process runs the
 * instance. Nothing was done here before: the handler asks for the instance's provider first.
 */
export async function passOn(exchange: Exchange, { instanceId }: NotRunningHere): Promise<boolean> {
  const { edge, isPassedOn, key, state } = exchange;
  if (edge.hop === null || isPassedOn) return false;
  const held = state.bodyBudget.open(key === null ? `passed on: ${instanceId}` : ownerOf(key));
  try {
    const body = await bodyOf(exchange, held);
    return await passWith(exchange, edge.hop, instanceId, body);
  } finally {
    held.release();
  }
}

/** Whether the caller may repeat the request, whether or not it was carried out: it changes nothing, or has an idempotency key. */
function isRepeatable({ method = "GET", headers }: IncomingMessage, body: Uint8Array | null): boolean {
  if (method === "GET" || method === "HEAD") return true;
  return method === "POST" && (headers["idempotency-key"] !== undefined || hasKey(body));
}

/** Whether a body has an `idempotencyKey`. */
function hasKey(body: Uint8Array | null): boolean {
  if (body === null) return false;
  try {
    const given = JSON.parse(new TextDecoder().decode(body)) as { idempotencyKey?: unknown } | null;
    return typeof given?.idempotencyKey === "string";
  } catch {
    return false;
  }
}

function replyLost(): ApiError {
  const message =
    "The process that runs the instance ended the connection, and may have carried out the request. Repeat the request.";
  return new ApiError("SERVICE_UNAVAILABLE", message, { retryAfterSeconds: 1 });
}

/** The body of the request, which a public route may not have read yet. */
async function bodyOf(exchange: Exchange, held: HeldBody): Promise<Uint8Array | null> {
  const { body, key, request, response } = exchange;
  if (body !== null) await held.keepRead(body, request);
  if (body !== null || !mayHaveBody(request)) return body;
  const place = key === null ? placeOf(exchange, "callback") : null;
  return held.read(request, response, { bytesMax: BODY_BYTES_MAX, place });
}

async function passWith(
  exchange: Exchange,
  hop: RequestHop,
  instanceId: InstanceId,
  body: Uint8Array | null,
): Promise<boolean> {
  const { request, requestId, correlationId, session } = exchange;
  const headers: Record<string, string> = {};
  for (const [name, value] of Object.entries(request.headers)) {
    if (value === undefined || OF_ONE_HOP.has(name) || OF_CONNECTION.has(name)) continue;
    headers[name] = Array.isArray(value) ? value.join(", ") : value;
  }
  if (session !== null) headers.cookie = `${PASSED_COOKIE}=${session.token}`;
  headers["x-request-id"] = requestId;
  headers["x-correlation-id"] = correlationId;
  const { method = "GET", url: target = "/" } = request;
  const passed = { method, target, headers, body };
  const response = await hop.pass(instanceId, passed, goneSignal(exchange.response)).catch((error: unknown) => {
    throw error instanceof PassedReplyLost && isRepeatable(request, body) ? replyLost() : error;
  });
  if (response === null) return false;
  sendPassed(exchange, response);
  return true;
}
