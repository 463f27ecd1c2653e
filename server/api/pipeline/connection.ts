/** The HTTP server below requests: refuses bytes that are no HTTP, slow clients and `CONNECT` (400, 405, 408, 414, 431). */

import { createServer, type IncomingMessage, type Server, type ServerResponse, STATUS_CODES } from "node:http";
import type { Duplex } from "node:stream";
import type { Clock } from "../../clock.ts";
import { ApiError } from "../../core/error.ts";
import type { NewId } from "../../core/id.ts";
import { METHODS } from "../route.ts";
import { awaitContinue } from "./body.ts";
import { limitConnections } from "./connection-limit.ts";
import { renderError } from "./errors.ts";
import { headersTooLarge, URL_LENGTH_MAX, uriTooLong } from "./head.ts";

/** How long a client may take, in milliseconds. The server checks every `checkMs`. */
export interface Timeouts {
  headersMs: number;
  requestMs: number;
  checkMs: number;
}

/** Headers in 5 s, the whole request in 10 s, checked every second. */
export const TIMEOUTS: Readonly<Timeouts> = { headersMs: 5_000, requestMs: 10_000, checkMs: 1_000 };

/** Longer than the 60 s that load balancers keep idle connections, so that they never send on a closed connection. */
export const KEEP_ALIVE_MS = 72_000;

/**
 * Most bytes that the parser accepts as a head. Above the sum of the limits of target and headers, so that the parsed head
 * shows which of them is exceeded; below one read (64 KiB), so that a refused packet mostly shows it, too.
 */
const HEAD_BYTES_MAX = 32_768;

/** How long the server reads on after a refusal, in milliseconds, so that the response reaches the client before the reset. */
const LINGER_MS = 1_000;

/** Settings of the HTTP server. */
export interface ConnectionOptions {
  clock: Clock;
  newId: NewId;
  timeouts: Timeouts;
  /** Most connections at once; null: no limit. */
  connectionsMax: number | null;
  /** Called for each connection that is refused because too many are open. */
  refused(): void;
  /** Called for errors of the listening socket, which goes on listening. */
  fault(error: unknown): void;
  /** Notes each response sent here, for the log. */
  responded(response: { requestId: string; status: number; method: string | null }): void;
}

/** The HTTP server below Fastify. It refuses with the envelope of the API even if there is no parsed request. */
export function createHttpServer(
  handler: (request: IncomingMessage, response: ServerResponse) => void,
  options: ConnectionOptions,
): Server {
  const { headersMs, requestMs, checkMs } = options.timeouts;
  const settings = {
    requireHostHeader: false,
    maxHeaderSize: HEAD_BYTES_MAX,
    headersTimeout: headersMs,
    requestTimeout: requestMs,
    connectionsCheckingInterval: checkMs,
    keepAliveTimeout: KEEP_ALIVE_MS,
  };
  const server = createServer(settings, handler);
  if (options.connectionsMax !== null) limitConnections(server, options.connectionsMax, options.refused);
  server.once("listening", () => server.on("error", options.fault));
  const refused = new WeakSet<Duplex>();
  server.on("clientError", (error: ClientError, socket) => {
    if (refused.has(socket)) return;
    refused.add(socket);
    refuseUnparsed(error, socket, options);
  });
  server.on("checkContinue", (request: IncomingMessage, response: ServerResponse) => {
    awaitContinue(request);
    handler(request, response);
  });
  // A server may ignore an unknown expectation (RFC 9110, 10.1.1); the API has no status 417.
  server.on("checkExpectation", handler);
  server.on("connect", (request: IncomingMessage, socket: Duplex) => {
    socket.on("error", () => {});
    const error = new ApiError("METHOD_NOT_ALLOWED", "CONNECT is not served here: this is no proxy.");
    respondOn(socket, error, options, { method: request.method ?? null, allow: METHODS.join(", ") });
  });
  return server;
}

interface ClientError extends Error {
  code?: string;
  reason?: string;
  rawPacket?: Buffer;
}

/** The response under way on a socket. Node keeps it in this field and uses it for the same purpose. */
function responseOn(socket: Duplex): ServerResponse | null {
  return (socket as Duplex & { _httpMessage?: ServerResponse | null })._httpMessage ?? null;
}

const respondedEarly = new WeakMap<Duplex, IncomingMessage>();

/** Notes that a response was sent before the whole request had come: an error in the rest gets no second response. */
export function noteEarlyResponse(request: IncomingMessage): void {
  respondedEarly.set(request.socket, request);
}

function refuseUnparsed(error: ClientError, socket: Duplex, options: ConnectionOptions): void {
  if (error.code === "ECONNRESET" || !socket.writable) {
    socket.destroy();
    return;
  }
  if (respondedEarly.get(socket)?.complete === false) {
    socket.destroy();
    return;
  }
  const response = responseOn(socket);
  if (response === null) {
    respondOn(socket, parseError(error), options);
  } else if (response.req.complete) {
    // The bad bytes follow a complete request, whose response goes first.
    response.once("close", () => refuseUnparsed(error, socket, options));
  } else if (response.headersSent) {
    socket.destroy();
  } else {
    respondOn(socket, parseError(error), options);
  }
}

function parseError(error: ClientError): ApiError {
  switch (error.code) {
    case "ERR_HTTP_REQUEST_TIMEOUT":
      return new ApiError(
        "REQUEST_TIMEOUT",
        "The request did not arrive in time. Send it faster, or in smaller parts.",
      );
    case "HPE_HEADER_OVERFLOW":
      return isWithinRequestLine(error.rawPacket) ? uriTooLong() : headersTooLarge();
    case "HPE_CHUNK_EXTENSIONS_OVERFLOW":
      return new ApiError("PAYLOAD_TOO_LARGE", "The chunk extensions of the body are too large.");
    default: {
      const reason = error.reason ?? "it could not be parsed";
      return new ApiError("VALIDATION_ERROR", `This is not a valid HTTP/1.1 request: ${reason}.`);
    }
  }
}

const REQUEST_LINE = /^[A-Z]+ [^\r\n]*$/;

/** Whether an oversized head that came in one packet consists of its first line alone. */
function isWithinRequestLine(packet: Buffer | undefined): boolean {
  return packet !== undefined && REQUEST_LINE.test(packet.toString("latin1", 0, URL_LENGTH_MAX + 16));
}

function respondOn(
  socket: Duplex,
  error: ApiError,
  { clock, newId, responded }: ConnectionOptions,
  { method = null, allow }: { method?: string | null; allow?: string } = {},
): void {
  const requestId = newId("req");
  const { status, headers, body } = renderError(error, requestId);
  const lines = [
    `HTTP/1.1 ${status} ${STATUS_CODES[status] ?? ""}`,
    "Content-Type: application/json; charset=utf-8",
    `Content-Length: ${Buffer.byteLength(body)}`,
    `X-Request-Id: ${requestId}`,
    ...Object.entries(headers).map(([name, value]) => `${name}: ${value}`),
    ...(allow === undefined ? [] : [`Allow: ${allow}`]),
    "Connection: close",
  ];
  socket.end(`${lines.join("\r\n")}\r\n\r\n${body}`);
  const stop = clock.after(LINGER_MS, () => socket.destroy());
  socket.once("close", stop);
  socket.resume();
  responded({ requestId, status, method });
}
