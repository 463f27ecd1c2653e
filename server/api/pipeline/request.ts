/** Builds the request that a handler gets: reads and parses the body, and checks all fields of query and body (400). */

import { ApiError, invalidFields } from "../../core/error.ts";
import type { ApiRequest, KeyedRoute, PublicRequest } from "../route.ts";
import { admitJson } from "./body.ts";
import type { HeldBody } from "./body-budget.ts";
import { clientOf, placeOf } from "./client.ts";
import { goneSignal } from "./client-gone.ts";
import type { Exchange } from "./exchange.ts";
import { takeIdempotencyKey } from "./idempotency-key.ts";
import { parseJson } from "./json.ts";
import { listTag, openCursor } from "./list-cursor.ts";
import type { CompiledRoute } from "./routing.ts";

/** A matched route and what the router read of the target. */
export interface Matched {
  compiled: CompiledRoute;
  query: unknown;
  params: unknown;
}

/** The JSON body of a request with a key, undefined if there is none. The caller releases `held`. */
export async function readJson(exchange: Exchange, held: HeldBody, { bodyBytesMax }: KeyedRoute): Promise<unknown> {
  const { request, response } = exchange;
  const bytes = await held.read(request, response, { bytesMax: bodyBytesMax, admit: () => admitJson(request) });
  takeBody(exchange, bytes);
  if (bytes.length === 0) return undefined;
  const waiting = held.waitToParse(bytes, request);
  if (waiting !== undefined) await waiting;
  return parseJson(bytes);
}

/** Keeps the body if somebody needs it later. Throws 403 for another body than the one that was passed on. */
function takeBody(exchange: Exchange, bytes: Uint8Array): void {
  if (!exchange.isBody(bytes)) throw new ApiError("FORBIDDEN", "The body is not the one that was passed on.");
  const { hop, requestLog } = exchange.edge;
  if (hop !== null || requestLog?.keepsBodies === true) exchange.body = bytes;
}

/** The request of a caller with a key. Throws one 400 that names every bad field of query and body. */
export function apiRequest(exchange: Exchange, matched: Matched, route: KeyedRoute, body: unknown): ApiRequest {
  const { request, key, correlationId } = exchange;
  if (key === null) throw new Error("a request to a route with a key has none");
  const { checkBody, checkQuery } = matched.compiled;
  const given = body === undefined && route.body !== null ? {} : body;
  const badQuery = checkQuery(matched.query);
  const badBody = given === undefined ? [] : checkBody(given);
  if (badQuery.length + badBody.length > 0) throw invalidFields(badQuery.concat(badBody));
  takeCursor(exchange, matched);
  const idempotencyKey = route.method === "POST" ? takeIdempotencyKey(request, given) : null;
  return {
    ...anyRequest(exchange, matched),
    caller: { key, customerId: key.customerId, session: exchange.session },
    body: route.body === null ? undefined : given,
    query: route.query === null ? undefined : matched.query,
    correlationId,
    idempotencyKey,
    headers: request.headers,
    header: (name) => {
      const value = request.headers[name];
      return Array.isArray(value) ? value.join(", ") : value;
    },
  };
}

/** Takes the tag of its list off the cursor of a page. Throws 400 for a cursor of another list, or of other filters. */
function takeCursor(exchange: Exchange, { compiled, params, query }: Matched): void {
  if (!compiled.isList) return;
  const given = query as { cursor?: string };
  const tag = listTag(compiled.route.path, params, given);
  if (given.cursor !== undefined) given.cursor = openCursor(tag, given.cursor);
  exchange.list = tag;
}

/** The request to a public route. Reads nothing of the body until the handler asks for it. */
export function publicRequest(exchange: Exchange, matched: Matched): PublicRequest {
  const { edge, request, response, state } = exchange;
  const { checkQuery, isUnderV1 } = matched.compiled;
  const badQuery = isUnderV1 ? checkQuery(matched.query) : [];
  if (badQuery.length > 0) throw invalidFields(badQuery);
  return {
    ...anyRequest(exchange, matched),
    target: request.url ?? "",
    headers: request.headers,
    remoteAddress: request.socket.remoteAddress ?? "",
    client: () => clientOf(edge, request),
    async withBody({ owner, kind, bytesMax, withinMs }, use) {
      const held = state.bodyBudget.open(owner);
      try {
        const bytes = await held.read(request, response, { bytesMax, withinMs, place: placeOf(exchange, kind) });
        takeBody(exchange, bytes);
        return await use(bytes);
      } finally {
        held.release();
      }
    },
  };
}

function anyRequest({ request, response, requestId }: Exchange, { params }: Matched) {
  let gone: AbortSignal | null = null;
  return {
    params,
    requestId,
    isHead: request.method === "HEAD",
    gone() {
      gone ??= goneSignal(response);
      return gone;
    },
  };
}
