/** One request on its way through the checks, in their order, to the one answer that is written. */

import type { IncomingMessage, ServerResponse } from "node:http";
import type { KeyPermission, RateLimit } from "../../../sdk/wire.ts";
import type { Clock } from "../../clock.ts";
import { ApiError, invalidField, invalidFields } from "../../core/error.ts";
import { type CustomerId, type KeyId, type NewId, newCorrelationId, type Random } from "../../core/id.ts";
import { type ApiKey, isUsable, isWellFormedKey } from "../../core/key.ts";
import { type RateLimitResult, type RateLimitState, retryAfterSeconds, take } from "../../core/rate-limit.ts";
import type { Log } from "../../log.ts";
import type { ApiRequest, ApiResponse, Route } from "../route.ts";
import { admitJson, ClientGone, mayHaveBody } from "./body.ts";
import type { BodyBudget, HeldBody } from "./body-budget.ts";
import { checkHead, noteEarlyAnswer } from "./connection.ts";
import { renderError } from "./errors.ts";
import { parseJson } from "./json.ts";
import { checkPermissions, permissionsFor } from "./permissions.ts";
import { type Check, compileCheck } from "./validate.ts";

/** A request that was answered, for metrics and usage. `route` is its pattern, null where none matched. */
export interface CompletedRequest {
  method: string;
  route: string | null;
  /** 499 when the client had gone before there was an answer. */
  status: number;
  durationMs: number;
  /** Null for a request without a valid key. */
  keyId: KeyId | null;
  customerId: CustomerId | null;
  /** Refused for its rate limit. */
  limited: boolean;
}

/** What the edge needs of the service behind it. */
export interface Edge {
  /** The key with this secret, or null. Whether it is revoked or expired is judged here. At once where it can. */
  authenticate(secret: string): ApiKey | null | Promise<ApiKey | null>;
  /** Told of each use of a key. */
  keyUsed(key: ApiKey): void;
  /** Of keys without one of their own; null: no limit. */
  rateLimit: RateLimit | null;
  /** Null when work can be taken on; else in how many seconds to try again. Asked for whatever writes, but not for admins' routes. */
  overloadSeconds(): number | null;
  isClosing(): boolean;
  completed(answered: CompletedRequest): void;
  log: Log;
  clock: Clock;
  newId: NewId;
  random: Random;
}

/** What all requests to one server share. */
export interface EdgeState {
  /** Rate limits that are running, by key. */
  windows: RateLimitState;
  bodyBudget: BodyBudget;
}

/** A route with its schemas compiled. */
export interface CompiledRoute {
  route: Route;
  /** A customer's key needs one of them. */
  permissions: readonly KeyPermission[];
  checkBody: Check;
  checkQuery: Check;
}

/** Compiles the schemas of a route; throws for one that is not closed, and for a public one that takes a body. */
export function compileRoute(route: Route): CompiledRoute {
  if (route.scope === "public" && route.body !== null) throw new Error(`${route.path} is public and takes a body`);
  return {
    route,
    permissions: permissionsFor(route),
    checkBody: compileCheck("body", route.body),
    checkQuery: compileCheck("query", route.query),
  };
}

/** Why no route takes a request. */
export interface Refusal {
  error: ApiError;
  /** Value of `Allow`, with a 405. */
  allow?: string;
}

/** Where a request leads: to a route, or nowhere. `isPublic` refuses without asking for a key. */
export type Target =
  | { compiled: CompiledRoute; query: unknown; params: unknown }
  | { compiled: null; isPublic: boolean; refuse(): Refusal };

interface Exchange {
  edge: Edge;
  shared: EdgeState;
  request: IncomingMessage;
  response: ServerResponse;
  requestId: string;
  correlationId: string;
  startedAt: number;
  compiled: CompiledRoute | null;
  key: ApiKey | null;
  rate: RateLimitResult | null;
  allow: string | null;
  closing: boolean;
  body: HeldBody | null;
}

const REQUEST_ID = /^[A-Za-z0-9._:-]{1,128}$/;
const CORRELATION_ID = /^cor_[0-9a-f]{32}$/i;

/** The caller's `X-Request-Id` where it is 1 to 128 of `[A-Za-z0-9._:-]`, else `req_<uuid>`. */
export function requestIdOf(request: IncomingMessage, newId: NewId): string {
  const given = request.headers["x-request-id"];
  return typeof given === "string" && REQUEST_ID.test(given) ? given : newId("req");
}

function correlationIdOf(request: IncomingMessage, random: Random): string {
  const given = request.headers["x-correlation-id"];
  if (typeof given === "string" && CORRELATION_ID.test(given)) return given;
  return newCorrelationId(random);
}

/** Takes a request to its answer. Never rejects. Does not yield before the handler where there is no body to wait for. */
export async function serve(
  edge: Edge,
  shared: EdgeState,
  request: IncomingMessage,
  response: ServerResponse,
  requestId: string,
  target: Target,
): Promise<void> {
  const exchange: Exchange = {
    edge,
    shared,
    request,
    response,
    requestId,
    correlationId: correlationIdOf(request, edge.random),
    startedAt: performance.now(),
    compiled: target.compiled,
    key: null,
    rate: null,
    allow: null,
    closing: edge.isClosing(),
    body: null,
  };
  try {
    const badHead = checkHead(request);
    if (badHead !== null) throw badHead;
    if (target.compiled !== null || !target.isPublic) {
      checkAvailable(exchange);
      if (target.compiled?.route.scope !== "public") {
        const found = edge.authenticate(bearerOf(request));
        const key = found instanceof Promise ? await found : found;
        admitKey(exchange, usable(key, edge.clock.real()));
      }
    }
    if (target.compiled === null) {
      const { error, allow = null } = target.refuse();
      exchange.allow = allow;
      throw error;
    }
    const { route, permissions } = target.compiled;
    checkScope(route, exchange);
    if (exchange.key !== null) checkPermissions(exchange.key, permissions);
    // Of a stranger no body is read: no public route takes one.
    const body = exchange.key !== null && mayHaveBody(request) ? await readJson(exchange, route) : undefined;
    const reply = route.handle(makeCall(exchange, target, body));
    sendReply(exchange, reply instanceof Promise ? await reply : reply);
  } catch (error) {
    sendError(exchange, error);
  } finally {
    exchange.body?.release();
  }
}

function checkAvailable({ edge, request, compiled, closing }: Exchange): void {
  if (closing) {
    throw new ApiError("SERVICE_UNAVAILABLE", "The service is starting or shutting down. Try again in 5 s.", {
      retryAfterSeconds: 5,
    });
  }
  const reads = request.method === "GET" || request.method === "HEAD";
  if (reads || compiled?.route.scope === "admin") return;
  const retryAfterSeconds = edge.overloadSeconds();
  if (retryAfterSeconds === null) return;
  const message = `The service is overloaded. Try again in ${retryAfterSeconds} s.`;
  throw new ApiError("SERVICE_UNAVAILABLE", message, { retryAfterSeconds });
}

const BEARER = /^bearer +([^ ]+) *$/i;

function bearerOf(request: IncomingMessage): string {
  const { authorization } = request.headers;
  if (authorization === undefined) throw unauthorized("There is no key.");
  const secret = BEARER.exec(authorization)?.[1];
  if (secret === undefined || !isWellFormedKey(secret)) throw unauthorized("That is not the form of a key.");
  return secret;
}

function unauthorized(what: string): ApiError {
  return new ApiError("UNAUTHORIZED", `${what} Send yours in the header Authorization: Bearer tb_…`);
}

function usable(key: ApiKey | null, now: number): ApiKey {
  if (key === null || !isUsable(key, now)) throw unauthorized("The key is unknown, revoked or expired.");
  return key;
}

/** The usable key that a request carries at the real time `now`; throws a 401 `ApiError` when there is none. */
export async function keyOf(
  request: IncomingMessage,
  authenticate: Edge["authenticate"],
  now: number,
): Promise<ApiKey> {
  return usable(await authenticate(bearerOf(request)), now);
}

function admitKey(exchange: Exchange, key: ApiKey): void {
  const { edge, shared, request } = exchange;
  const now = edge.clock.real();
  exchange.key = key;
  edge.keyUsed(key);
  const limit = key.rateLimit ?? edge.rateLimit;
  if (limit !== null) {
    exchange.rate = take(shared.windows, key.id, limit, now);
    if (!exchange.rate.allowed) throw rateLimited(limit, retryAfterSeconds(exchange.rate, now));
  }
  shared.bodyBudget.checkQueue(ownerOf(key), request);
}

function rateLimited({ limit, windowSeconds }: RateLimit, seconds: number): ApiError {
  const message = `The rate limit of ${limit} requests per ${windowSeconds} s is used up. Try again in ${seconds} s.`;
  return new ApiError("RATE_LIMITED", message, { retryAfterSeconds: seconds });
}

/** Who takes from shared pools: the customer, whichever of its keys is used; all admin keys are one. */
function ownerOf({ customerId }: ApiKey): string {
  return customerId ?? "admin";
}

function checkScope(route: Route, { key }: Exchange): void {
  if (key === null || route.scope === "any" || route.scope === key.scope) return;
  const needed = route.scope === "admin" ? "an admin key" : "a key of a customer, with the scope messages";
  throw new ApiError("FORBIDDEN", `This key has the scope ${key.scope}; here ${needed} is needed.`);
}

type Routed = Extract<Target, { params: unknown }>;

/** The call as its route promises it. Every bad field of query and body is named at once. */
function makeCall(exchange: Exchange, { compiled, query, params }: Routed, body: unknown): ApiRequest {
  const { request, key } = exchange;
  const { route, checkBody, checkQuery } = compiled;
  if (key === null && route.scope !== "public") throw new Error("a route was reached without a key");
  const given = body === undefined && route.body !== null ? {} : body;
  const badQuery = checkQuery(query);
  const badBody = given === undefined ? [] : checkBody(given);
  if (badQuery.length + badBody.length > 0) throw invalidFields(badQuery.concat(badBody));
  const idempotencyKey = route.method === "POST" ? takeIdempotencyKey(request, given) : null;
  return {
    caller: key === null ? null : { key, customerId: key.customerId },
    body: route.body === null ? undefined : given,
    query: route.query === null ? undefined : query,
    params,
    requestId: exchange.requestId,
    correlationId: exchange.correlationId,
    idempotencyKey,
    header: (name) => {
      const value = request.headers[name];
      return Array.isArray(value) ? value.join(", ") : value;
    },
    isHead: request.method === "HEAD",
    onGone: (action) => {
      if (exchange.response.destroyed) action();
      else exchange.response.once("close", action);
    },
  };
}

async function readJson(exchange: Exchange, { bodyBytesMax: bytesMax }: Route): Promise<unknown> {
  const { shared, request, response, key } = exchange;
  if (key === null) throw new Error("a body was read without a key");
  const body = shared.bodyBudget.open(ownerOf(key));
  exchange.body = body;
  const bytes = await body.read(request, response, { bytesMax, admit: () => admitJson(request) });
  if (bytes.length === 0) return undefined;
  const turn = body.turn(bytes, request);
  if (turn !== undefined) await turn;
  return parseJson(bytes);
}

/** Printable ASCII, 1 to 255 characters. */
const IDEMPOTENCY_KEY = /^[\x20-\x7e]{1,255}$/;

/** The key of the header or the body. Taken out of the body: it is no part of the request that it stands for. */
function takeIdempotencyKey(request: IncomingMessage, body: unknown): string | null {
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

function sendReply(exchange: Exchange, reply: ApiResponse): void {
  const { status = 200 } = reply;
  if ("stream" in reply) {
    const { request, response } = exchange;
    if (response.destroyed) {
      finish(exchange, CLIENT_GONE);
      return;
    }
    response.writeHead(status, [...head(exchange), ...Object.entries(reply.headers).flat()]);
    if (request.method === "HEAD") response.end();
    else reply.stream(response);
    finish(exchange, status);
    return;
  }
  const data = "rawData" in reply ? reply.rawData : (JSON.stringify(reply.data) ?? "null");
  send(exchange, status, `{"success":true,"data":${data},"requestId":"${exchange.requestId}"}`, {});
}

/** The status that stands in the log for a client that went away, as nginx has it. */
const CLIENT_GONE = 499;

function sendError(exchange: Exchange, error: unknown): void {
  if (error instanceof ClientGone) {
    finish(exchange, CLIENT_GONE);
    return;
  }
  const { status, headers, body, isBug } = renderError(error, exchange.requestId);
  if (isBug) {
    const { requestId, correlationId, compiled, edge } = exchange;
    edge.log.error("request failed", { requestId, correlationId, ...named(compiled), error });
  }
  send(exchange, status, body, exchange.allow === null ? headers : { ...headers, allow: exchange.allow });
}

function send(exchange: Exchange, status: number, body: string, headers: Record<string, string>): void {
  const { request, response } = exchange;
  if (response.destroyed || response.headersSent) {
    finish(exchange, CLIENT_GONE);
    return;
  }
  const lines = head(exchange);
  lines.push("Content-Type", "application/json; charset=utf-8", "Content-Length", String(Buffer.byteLength(body)));
  for (const name in headers) lines.push(name, headers[name] ?? "");
  if (mayHaveBody(request) && !request.complete) {
    // The rest is read and thrown away, within the request's time: to close at once could cost the client the answer.
    noteEarlyAnswer(request);
    request.resume();
  }
  response.writeHead(status, lines);
  response.end(body);
  finish(exchange, status);
}

function head({ edge, requestId, correlationId, rate }: Exchange): string[] {
  const lines = ["X-Request-Id", requestId, "X-Correlation-Id", correlationId];
  if (rate !== null) {
    lines.push("X-RateLimit-Limit", String(rate.limit), "X-RateLimit-Remaining", String(rate.remaining));
    lines.push("X-RateLimit-Reset", String(Math.ceil(rate.resetAt / 1000)));
  }
  // Also of one that was asked before: a kept connection would hold up the stop.
  if (edge.isClosing()) lines.push("Connection", "close");
  return lines;
}

function finish(exchange: Exchange, status: number): void {
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
