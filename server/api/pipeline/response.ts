/** Writes the one response of a request, logs it and counts it. Every response of the pipeline goes out here. */

import type { ErrorCode } from "../../../sdk/wire.ts";
import type { ApiResponse } from "../route.ts";
import { mayHaveBody } from "./body.ts";
import { ClientGone } from "./client-gone.ts";
import { noteEarlyResponse } from "./connection.ts";
import type { PassedResponse } from "./edge.ts";
import { compress, encodingFor, isCompressible } from "./encoding.ts";
import { renderError } from "./errors.ts";
import type { Exchange } from "./exchange.ts";
import { sealPage } from "./list-cursor.ts";
import { logRequest } from "./request-entry.ts";
import type { CompiledRoute } from "./routing.ts";

const JSON_TYPE = "application/json; charset=utf-8";
const NO_TYPE = "text/plain; charset=utf-8";

/** The status in the log for a client that has gone, as nginx has it. */
const CLIENT_GONE_STATUS = 499;

/** Sends the response of a handler. */
export function sendResponse(exchange: Exchange, reply: ApiResponse): void {
  const { status = 200 } = reply;
  if ("stream" in reply) sendStream(exchange, status, reply);
  else if ("body" in reply) send(exchange, status, { "Content-Type": reply.contentType ?? NO_TYPE }, reply.body);
  else {
    const more = "data" in reply ? reply.headers : undefined;
    const body = `{"success":true,"data":${dataOf(exchange, reply)},"requestId":"${exchange.requestId}"}`;
    send(exchange, status, { "Content-Type": JSON_TYPE, ...more }, body);
  }
}

type Enveloped = Extract<ApiResponse, { data: unknown } | { rawData: string } | { rawList: object }>;

/** The data of a response as JSON text. */
function dataOf({ list }: Exchange, reply: Enveloped): string {
  if ("rawData" in reply) return reply.rawData;
  const seal = (data: unknown) => JSON.stringify(list === null ? data : sealPage(list, data)) ?? "null";
  if ("data" in reply) return seal(reply.data);
  const { rawList, pagination } = reply;
  return `{"${rawList.name}":[${rawList.items.join(",")}],${seal({ pagination }).slice(1)}`;
}

type Streamed = Extract<ApiResponse, { stream: unknown }>;

function sendStream(exchange: Exchange, status: number, { headers, stream }: Streamed): void {
  const { request, response } = exchange;
  if (response.destroyed) {
    complete(exchange, CLIENT_GONE_STATUS);
    return;
  }
  response.writeHead(status, [...commonHeaders(exchange), ...Object.entries(headers).flat()]);
  if (request.method === "HEAD") response.end();
  else stream(response);
  count(exchange, status);
  if (exchange.edge.requestLog?.isOn === true)
    response.once("close", () => logRequest(exchange, { status, errorCode: null, body: null }));
}

/** Sends what was thrown on the way to the response. */
export function sendError(exchange: Exchange, error: unknown): void {
  if (error instanceof ClientGone) {
    complete(exchange, CLIENT_GONE_STATUS);
    return;
  }
  const { status, headers, body, code, isBug } = renderError(error, exchange.requestId);
  if (isBug) {
    const { requestId, correlationId, compiled, edge } = exchange;
    edge.log.error("request failed", { requestId, correlationId, ...named(compiled), error });
  }
  const allow = exchange.allow === null ? {} : { Allow: exchange.allow };
  send(exchange, status, { "Content-Type": JSON_TYPE, ...headers, ...allow }, body, code);
}

/** Sends the response of another process, with the headers of this one where both have a header. */
export function sendPassed(exchange: Exchange, { status, headers, body }: PassedResponse): void {
  const { response } = exchange;
  body.on("error", () => response.destroy());
  response.on("close", () => body.destroy());
  if (response.destroyed || response.headersSent) {
    body.destroy();
    count(exchange, CLIENT_GONE_STATUS);
    return;
  }
  const lines = commonHeaders(exchange);
  const own = new Set(lines.filter((_, index) => index % 2 === 0).map((name) => name.toLowerCase()));
  for (const name in headers) if (!own.has(name) && !OF_ONE_HOP.has(name)) lines.push(name, headers[name] ?? "");
  response.writeHead(status, lines);
  body.pipe(response);
  // The other process logs it, with its bodies.
  count(exchange, status);
}

/** Headers that concern one connection (RFC 9110, 7.6.1). */
export const OF_ONE_HOP: ReadonlySet<string> = new Set([
  "connection",
  "keep-alive",
  "proxy-connection",
  "te",
  "trailer",
  "transfer-encoding",
  "upgrade",
]);

/** Sends a response, compressed if its client asks for that. */
function send(
  exchange: Exchange,
  status: number,
  headers: Record<string, string>,
  body: string,
  code: ErrorCode | null = null,
): void {
  const answer = { status, headers, body, code };
  if (!isPrivate(exchange) || !isCompressible(body)) {
    write(exchange, answer, body);
    return;
  }
  headers.Vary = "Accept-Encoding";
  const encoding = encodingFor(exchange.request.headers["accept-encoding"]);
  if (encoding === null) {
    write(exchange, answer, body);
    return;
  }
  const compressed = { ...answer, headers: { ...headers, "Content-Encoding": encoding } };
  compress(body, encoding).then(
    (bytes) => write(exchange, compressed, bytes),
    () => write(exchange, answer, body),
  );
}

/** Whether a response is for the holder of a key or a session alone. */
function isPrivate({ compiled, request }: Exchange): boolean {
  return compiled?.route.scope !== "public" || request.headers.authorization !== undefined;
}

interface Answer {
  status: number;
  headers: Record<string, string>;
  /** Uncompressed. */
  body: string;
  code: ErrorCode | null;
}

/** Writes the bytes of an answer. */
function write(exchange: Exchange, { status, headers, body, code }: Answer, bytes: string | Buffer): void {
  const { request, response } = exchange;
  if (response.destroyed || response.headersSent) {
    complete(exchange, CLIENT_GONE_STATUS);
    return;
  }
  const lines = commonHeaders(exchange);
  lines.push("Content-Length", String(Buffer.byteLength(bytes)));
  // Caches know that a response to a key is private (RFC 9111, 3.5), but not that one to a cookie is, and some keep both on disk.
  if (isPrivate(exchange) && headers["Cache-Control"] === undefined) lines.push("Cache-Control", "no-store");
  for (const name in headers) lines.push(name, headers[name] ?? "");
  if (mayHaveBody(request) && !request.complete) {
    // Reads and drops the rest within the request's time: closing now could cost the client the response.
    noteEarlyResponse(request);
    request.resume();
  }
  response.writeHead(status, lines);
  response.end(bytes);
  complete(exchange, status, code, body);
}

function commonHeaders({ edge, requestId, correlationId, rate }: Exchange): string[] {
  const lines = ["X-Request-Id", requestId, "X-Correlation-Id", correlationId];
  if (rate !== null) {
    lines.push("X-RateLimit-Limit", String(rate.limit), "X-RateLimit-Remaining", String(rate.remaining));
    lines.push("X-RateLimit-Reset", String(Math.ceil(rate.resetAt / 1000)));
  }
  // Checked again, because a stop may have begun: a connection that is kept open would delay it.
  if (edge.isClosing()) lines.push("Connection", "close");
  return lines;
}

/** Counts a request that has ended, and adds it to the request log. */
function complete(
  exchange: Exchange,
  status: number,
  errorCode: ErrorCode | null = null,
  body: string | null = null,
): void {
  count(exchange, status);
  if (exchange.edge.requestLog?.isOn === true) logRequest(exchange, { status, errorCode, body });
}

function count(exchange: Exchange, status: number): void {
  const { edge, request, requestId, correlationId, startedAt, compiled, key, rate, session } = exchange;
  const method = request.method ?? "";
  const route = compiled?.route.path ?? null;
  const durationMs = Math.round((performance.now() - startedAt) * 1000) / 1000;
  const keyId = key?.id ?? null;
  const customerId = key?.customerId ?? null;
  const limited = rate?.allowed === false;
  // The process that passed the request on counts it for its key.
  const counted = exchange.isPassedOn ? null : keyId;
  edge.completed({ method, route, status, durationMs, keyId: counted, customerId, limited });
  edge.log.info("request", {
    requestId,
    correlationId,
    method,
    ...named(compiled),
    status,
    durationMs,
    keyId,
    customerId,
    sessionId: session?.session.id ?? null,
  });
}

function named(compiled: CompiledRoute | null): { route?: string } {
  return compiled === null ? {} : { route: compiled.route.path };
}
