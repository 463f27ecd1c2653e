/** Writes the one response of a request, logs it and counts it. Every response of the pipeline goes out here. */

import type { ApiResponse } from "../route.ts";
import { ClientGone, mayHaveBody } from "./body.ts";
import { noteEarlyResponse } from "./connection.ts";
import { renderError } from "./errors.ts";
import type { Exchange } from "./exchange.ts";
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
    const data = "rawData" in reply ? reply.rawData : (JSON.stringify(reply.data) ?? "null");
    const body = `{"success":true,"data":${data},"requestId":"${exchange.requestId}"}`;
    send(exchange, status, { "Content-Type": JSON_TYPE }, body);
  }
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
  complete(exchange, status);
}

/** Sends what was thrown on the way to the response. */
export function sendError(exchange: Exchange, error: unknown): void {
  if (error instanceof ClientGone) {
    complete(exchange, CLIENT_GONE_STATUS);
    return;
  }
  const { status, headers, body, isBug } = renderError(error, exchange.requestId);
  if (isBug) {
    const { requestId, correlationId, compiled, edge } = exchange;
    edge.log.error("request failed", { requestId, correlationId, ...named(compiled), error });
  }
  const allow = exchange.allow === null ? {} : { Allow: exchange.allow };
  send(exchange, status, { "Content-Type": JSON_TYPE, ...headers, ...allow }, body);
}

function send(exchange: Exchange, status: number, headers: Record<string, string>, body: string): void {
  const { request, response } = exchange;
  if (response.destroyed || response.headersSent) {
    complete(exchange, CLIENT_GONE_STATUS);
    return;
  }
  const lines = commonHeaders(exchange);
  lines.push("Content-Length", String(Buffer.byteLength(body)));
  for (const name in headers) lines.push(name, headers[name] ?? "");
  if (mayHaveBody(request) && !request.complete) {
    // Reads and drops the rest within the request's time: closing now could cost the client the response.
    noteEarlyResponse(request);
    request.resume();
  }
  response.writeHead(status, lines);
  response.end(body);
  complete(exchange, status);
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

function complete(exchange: Exchange, status: number): void {
  const { edge, request, requestId, correlationId, startedAt, compiled, key, rate } = exchange;
  const method = request.method ?? "";
  const route = compiled?.route.path ?? null;
  const durationMs = Math.round((performance.now() - startedAt) * 1000) / 1000;
  const keyId = key?.id ?? null;
  const customerId = key?.customerId ?? null;
  edge.completed({ method, route, status, durationMs, keyId, customerId, limited: rate?.allowed === false });
  edge.log.info("request", {
    requestId,
    correlationId,
    method,
    ...named(compiled),
    status,
    durationMs,
    keyId,
    customerId,
  });
}

function named(compiled: CompiledRoute | null): { route?: string } {
  return compiled === null ? {} : { route: compiled.route.path };
}
