/** Where a request leads: to a compiled route, or to the refusal of an address that no route serves (400, 404, 405, 414). */

import type { KeyPermission } from "../../../sdk/wire.ts";
import { ApiError } from "../../core/error.ts";
import { METHODS, type Method, type Route } from "../route.ts";
import { quote } from "./json.ts";
import { permissionsFor } from "./permissions.ts";
import { compileCheck, type FieldCheck } from "./validate.ts";

/** A route with its schemas compiled. */
export interface CompiledRoute {
  route: Route;
  /** A customer's key needs one of them. */
  permissions: readonly KeyPermission[];
  checkBody: FieldCheck;
  checkQuery: FieldCheck;
  /** Whether the rules of `/v1` hold: closed while the service starts and stops, no unknown query parameters. */
  isUnderV1: boolean;
  /** Whether it answers a page of a list, with a cursor. */
  isList: boolean;
  /** Whether its requests are in the request log: those that read the log are not, or they would show themselves. */
  isLogged: boolean;
}

const OF_THE_LOG = /^\/v1\/(requests(\/|$)|wire$)/;

/** Compiles the schemas of a route. Throws for a schema that is not closed. */
export function compileRoute(route: Route): CompiledRoute {
  return {
    route,
    permissions: permissionsFor(route),
    checkBody: compileCheck("body", route.body),
    checkQuery: compileCheck("query", route.query),
    isUnderV1: keepsRulesOfV1(route.path),
    isList: Object.hasOwn((route.query as { properties?: object } | null)?.properties ?? {}, "cursor"),
    isLogged: isUnderV1(route.path) && !OF_THE_LOG.test(route.path),
  };
}

/** Why no route serves a request. */
export interface RouteRefusal {
  error: ApiError;
  /** Value of `Allow`, with a 405. */
  allow?: string;
}

/** Destination of a request: a route, or a refusal. `isPublic`: the refusal is given without asking for a key. */
export type Destination =
  | { compiled: CompiledRoute; query: unknown; params: unknown }
  | { compiled: null; isPublic: boolean; refuse(): RouteRefusal };

/** Longest path parameter, in characters. */
export const PARAM_LENGTH_MAX = 512;

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

/** Whether the named parameters of a path can be ids. No id contains NUL, and some stores fail on it. */
export function areIds(params: unknown): boolean {
  for (const [name, value] of Object.entries(params as Record<string, string>)) {
    if (name === "*") continue;
    if (RESERVED.has(value) || value.includes("\0") || value === "") return false;
  }
  return true;
}

const UNDER_V1 = /^\/v1(\/|$)/;
const UNDER_SESSION = /^\/session(\/|$)/;

/** Whether a request target, or the path of a route, is under `/v1`. */
export function isUnderV1(target: string): boolean {
  return UNDER_V1.test(pathOf(target));
}

/** Whether a request target, or the path of a route, is under `/v1` or `/session`, where the rules of `/v1` hold. */
export function keepsRulesOfV1(target: string): boolean {
  const path = pathOf(target);
  return UNDER_V1.test(path) || UNDER_SESSION.test(path);
}

/** The path of a request target, without percent-encoding. */
function pathOf(target: string): string {
  const [path = ""] = target.replace(/^https?:\/\/[^/]*/i, "").split(/[?#;]/, 1);
  return decoded(path);
}

function decoded(path: string): string {
  try {
    return decodeURI(path);
  } catch {
    return path;
  }
}

/** Whether a target that the router could not read begins like the path of a public route. */
export function isUnderPublicRoute(routes: readonly Route[], target: string): boolean {
  return routes.some(({ scope, path }) => scope === "public" && target.startsWith(path.replace(/:.*/, "")));
}

/** The 404 of an address that would be one of the API with `/v1` in front. */
export function withoutV1(target: string): ApiError {
  const path = pathOf(target);
  return new ApiError(
    "NOT_FOUND",
    `There is nothing at ${quote(path)}: every path of the API begins with /v1. Use ${quote(`/v1${path}`)}.`,
  );
}

/** The refusal of a target that the router could not read: 414 for an overlong parameter, else 400. */
export function unreadablePath(code: string): RouteRefusal {
  if (code === "FST_ERR_MAX_PARAM_LENGTH") {
    const message = `A part of the path is longer than ${PARAM_LENGTH_MAX} characters.`;
    return { error: new ApiError("URI_TOO_LONG", message) };
  }
  const message = "The path is not valid: a % must be followed by two hex digits that make up UTF-8.";
  const details = [{ path: "path", message: "must be percent-encoded UTF-8" }];
  return { error: new ApiError("VALIDATION_ERROR", message, { details }) };
}

/**
 * The refusal of a request that no route serves: 405 if only another method would match, else 404. A page whose path matches may
 * have found nothing to send.
 */
export function noRoute(method: string, matches: (method: Method) => boolean): RouteRefusal {
  const possible = METHODS.filter(matches);
  const isPossible = possible.some((name) => name === method || (name === "GET" && method === "HEAD"));
  if (possible.length === 0 || isPossible) {
    const message = "There is nothing at this address. Check the path and the method; GET /docs lists every route.";
    return { error: new ApiError("NOT_FOUND", message) };
  }
  const allow = possible.flatMap((name) => (name === "GET" ? ["GET", "HEAD"] : [name])).join(", ");
  return { error: new ApiError("METHOD_NOT_ALLOWED", `${method} is not possible here. Possible: ${allow}.`), allow };
}
