/** The HTTP server: hands every request to the edge, whatever the router makes of it, and carries the routes beside it. */

import type { IncomingMessage } from "node:http";
import fastify, { type FastifyInstance, type FastifyReply, type FastifyRequest } from "fastify";
import type { Clock } from "../clock.ts";
import { ApiError } from "../core/error.ts";
import { ClientGone, mayHaveBody } from "./pipeline/body.ts";
import { BodyBudget } from "./pipeline/body-budget.ts";
import { checkHead, createHttpServer, noteEarlyAnswer, TIMEOUTS, type Timeouts } from "./pipeline/connection.ts";
import { renderError } from "./pipeline/errors.ts";
import {
  type CompiledRoute,
  compileRoute,
  type Edge,
  type EdgeState,
  type Refusal,
  requestIdOf,
  serve,
} from "./pipeline/exchange.ts";
import { METHODS, type Route } from "./route.ts";

/** What `buildServer` is given. */
export interface ServerOptions extends Edge {
  routes: readonly Route[];
  /**
   * Routes beside `/v1`: bare Fastify ones. Their bodies are not read unless they ask `bodies` for them. What they throw
   * is rendered.
   */
  extra?(app: FastifyInstance, bodies: BodyBudget): void;
  timeouts?: Timeouts;
  /** Most connections at once; left out: no limit. */
  connectionsMax?: number;
}

/** Longest path parameter, in characters. */
const PARAM_LENGTH_MAX = 512;

/** Words of paths that are never ids. */
const RESERVED: ReadonlySet<string> = new Set([
  "scheduled",
  "carousel",
  "bulk",
  "groups",
  "list",
  "deliveries",
  "test",
  "rotate-secret",
]);

/** A server that is not listening yet: `listen({ host, port })`, `inject`, `close`. Throws for a route that is declared twice. */
export function buildServer(options: ServerOptions): FastifyInstance {
  const shared: EdgeState = { windows: new Map(), bodyBudget: new BodyBudget(options.clock) };
  const app = newFastify(options, shared);
  // Bodies are read by the edge, after the checks that come first, so the framework must not touch any.
  for (const method of app.supportedMethods) app.addHttpMethod(method, { hasBody: false, overrideExisting: true });
  app.setErrorHandler((error, request, reply) => sendFault(options, error, request, reply));
  app.setNotFoundHandler((request, reply) => {
    serveUnrouted(options, shared, request, reply, () => missing(app, request));
  });
  for (const route of options.routes) addRoute(app, options, shared, compileRoute(route));
  addExtra(app, options, shared);
  return app;
}

function newFastify(options: ServerOptions, shared: EdgeState): FastifyInstance {
  const { clock, newId, log, timeouts = TIMEOUTS, connectionsMax = null } = options;
  const answered = ({ requestId, status, method }: { requestId: string; status: number; method: string | null }) => {
    log.info("request", { requestId, status, ...(method === null ? {} : { method }) });
  };
  const settings = {
    clock,
    newId,
    timeouts,
    connectionsMax,
    refused: onceAWhile(clock, () =>
      log.warn("connections refused", { reason: `${connectionsMax} are open, none of them idle` }),
    ),
    fault: (error: unknown) => log.error("fault", { where: "listen", error }),
    answered,
  };
  return fastify({
    serverFactory: (handler) => createHttpServer(handler, settings),
    clientErrorHandler: () => {},
    genReqId: (request: IncomingMessage) => requestIdOf(request, newId),
    routerOptions: { maxParamLength: PARAM_LENGTH_MAX },
    return503OnClosing: false,
    frameworkErrors: (error, request, reply) => {
      const isPublic = !isUnderV1(request.url) || isUnderPublic(options.routes, request.url);
      serveUnrouted(options, shared, request, reply, () => ({ error: routingError(error.code) }), isPublic);
    },
  });
}

/** How often the log says that connections are refused, in milliseconds. */
const REFUSED_LINE_MS = 10_000;

/** The action, at most once in ten seconds. */
function onceAWhile(clock: Clock, action: () => void): () => void {
  let lastAt = Number.NEGATIVE_INFINITY;
  return () => {
    const now = clock.real();
    if (now - lastAt < REFUSED_LINE_MS) return;
    lastAt = now;
    action();
  };
}

/** Whether a path that the router could not read begins as that of a public route: nobody is asked for a key there. */
function isUnderPublic(routes: readonly Route[], url: string): boolean {
  return routes.some(({ scope, path }) => scope === "public" && url.startsWith(path.replace(/:.*/, "")));
}

function routingError(code: string): ApiError {
  if (code === "FST_ERR_MAX_PARAM_LENGTH") {
    return new ApiError("URI_TOO_LONG", `A part of the path is longer than ${PARAM_LENGTH_MAX} characters.`);
  }
  const message = "The path is not valid: a % must be followed by two hex digits that make up UTF-8.";
  return new ApiError("VALIDATION_ERROR", message, {
    details: [{ path: "path", message: "must be percent-encoded UTF-8" }],
  });
}

function addRoute(app: FastifyInstance, edge: Edge, shared: EdgeState, compiled: CompiledRoute): void {
  const { method, path, scope } = compiled.route;
  const isPublic = scope === "public";
  const hasParams = path.includes(":");
  app.route({
    method,
    url: path,
    handler(request, reply) {
      if (hasParams && !areIds(request.params)) {
        serveUnrouted(edge, shared, request, reply, () => missing(app, request), isPublic);
        return;
      }
      const { query, params } = request;
      void serve(edge, shared, request.raw, reply.raw, request.id, { compiled, query, params });
    },
  });
}

/** Whether the parameters can be ids. NUL is in none, and some stores choke on it. */
function areIds(params: unknown): boolean {
  for (const value of Object.values(params as Record<string, string>)) {
    if (RESERVED.has(value) || value.includes("\0") || value === "") return false;
  }
  return true;
}

/** Answers what no route takes. Under `/v1` only to those who have a key, unless none would have been asked for. */
function serveUnrouted(
  edge: Edge,
  shared: EdgeState,
  request: FastifyRequest,
  reply: FastifyReply,
  refuse: () => Refusal,
  isPublic = !isUnderV1(request.raw.url ?? ""),
): void {
  const target = { compiled: null, isPublic, refuse };
  void serve(edge, shared, request.raw, reply.raw, request.id, target);
}

const UNDER_V1 = /^\/v1(\/|$)/;

function isUnderV1(url: string): boolean {
  const [path = ""] = url.replace(/^https?:\/\/[^/]*/i, "").split(/[?#;]/, 1);
  return UNDER_V1.test(decoded(path));
}

function decoded(path: string): string {
  try {
    return decodeURI(path);
  } catch {
    return path;
  }
}

function missing(app: FastifyInstance, request: FastifyRequest): Refusal {
  const { method = "", url = "" } = request.raw;
  const allowed = METHODS.filter((candidate) => {
    const found = app.findRoute({ method: candidate, url });
    return found !== null && areIds(found.params);
  });
  if (allowed.length === 0) {
    return {
      error: new ApiError(
        "NOT_FOUND",
        "There is nothing at this address. Check the path and the method; GET /docs lists every route.",
      ),
    };
  }
  const allow = allowed.flatMap((name) => (name === "GET" ? ["GET", "HEAD"] : [name])).join(", ");
  const message = `${method} is not possible here. Possible: ${allow}.`;
  return { error: new ApiError("METHOD_NOT_ALLOWED", message), allow };
}

function addExtra(app: FastifyInstance, options: ServerOptions, { bodyBudget }: EdgeState): void {
  const { extra, log, completed } = options;
  if (extra === undefined) return;
  app.register((child, _, done) => {
    child.addHook("onRequest", (request, reply, next) => {
      reply.header("X-Request-Id", request.id);
      next(checkHead(request.raw) ?? undefined);
    });
    child.addHook("onResponse", (request, reply, next) => {
      const route = request.routeOptions.url ?? null;
      const { method, id: requestId } = request;
      const { statusCode: status, elapsedTime: durationMs } = reply;
      completed({ method, route, status, durationMs, keyId: null, customerId: null, limited: false });
      log.info("request", { requestId, method, ...(route === null ? {} : { route }), status, durationMs });
      next();
    });
    // The rest of a body that is not read is thrown away, so that the answer reaches its client.
    child.addHook("onSend", (request, _reply, payload, next) => {
      if (mayHaveBody(request.raw) && !request.raw.complete) {
        noteEarlyAnswer(request.raw);
        request.raw.resume();
      }
      next(null, payload);
    });
    extra(child, bodyBudget);
    done();
  });
}

/** Renders what a route beside `/v1` threw. */
function sendFault({ log }: Edge, error: unknown, request: FastifyRequest, reply: FastifyReply): void {
  if (error instanceof ClientGone) {
    reply.hijack();
    return;
  }
  const { status, headers, body, isBug } = renderError(error, request.id);
  const { url: route } = request.routeOptions;
  if (isBug) log.error("request failed", { requestId: request.id, ...(route === undefined ? {} : { route }), error });
  reply.code(status).headers(headers).type("application/json; charset=utf-8").send(body);
}
