/** The pages that people open, served by plain Fastify. Errors are rendered like those of the API. */

import type { FastifyInstance, FastifyReply, FastifyRequest } from "fastify";
import { mayHaveBody } from "../api/pipeline/body.ts";
import { noteEarlyResponse } from "../api/pipeline/connection.ts";
import type { Edge } from "../api/pipeline/edge.ts";
import { checkHead } from "../api/pipeline/head.ts";

type PageEdge = Pick<Edge, "log" | "completed">;

/** Adds pages to a server: each is checked at its head, logged and counted like a request of the API. */
export function addPages(app: FastifyInstance, edge: PageEdge, add: (pages: FastifyInstance) => void): void {
  app.register((pages, _, done) => {
    pages.addHook("onRequest", (request, reply, next) => {
      reply.header("X-Request-Id", request.id);
      checkHead(request.raw);
      next();
    });
    pages.addHook("onResponse", (request, reply, next) => {
      noteResponse(edge, request, reply);
      next();
    });
    pages.addHook("onSend", (request, _reply, payload, next) => {
      if (mayHaveBody(request.raw) && !request.raw.complete) {
        // Reads and drops the rest of the body: closing now could cost the client the response.
        noteEarlyResponse(request.raw);
        request.raw.resume();
      }
      next(null, payload);
    });
    add(pages);
    done();
  });
}

/**
 * The page for a person at an address that leads nowhere: it is checked, logged and counted like the others. `send` returns false if
 * there is no such page.
 */
export function missingPage(edge: PageEdge, send: (reply: FastifyReply) => boolean) {
  return (request: FastifyRequest, reply: FastifyReply): boolean => {
    checkHead(request.raw);
    if (!send(reply.header("X-Request-Id", request.id))) return false;
    reply.raw.once("finish", () => noteResponse(edge, request, reply));
    return true;
  };
}

/** Logs and counts a page that was sent. */
function noteResponse({ log, completed }: PageEdge, request: FastifyRequest, reply: FastifyReply): void {
  const route = request.is404 ? null : (request.routeOptions.url ?? null);
  const { method, id: requestId } = request;
  const { statusCode: status, elapsedTime: durationMs } = reply;
  completed({ method, route, status, durationMs, keyId: null, customerId: null, limited: false });
  const level = isFile(route) && status < 400 ? "debug" : "info";
  log[level]("request", { requestId, method, ...(route === null ? {} : { route }), status, durationMs });
}

/** The files that a page loads by itself: scripts, styles, fonts and pictures. */
const FILES: readonly string[] = ["/assets/:file", "/docs/images/:name"];

function isFile(route: string | null): boolean {
  return route !== null && FILES.includes(route);
}
