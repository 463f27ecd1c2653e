/** How a resource file declares a route: path, scope, schemas, and a handler whose types follow from them. */

import type { IncomingHttpHeaders, ServerResponse } from "node:http";
import type { Static, TSchema } from "typebox";
import type { Pagination } from "../../sdk/wire.ts";
import type { ClientAddress } from "../core/client-address.ts";
import type { CustomerId } from "../core/id.ts";
import type { ApiKey } from "../core/key.ts";
import type { RequestSession } from "../core/session.ts";
import type { BodyLimits, BodyPlace } from "./pipeline/body-budget.ts";

export const METHODS = ["GET", "POST", "PUT", "PATCH", "DELETE"] as const;
/** Methods of routes. Every route with `GET` also serves `HEAD`. */
export type Method = (typeof METHODS)[number];

/** The keys that a route accepts: a customer's, an admin's, or both (docs/security.md). */
type KeyScope = "messages" | "admin" | "any";

/** Largest body of a route, in bytes, unless its declaration names another: 256 KiB. */
const BODY_BYTES_MAX = 262_144;

/** Largest body of a route that takes attachments, in bytes: 10 MiB. */
export const ATTACHMENT_BODY_BYTES_MAX = 10_485_760;

/**
 * The key of a request and its customer. `customerId` is null exactly for an admin key. If `session` is an admin's that acts for a
 * customer, `key` is a view of the admin key.
 */
export interface Caller<Customer extends CustomerId | null = CustomerId | null> {
  readonly key: ApiKey;
  readonly customerId: Customer;
  /** The session that the key comes from; null if the key is in the request. */
  readonly session: RequestSession | null;
}

type CallerOf<S extends KeyScope> = Caller<
  S extends "messages" ? CustomerId : S extends "admin" ? null : CustomerId | null
>;

type Names<Path extends string> = Path extends `${string}:${infer Name}/${infer Rest}`
  ? Name | Names<`/${Rest}`>
  : Path extends `${string}:${infer Name}`
    ? Name
    : never;

/** The parameters of a path: `PathParams<"/v1/messages/:id">` is `{ id: string }`. Decoded, 1 to 512 characters. */
export type PathParams<Path extends string> = { readonly [Name in Names<Path>]: string };

interface AnyRequest<Params> {
  readonly params: Params;
  readonly requestId: string;
  /** Whether the client asked for the head alone (`HEAD`). */
  readonly isHead: boolean;
  /**
   * The signal that ends with the client: aborted as soon as it has gone, and after the response was sent. Work of many pages calls
   * `throwIfAborted` between them, and the thrown error ends the request without a response.
   */
  gone(): AbortSignal;
}

/** A request with a key that passed every check of the pipeline. */
export interface ApiRequest<Body = unknown, Query = unknown, Params = unknown, Who extends Caller = Caller>
  extends AnyRequest<Params> {
  readonly caller: Who;
  /** Valid by the route's schema, without `idempotencyKey`; `undefined` if the route has no schema. No body counts as `{}`. */
  readonly body: Body;
  /** Valid by the route's schema, with defaults; `undefined` if the route has no schema. */
  readonly query: Query;
  /** `cor_` and 32 hex digits, from the caller or minted. Everything that this request causes carries it. */
  readonly correlationId: string;
  /** From the header `Idempotency-Key` or the body of a POST; else null. */
  readonly idempotencyKey: string | null;
  readonly headers: IncomingHttpHeaders;
  /** Value of a request header, by its lower-case name. */
  header(name: string): string | undefined;
}

/** A request to a public route. The pipeline has checked its head and its path, and has read nothing of its body. */
export interface PublicRequest<Params = unknown> extends AnyRequest<Params> {
  /** The target as the client sent it: path and query, not decoded. */
  readonly target: string;
  readonly headers: IncomingHttpHeaders;
  readonly remoteAddress: string;
  /** The client, with its network as the address. */
  client(): ClientAddress;
  /**
   * Reads the body, gives it to `use`, and keeps its memory counted for the owner until `use` has ended. Throws 413 for a
   * body beyond `bytesMax`, 408 for a body that is not here within `withinMs`, and 503 if the client's share of places or the owner's share of
   * the memory for bodies is used up.
   */
  withBody<Result>(body: StrangersBody, use: (body: Buffer) => Result | Promise<Result>): Promise<Result>;
}

/** How the body of a request without a key is read. */
export interface StrangersBody extends Pick<BodyLimits, "bytesMax" | "withinMs">, Pick<BodyPlace, "kind"> {
  /** The owner of its memory. */
  owner: string;
}

/**
 * The response of a handler; `status` is 200 unless given. The pipeline serializes `data` into the envelope and puts
 * `rawData` (JSON text) there as it is; `rawList` is a page of records that are JSON text. `body` is sent without an envelope. `stream` writes the body itself once the
 * head is written; it is not called for a `HEAD`.
 */
export type ApiResponse =
  | { status?: number; data: unknown; headers?: Record<string, string> }
  | { status?: number; rawData: string }
  | { status?: number; rawList: { name: string; items: readonly string[] }; pagination: Pagination }
  | { status?: number; contentType: string | null; body: string }
  | { status?: number; headers: Record<string, string>; stream(response: ServerResponse): void };

interface AnyRoute {
  readonly method: Method;
  /** For example `/v1/messages/:id`. */
  readonly path: string;
}

/** A route for callers with a key, without the types of its declaration. */
export interface KeyedRoute extends AnyRoute {
  readonly scope: KeyScope;
  readonly body: TSchema | null;
  readonly query: TSchema | null;
  readonly bodyBytesMax: number;
  handle(request: ApiRequest): ApiResponse | Promise<ApiResponse>;
}

/** A route without a key. */
export interface PublicRoute extends AnyRoute {
  readonly scope: "public";
  /** For the reference: the handler reads and checks the body itself. */
  readonly body: TSchema | null;
  readonly query: null;
  handle(request: PublicRequest): ApiResponse | Promise<ApiResponse>;
}

/** A declared route, as the server and the OpenAPI document read it. */
export type Route = KeyedRoute | PublicRoute;

/** The type of a request part: that of its schema, `undefined` without a schema. */
type PartOf<Schema extends TSchema | undefined> = Schema extends TSchema ? Static<Schema> : undefined;

/** The argument of `route`. Objects in `body` and `query` must be closed (`closed` in `contract/schema.ts`). */
export interface RouteDeclaration<
  S extends KeyScope,
  Path extends string,
  Body extends TSchema | undefined,
  Query extends TSchema | undefined,
> {
  method: Method;
  path: Path;
  scope: S;
  body?: Body;
  query?: Query;
  bodyBytesMax?: number;
  /** Returns a response or throws an `ApiError`. Any other error is logged and becomes a 500. */
  handle(
    request: ApiRequest<PartOf<Body>, PartOf<Query>, PathParams<Path>, CallerOf<S>>,
  ): ApiResponse | Promise<ApiResponse>;
}

/** Declares a route for callers with a key. The declaration types the handler's `body`, `query`, `params` and `caller`. */
export function route<
  S extends KeyScope,
  const Path extends string,
  Body extends TSchema | undefined = undefined,
  Query extends TSchema | undefined = undefined,
>(declaration: RouteDeclaration<S, Path, Body, Query>): KeyedRoute {
  const { method, path, scope, body = null, query = null, bodyBytesMax = BODY_BYTES_MAX } = declaration;
  // The pipeline calls it with exactly the parts that the schemas and the path promise.
  const handle = declaration.handle.bind(declaration) as KeyedRoute["handle"];
  return { method, path, scope, body, query, bodyBytesMax, handle };
}

/** The argument of `publicRoute`. */
interface PublicRouteDeclaration<Path extends string> {
  method: Method;
  path: Path;
  body?: TSchema;
  handle(request: PublicRequest<PathParams<Path>>): ApiResponse | Promise<ApiResponse>;
}

/**
 * Declares a route without a key. Under `/v1` it keeps the rules of the API: unknown query parameters are a 400, and it
 * is closed while the service starts and stops. Elsewhere the handler decides both.
 */
export function publicRoute<const Path extends string>(declaration: PublicRouteDeclaration<Path>): PublicRoute {
  const { method, path, body = null } = declaration;
  const handle = declaration.handle.bind(declaration) as PublicRoute["handle"];
  return { method, path, scope: "public", body, query: null, handle };
}
