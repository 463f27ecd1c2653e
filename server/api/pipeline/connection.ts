/** What is answered below the level of requests: bytes that are no HTTP, clients that are too slow, `CONNECT`. */

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

/** How long a client may take, in milliseconds. Checked every `checkMs`. */
export interface Timeouts {
  headersMs: number;
  requestMs: number;
  checkMs: number;
}

/** Headers in 5 s, the whole request in 10 s, looked at each second. */
export const TIMEOUTS: Readonly<Timeouts> = { headersMs: 5_000, requestMs: 10_000, checkMs: 1_000 };

/** Idle connections are kept longer than the 60 s that load balancers keep them, so that those never hit a closed one. */
const KEEP_ALIVE_MS = 72_000;

/**
 * Beyond this the parser gives up. Above the sum of the two limits, so that they can be told apart by what was parsed;
 * below what one read brings (64 KiB), so that beyond it they mostly can too.
 */
const HEAD_BYTES_MAX = 32_768;

/** How long the rest of what a refused client sends is read, so that the answer reaches it before the reset. */
const LINGER_MS = 1_000;

/** What a connection needs from the rest of the edge. */
export interface ConnectionOptions {
  clock: Clock;
  newId: NewId;
  timeouts: Timeouts;
  /** Most connections at once; null: no limit. */
  connectionsMax: number | null;
  /** Told of each connection that was refused, since there are too many. */
  refused(): void;
  /** Told of what goes wrong with the listening socket itself; it goes on. */
  fault(error: unknown): void;
  /** Notes each response sent here, for the log. */
  responded(response: { requestId: string; status: number; method: string | null }): void;
}

/** The HTTP server under the edge: answers in the envelope also where no request came about. */
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
  // An expectation that is not known may be ignored (RFC 9110, 10.1.1); 417 is no status of ours.
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

/** The response under way on a socket: Node keeps it there and consults it for the same purpose. */
function responseOn(socket: Duplex): ServerResponse | null {
  return (socket as Duplex & { _httpMessage?: ServerResponse | null })._httpMessage ?? null;
}

const respondedEarly = new WeakMap<Duplex, IncomingMessage>();

/** Notes that a request was answered before all of it had come, so that what goes wrong with the rest is not answered again. */
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
    // What is wrong came behind a request that still waits for its answer, which goes first.
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

/** Whether all of an oversized head that came in one piece is its first line. */
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
