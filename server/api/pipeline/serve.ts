/**
 * The order in which a request is checked, from its head to its one response. Each stage is a file beside this one:
 *
 * | Stage | File | Refuses with |
 * |---|---|---|
 * | bytes that are no request | `connection.ts` | 400, 408, 414, 431 |
 * | head | `head.ts` | 400, 414, 431 |
 * | claim to be passed on by another process | `hop-claim.ts` | 403 |
 * | role of the process | `role.ts` | 404 |
 * | start, stop, no database, overload | `availability.ts` | 503 |
 * | key | `key.ts` | 401 |
 * | session, for a request without a key | `session.ts`, `browser.ts` | 401, 403 |
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
import { NotRunningHere } from "../../core/not-running-here.ts";
import type { ApiResponse, KeyedRoute } from "../route.ts";
import { checkAvailability } from "./availability.ts";
import { mayHaveBody } from "./body.ts";
import type { Edge, EdgeState } from "./edge.ts";
import { beginExchange, type Exchange, type Incoming, ownerOf } from "./exchange.ts";
import { checkHead } from "./head.ts";
import { checkHopClaim } from "./hop-claim.ts";
import { keyOf } from "./key.ts";
import { passOn } from "./pass-on.ts";
import { checkPermissions, checkScope } from "./permissions.ts";
import { countRequest } from "./rate-limit.ts";
import { apiRequest, type Matched, publicRequest, readJson } from "./request.ts";
import { sendError, sendResponse } from "./response.ts";
import { checkRole } from "./role.ts";
import type { Destination } from "./routing.ts";
import { keyOfSession } from "./session.ts";

/** Takes a request to its response. Never rejects. Runs to the handler without a pause unless it waits for key or body. */
export async function serve(edge: Edge, state: EdgeState, incoming: Incoming, destination: Destination): Promise<void> {
  const exchange = beginExchange(edge, state, incoming, destination);
  try {
    checkHead(exchange.request);
    checkHopClaim(exchange);
    checkRole(exchange);
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
    const failure = error instanceof NotRunningHere ? await failureToPassOn(exchange, error) : error;
    if (failure !== null) sendError(exchange, failure);
  }
}

/** Passes the request on. Returns null if another process answered, else the error for the caller. */
async function failureToPassOn(exchange: Exchange, error: NotRunningHere): Promise<unknown> {
  try {
    return (await passOn(exchange, error)) ? null : error;
  } catch (failure) {
    // The client has gone, or the connection to the other process ended.
    return failure;
  }
}

function followsRulesOfV1(destination: Destination): boolean {
  return destination.compiled === null ? !destination.isPublic : destination.compiled.isUnderV1;
}

function needsKey(destination: Destination): boolean {
  return destination.compiled === null ? !destination.isPublic : destination.compiled.route.scope !== "public";
}

/** Finds the key, that of a session if there is none in the request, counts the request against its limit, and checks its customer's share of the memory for bodies. */
function admitKey(exchange: Exchange): void | Promise<void> {
  const { edge, request } = exchange;
  const { authorization } = request.headers;
  const found =
    authorization === undefined && edge.sessions !== null
      ? keyOfSession(exchange, edge.sessions)
      : keyOf(authorization, edge);
  return found instanceof Promise ? found.then((key) => admit(exchange, key)) : admit(exchange, found);
}

function admit(exchange: Exchange, key: ApiKey): void | Promise<void> {
  const { edge, state, request } = exchange;
  exchange.key = key;
  if (!exchange.isPassedOn) edge.keyUsed(key);
  const counted = exchange.isPassedOn ? undefined : countRequest(exchange, key);
  const check = () => state.bodyBudget.checkQueue(ownerOf(key), request);
  return counted === undefined ? check() : counted.then(check);
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
