/** How a noun declares its operations: what the API does at each route, beyond what its handler does. */

import type { Static, TSchema } from "typebox";
import type { ERROR_STATUS } from "./errors.ts";

type Code = keyof typeof ERROR_STATUS;

/** An operation as the reference describes it. */
export interface Operation {
  /** `operationId`: unique, and what client generators name a method after. */
  id: string;
  /** The action, in a few words without a full stop. */
  summary: string;
  /** Guarantees of the operation, and their limits. */
  description: string;
  /** Status of a success; 200 unless given. With 201 and 202, a repeat by idempotency key gets 200. */
  status?: 200 | 201 | 202;
  /** The keys that it takes; unless given, an admin key under `/v1/admin` and else a customer's. `outside`: it is no route of the API. */
  scope?: "any" | "public" | "outside";
  query?: TSchema;
  body?: TSchema;
  /** `data` of a success. */
  response: TSchema;
  example: unknown;
  /** Another shape that a 200 may hold, and when. */
  instead?: { response: TSchema; when: string };
  /** Error codes of its own, beside those of every route. */
  errors?: readonly Code[];
  bodyExample?: unknown;
  queryExample?: Readonly<Record<string, string>>;
  /** Request headers that only this operation reads. */
  headers?: Readonly<Record<string, ParameterText>>;
  /** Responses outside the envelope, by content type. */
  contents?: Readonly<Record<string, Content>>;
  /** Whether only the session of a browser may call it; a request with a key is a 401. */
  session?: boolean;
  /** Whether there is no envelope: `contents` is all. */
  bare?: boolean;
  /** Operations that take a value of the response: the `id` of `data` becomes their path parameter. */
  links?: readonly Link[];
}

/** A link from a response to another operation. */
export interface Link {
  /** The operation that it leads to. */
  to: string;
  /** For each parameter of its path, a field of `data`, or a runtime expression of OpenAPI. */
  parameters: Readonly<Record<string, string>>;
}

/** A response outside the envelope. */
export interface Content {
  schema: TSchema;
  example?: unknown;
}

/** Text about a parameter of a path or header. */
export interface ParameterText {
  description: string;
  example: string;
  pattern?: string;
}

export type RouteName = `${"GET" | "POST" | "PUT" | "PATCH" | "DELETE"} /${string}`;

/** One section of the reference: the operations of a noun. */
export interface Section {
  tag: string;
  description: string;
  /** The parameters of its paths, by name. */
  parameters?: Readonly<Record<string, ParameterText>>;
  operations: Readonly<Record<RouteName, Operation>>;
}

/** An operation whose example has the type of its response. */
export function operation<Schema extends TSchema>(
  declared: Operation & { response: Schema; example: Static<Schema> },
): Operation {
  return declared;
}

/** A link from a list to the operation that gets one of its records. */
export function linksToFirst(list: string, to: string): Link[] {
  return [{ to, parameters: { id: `${list}/0/id` } }];
}

/** Links from a response with an `id` to operations on the same record. */
export function linksTo(...operationIds: string[]): Link[] {
  return operationIds.map((to) => ({ to, parameters: { id: "id" } }));
}
