/** The HTTP server: Fastify matches paths and serves pages; the pipeline serves every other request. */

import type { IncomingMessage } from "node:http";
import fastify, { type FastifyInstance, type FastifyReply, type FastifyRequest } from "fastify";
import type { Clock } from "../clock.ts";
import { WAKE_PATH } from "../core/member-wake.ts";
import type { LogFields } from "../log.ts";
import { BodyBudget } from "./pipeline/body-budget.ts";
import { createHttpServer, TIMEOUTS, type Timeouts } from "./pipeline/connection.ts";
import type { Edge, EdgeState } from "./pipeline/edge.ts";
import { renderError } from "./pipeline/errors.ts";
import { requestIdOf } from "./pipeline/head.ts";
import {
  areIds,
  type CompiledRoute,
  compileRoute,
  isUnderPublicRoute,
  isUnderV1,
  keepsRulesOfV1,
  noRoute,
  PARAM_LENGTH_MAX,
  type RouteRefusal,
  unreadablePath,
  withoutV1,
} from "./pipeline/routing.ts";
import { serve } from "./pipeline/serve.ts";
import { takeWake } from "./pipeline/take-wake.ts";
import { METHODS, type Method, type Route } from "./route.ts";

/** The settings of a server. */
export interface ServerOptions extends Edge {
  routes: readonly Route[];
  bodyBudget?: BodyBudget;
  timeouts?: Timeouts;
  /** Most connections at once; left out: no limit. */
  connectionsMax?: number;
  /** Sends a page to a person at an address that leads nowhere. Returns false if there is no such page. */
  sendMissingPage?: (request: FastifyRequest, reply: FastifyReply) => boolean;
}

/** A server that does not listen yet. Throws for a route that is declared twice. */
export function buildServer(options: ServerOptions): FastifyInstance {
  const { clock, log, bodyBudget = new BodyBudget(clock), routes } = options;
  const warnOfHop = onceAWhile(clock, (fields: LogFields) => log.warn("passed request refused", fields));
  const state: EdgeState = { windows: new Map(), bodyBudget, warnOfHop };
  const app = newFastify(options, state);
  // The pipeline reads bodies, after the checks that come first, so Fastify must not read any.
  for (const method of app.supportedMethods) app.addHttpMethod(method, { hasBody: false, overrideExisting: true });
  app.setErrorHandler((error, request, reply) => sendPageError(options, error, request, reply));
  app.setNotFoundHandler((request, reply) => {
    const refuse = () => missing(app, request);
    const isSent = wantsPage(request, refuse) && options.sendMissingPage?.(request, reply) === true;
    if (!isSent) refuseUnrouted(options, state, request, reply, refuse);
  });
  for (const route of routes) addRoute(app, options, state, compileRoute(route));
  addWakes(app, options, state);
  return app;
}

function newFastify(options: ServerOptions, state: EdgeState): FastifyInstance {
  const { clock, newId, log, routes, timeouts = TIMEOUTS, connectionsMax = null } = options;
  const settings = {
    clock,
    newId,
    timeouts,
    connectionsMax,
    refused: onceAWhile(clock, () =>
      log.warn("connections refused", { reason: `${connectionsMax} are open, none of them idle` }),
    ),
    fault: (error: unknown) => log.error("fault", { where: "server", error }),
    responded: ({ requestId, status, method }: { requestId: string; status: number; method: string | null }) => {
      log.info("request", { requestId, status, ...(method === null ? {} : { method }) });
    },
  };
  return fastify({
    serverFactory: (handler) => createHttpServer(handler, settings),
    clientErrorHandler: () => {},
    genReqId: (request: IncomingMessage) => requestIdOf(request, newId),
    routerOptions: { maxParamLength: PARAM_LENGTH_MAX },
    return503OnClosing: false,
    frameworkErrors: (error, request, reply) => {
      const isPublic = !isUnderV1(request.url) || isUnderPublicRoute(routes, request.url);
      refuseUnrouted(options, state, request, reply, () => unreadablePath(error.code), isPublic);
    },
  });
}

/** How often the log says that connections or requests of one kind are refused, in milliseconds. */
const REFUSED_LINE_MS = 10_000;

/** The action, at most once in ten seconds. */
function onceAWhile<Given extends unknown[]>(clock: Clock, action: (...given: Given) => void) {
  let lastAt = Number.NEGATIVE_INFINITY;
  return (...given: Given): void => {
    const now = clock.monotonic();
    if (now - lastAt < REFUSED_LINE_MS) return;
    lastAt = now;
    action(...given);
  };
}

function addRoute(app: FastifyInstance, edge: Edge, state: EdgeState, compiled: CompiledRoute): void {
  const { method, path, scope } = compiled.route;
  const isPublic = scope === "public";
  const hasParams = path.includes(":");
  app.route({
    method,
    url: path,
    handler(request, reply) {
      if (hasParams && !areIds(request.params)) {
        refuseUnrouted(edge, state, request, reply, () => missing(app, request), isPublic);
        return;
      }
      const { query, params } = request;
      void serve(edge, state, incoming(request, reply), { compiled, query, params });
    },
  });
}

/** Takes wakes of other processes. Any other request to their address is answered like one to an address where nothing is. */
function addWakes(app: FastifyInstance, edge: Edge, state: EdgeState): void {
  const refuse = () => noRoute("POST", () => false);
  app.post(WAKE_PATH, {
    handler: (request, reply) => {
      void takeWake(edge, request.raw, reply.raw).then((isTaken) => {
        if (!isTaken) refuseUnrouted(edge, state, request, reply, refuse);
      });
    },
  });
}

/** Serves a request that no route matches. Under `/v1` only callers with a key learn that, except below a public route. */
function refuseUnrouted(
  edge: Edge,
  state: EdgeState,
  request: FastifyRequest,
  reply: FastifyReply,
  refuse: () => RouteRefusal,
  isPublic = !isUnderV1(request.raw.url ?? ""),
): void {
  void serve(edge, state, incoming(request, reply), { compiled: null, isPublic, refuse });
}

function incoming(request: FastifyRequest, reply: FastifyReply) {
  return { request: request.raw, response: reply.raw, requestId: request.id };
}

function missing(app: FastifyInstance, { raw }: FastifyRequest): RouteRefusal {
  const { method = "", url = "", headers } = raw;
  const leads = (target: string) => (candidate: Method) => {
    const found = app.findRoute({ method: candidate, url: target });
    return found !== null && areIds(found.params);
  };
  const isOfApi = url.startsWith("/") && !isUnderV1(url) && METHODS.some(leads(`/v1${url}`));
  if (isOfApi && headers.accept?.includes("text/html") !== true) return { error: withoutV1(url) };
  return noRoute(method, leads(url));
}

/** Whether a person opened an address that leads nowhere: programs do not ask for HTML, and get the envelope, as everybody under `/v1` does. */
function wantsPage({ raw }: FastifyRequest, refuse: () => RouteRefusal): boolean {
  const { method, url = "", headers } = raw;
  if ((method !== "GET" && method !== "HEAD") || !url.startsWith("/") || keepsRulesOfV1(url)) return false;
  return headers.accept?.includes("text/html") === true && refuse().error.code === "NOT_FOUND";
}

/** Sends an error of a page. The pipeline sends its own errors. */
function sendPageError({ log }: Edge, error: unknown, request: FastifyRequest, reply: FastifyReply): void {
  const { status, headers, body, isBug } = renderError(error, request.id);
  const { url: route } = request.routeOptions;
  if (isBug) log.error("request failed", { requestId: request.id, ...(route === undefined ? {} : { route }), error });
  reply.code(status).headers(headers).type("application/json; charset=utf-8").send(body);
}
