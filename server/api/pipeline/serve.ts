/**
 * The order in which a request is checked, from its head to its one response. Each stage is a file beside this one:
 *
 * | Stage | File | Refuses with |
 * |---|---|---|
 * | bytes that are no request | `connection.ts` | 400, 408, 414, 431 |
 * | head | `head.ts` | 400, 414, 431 |
 * | start, stop, overload | `availability.ts` | 503 |
 * | key | `key.ts` | 401 |
 * | rate limit | `rate-limit.ts` | 429 |
 * | the customer's share of memory | `body-budget.ts` | 503 |
 * | route | `routing.ts` | 404, 405 |
 * | scope and permissions | `permissions.ts` | 403 |
 * | content type, size | `body.ts`, `body-budget.ts` | 415, 413, 503 |
 * | JSON | `json.ts` | 400 |
 * | fields | `validate.ts`, `idempotency-key.ts` | 400 |
 * | response | `response.ts`, `errors.ts` | |
 */

import type { ApiKey } from "../../core/key.ts";
import type { ApiResponse, KeyedRoute } from "../route.ts";
import { checkAvailability } from "./availability.ts";
import { mayHaveBody } from "./body.ts";
import type { Edge, EdgeState } from "./edge.ts";
import { beginExchange, type Exchange, type Incoming, ownerOf } from "./exchange.ts";
import { checkHead } from "./head.ts";
import { keyOf } from "./key.ts";
import { checkPermissions, checkScope } from "./permissions.ts";
import { countRequest } from "./rate-limit.ts";
import { apiRequest, type Matched, publicRequest, readJson } from "./request.ts";
import { sendError, sendResponse } from "./response.ts";
import type { Destination } from "./routing.ts";

/** Takes a request to its response. Never rejects. Runs to the handler without a pause unless it waits for key or body. */
export async function serve(edge: Edge, state: EdgeState, incoming: Incoming, destination: Destination): Promise<void> {
  const exchange = beginExchange(edge, state, incoming, destination);
  try {
    checkHead(exchange.request);
    if (followsRulesOfV1(destination)) checkAvailability(exchange);
    if (needsKey(destination)) {
      const admitted = admitKey(exchange);
      if (admitted !== undefined) await admitted;
    }
    if (destination.compiled === null) {
      const { error, allow = null } = destination.refuse();
      exchange.allow = allow;
      throw error;
    }
    const handled = handle(exchange, destination);
    sendResponse(exchange, handled instanceof Promise ? await handled : handled);
  } catch (error) {
    sendError(exchange, error);
  }
}

function followsRulesOfV1(destination: Destination): boolean {
  return destination.compiled === null ? !destination.isPublic : destination.compiled.isUnderV1;
}

function needsKey(destination: Destination): boolean {
  return destination.compiled === null ? !destination.isPublic : destination.compiled.route.scope !== "public";
}

/** Finds the key, counts the request against its limit, and checks its customer's share of the memory for bodies. */
function admitKey(exchange: Exchange): void | Promise<void> {
  const { edge, request } = exchange;
  const found = keyOf(request.headers.authorization, edge);
  return found instanceof Promise ? found.then((key) => admit(exchange, key)) : admit(exchange, found);
}

function admit(exchange: Exchange, key: ApiKey): void {
  const { edge, state, request } = exchange;
  exchange.key = key;
  edge.keyUsed(key);
  countRequest(exchange, key);
  state.bodyBudget.checkQueue(ownerOf(key), request);
}

function handle(exchange: Exchange, matched: Matched): ApiResponse | Promise<ApiResponse> {
  const { compiled } = matched;
  const { route } = compiled;
  if (route.scope === "public") return route.handle(publicRequest(exchange, matched));
  const { key } = exchange;
  if (key === null) throw new Error(`${route.path} was reached without a key`);
  checkScope(key, route.scope);
  checkPermissions(key, compiled.permissions);
  if (mayHaveBody(exchange.request)) return handleBody(exchange, matched, route, ownerOf(key));
  return route.handle(apiRequest(exchange, matched, route, undefined));
}

/** Keeps the memory of the body counted until the handler has ended. */
async function handleBody(
  exchange: Exchange,
  matched: Matched,
  route: KeyedRoute,
  owner: string,
): Promise<ApiResponse> {
  const held = exchange.state.bodyBudget.open(owner);
  try {
    const body = await readJson(exchange, held, route);
    return await route.handle(apiRequest(exchange, matched, route, body));
  } finally {
    held.release();
  }
}
