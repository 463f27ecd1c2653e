/** How a resource file declares a route: path, scope, schemas, and a handler whose types follow from them. */

import type { ServerResponse } from "node:http";
import type { Static, TSchema } from "typebox";
import type { CustomerId } from "../core/id.ts";
import type { ApiKey } from "../core/key.ts";

export const METHODS = ["GET", "POST", "PUT", "PATCH", "DELETE"] as const;
/** Methods a route may have. `HEAD` is answered wherever `GET` is. */
export type Method = (typeof METHODS)[number];

/** Whose keys a route takes: of a customer, of an admin, or of both. A `public` one asks for none. */
export type Scope = "messages" | "admin" | "any" | "public";

/** Largest body a route takes unless it says otherwise, in bytes: 256 KiB. */
const BODY_BYTES_MAX = 262_144;

/** Largest body of a route that takes attachments, in bytes: 10 MiB. */
export const ATTACHMENT_BODY_BYTES_MAX = 10_485_760;

/** Who asks. `customerId` is null exactly for an admin key. */
export interface Caller<Customer extends CustomerId | null = CustomerId | null> {
  readonly key: ApiKey;
  readonly customerId: Customer;
}

type CallerOf<S extends Scope> = S extends "public"
  ? null
  : Caller<S extends "messages" ? CustomerId : S extends "admin" ? null : CustomerId | null>;

type Names<Path extends string> = Path extends `${string}:${infer Name}/${infer Rest}`
  ? Name | Names<`/${Rest}`>
  : Path extends `${string}:${infer Name}`
    ? Name
    : never;

/** The parameters a path names: `PathParams<"/v1/messages/:id">` is `{ id: string }`. Decoded, 1 to 512 characters. */
export type PathParams<Path extends string> = { readonly [Name in Names<Path>]: string };

/** One request that passed every check of the edge. */
export interface ApiRequest<
  Body = unknown,
  Query = unknown,
  Params = unknown,
  Who extends Caller | null = Caller | null,
> {
  /** Null exactly on a public route. */
  readonly caller: Who;
  /** As its schema says, without its `idempotencyKey`; `undefined` for a route without one. No body counts as `{}`. */
  readonly body: Body;
  /** As its schema says, defaults filled in; `undefined` for a route without one. */
  readonly query: Query;
  readonly params: Params;
  readonly requestId: string;
  /** `cor_` + 32 hex digits: the caller's or a minted one. Goes with everything this request leads to. */
  readonly correlationId: string;
  /** From the header `Idempotency-Key` or the body; null without one. Only a POST has one. */
  readonly idempotencyKey: string | null;
  /** Value of a request header, by its lower-case name. */
  header(name: string): string | undefined;
  /** Whether only the head of the answer is wanted: what a `stream` would write is left out. */
  readonly isHead: boolean;
  /** Calls `action` once, when the answer has been sent or the client has gone. */
  onGone(action: () => void): void;
}

/**
 * What a handler answers. `status` is 200 unless given. `data` is serialized into the envelope; `rawData` is JSON text
 * put there as it is; `stream` takes the response over once its head is written, and the envelope does not apply.
 */
export type ApiResponse =
  | { status?: number; data: unknown }
  | { status?: number; rawData: string }
  | { status?: number; headers: Record<string, string>; stream(response: ServerResponse): void };

/** A declared route, its types forgotten: what `buildServer` and the OpenAPI document read. */
export interface Route {
  readonly method: Method;
  /** As in `/v1/messages/:id`. */
  readonly path: string;
  readonly scope: Scope;
  readonly body: TSchema | null;
  readonly query: TSchema | null;
  readonly bodyBytesMax: number;
  handle(call: ApiRequest): ApiResponse | Promise<ApiResponse>;
}

/** The type of a request part: that of its schema, `undefined` without one. */
type Part<Schema extends TSchema | undefined> = Schema extends TSchema ? Static<Schema> : undefined;

/** What `route` is told. Objects in `body` and `query` must be closed (`closed` in `schemas/common.ts`). */
export interface RouteDeclaration<
  S extends Scope,
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
  /** Answers, or throws an `ApiError`. Anything else it throws is a 500 and logged. */
  handle(call: ApiRequest<Part<Body>, Part<Query>, PathParams<Path>, CallerOf<S>>): ApiResponse | Promise<ApiResponse>;
}

/** Declares a route. The handler's `body`, `query`, `params` and `caller` are typed by the rest of the declaration. */
export function route<
  S extends Scope,
  const Path extends string,
  Body extends TSchema | undefined = undefined,
  Query extends TSchema | undefined = undefined,
>(declaration: RouteDeclaration<S, Path, Body, Query>): Route {
  const { method, path, scope, body = null, query = null, bodyBytesMax = BODY_BYTES_MAX } = declaration;
  // The edge calls it with exactly the parts that the schemas and the path promise.
  const handle = declaration.handle.bind(declaration) as Route["handle"];
  return { method, path, scope, body, query, bodyBytesMax, handle };
}
