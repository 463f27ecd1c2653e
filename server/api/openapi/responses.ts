/** Responses of the document: named envelopes, errors by status, and the headers of both. Pure. */

import { type TSchema, Type } from "typebox";
import { ERROR_STATUS, errorSentences, Failure, failureExample } from "../../../contract/errors.ts";
import type { Link, Operation } from "../../../contract/operation.ts";
import { CORRELATION_ID, IDS } from "../../../contract/samples.ts";
import { NAME } from "../../../contract/schema.ts";
import type { ErrorCode } from "../../../sdk/wire.ts";
import { addComponent, type Components, type PublishedSchema, publish, refTo } from "./schema.ts";

/** A header, a response and the content of a response, as OpenAPI has them. */
export interface Header {
  description: string;
  schema: PublishedSchema;
}

export interface MediaType {
  schema: PublishedSchema;
  example?: unknown;
}

/** A link from a response to another operation. */
export interface PublishedLink {
  operationId: string;
  parameters: Record<string, string>;
}

export interface PublishedResponse {
  description: string;
  headers?: Record<string, Header | PublishedSchema>;
  content?: Record<string, MediaType>;
  links?: Record<string, PublishedLink>;
  /** The error codes of this response. */
  "x-codes"?: ErrorCode[];
}

const JSON_TYPE = "application/json";

const CODES = Object.keys(ERROR_STATUS) as ErrorCode[];

const text = { type: "string" };
const whole = { type: "integer" };

/** Headers of responses, by name: components of the document. */
export const HEADERS: Readonly<Record<string, Header>> = {
  "X-Request-Id": { description: "The same as `requestId` in the envelope.", schema: text },
  "X-Correlation-Id": {
    description: "Sent with every webhook that this request leads to.",
    schema: { ...text, examples: [CORRELATION_ID] },
  },
  "X-RateLimit-Limit": { description: "Requests of one window; absent without a limit.", schema: whole },
  "X-RateLimit-Remaining": { description: "Requests left in this window.", schema: whole },
  "X-RateLimit-Reset": { description: "When the window ends, in Unix seconds.", schema: whole },
  "Retry-After": { description: "Whole seconds to wait before the next try.", schema: { ...whole, minimum: 1 } },
};

function headers(names: readonly string[]): Record<string, PublishedSchema> {
  return Object.fromEntries(names.map((name) => [name, { $ref: `#/components/headers/${name}` }]));
}

const TRACED = ["X-Request-Id", "X-Correlation-Id"];
const LIMITED = ["X-RateLimit-Limit", "X-RateLimit-Remaining", "X-RateLimit-Reset"];

/** Codes of an invalid request, at every route under `/v1`. */
const BAD_REQUEST: readonly ErrorCode[] = ["VALIDATION_ERROR", "INVALID_JSON"];

/** Codes of every route under `/v1`. */
const COMMON: readonly ErrorCode[] = [
  ...BAD_REQUEST,
  "UNAUTHORIZED",
  "FORBIDDEN",
  "RATE_LIMITED",
  "URI_TOO_LONG",
  "INTERNAL_ERROR",
  "SERVICE_UNAVAILABLE",
];

/** Codes of routes that take a key. */
const OF_KEYS: readonly ErrorCode[] = ["UNAUTHORIZED", "FORBIDDEN", "RATE_LIMITED"];

/** Codes of requests that reach no route. */
const UNROUTED: readonly ErrorCode[] = [
  "METHOD_NOT_ALLOWED",
  "REQUEST_TIMEOUT",
  "PAYLOAD_TOO_LARGE",
  "UNSUPPORTED_MEDIA_TYPE",
  "HEADERS_TOO_LARGE",
];

/** The error codes of an operation, without those of requests that reach no route. */
export function codesOf(method: string, path: string, { scope, errors = [] }: Operation): readonly ErrorCode[] {
  if (scope === "outside") return errors;
  const common = scope === "public" ? COMMON.filter((code) => !OF_KEYS.includes(code)) : COMMON;
  if (!path.startsWith("/v1/")) return [...new Set([...common, ...errors])];
  const named: ErrorCode[] = path.includes(":") ? ["NOT_FOUND"] : [];
  // The record that a repeat returns may have been deleted since.
  const repeated: ErrorCode[] = method === "POST" ? ["IDEMPOTENCY_KEY_REUSED", "NOT_FOUND"] : [];
  return [...new Set([...common, ...named, ...repeated, ...errors])];
}

function errorResponse(codes: readonly ErrorCode[], isUnrouted = false): PublishedResponse {
  const [first] = codes;
  const sentences = codes.map((code) => `- \`${code}\`: ${errorSentences[code]}`);
  const retried = codes.some((code) => code === "RATE_LIMITED" || code === "SERVICE_UNAVAILABLE");
  return {
    description: sentences.join("\n"),
    "x-codes": [...codes],
    headers: headers([...TRACED, ...(isUnrouted ? [] : LIMITED), ...(retried ? ["Retry-After"] : [])]),
    content: {
      [JSON_TYPE]: { schema: refTo("Error"), ...(first === undefined ? {} : { example: failureExample(first) }) },
    },
  };
}

/** The name of an error response that several routes share: its only code, or `BAD_REQUEST`. */
function sharedName(codes: readonly ErrorCode[]): string | null {
  const [only] = codes;
  if (codes.length === 1 && only !== undefined) return only;
  const isCommon = codes.length === BAD_REQUEST.length && BAD_REQUEST.every((code) => codes.includes(code));
  return isCommon ? "BAD_REQUEST" : null;
}

/** The error responses that routes share, for the document's components. */
export function sharedErrors(components: Components): Record<string, PublishedResponse> {
  publish(Failure, components);
  const single = CODES.filter((code) => !UNROUTED.includes(code)).map((code) => [code, errorResponse([code])]);
  return {
    ...Object.fromEntries(single),
    BAD_REQUEST: errorResponse(BAD_REQUEST),
    UNROUTED: errorResponse(UNROUTED, true),
  };
}

/** The error responses of one route by status; `default` is that of a request that reaches no route. */
export function errorResponses(codes: readonly ErrorCode[]): Record<string, PublishedResponse | PublishedSchema> {
  const byStatus = Map.groupBy(codes, (code) => ERROR_STATUS[code]);
  const found: Record<string, PublishedResponse | PublishedSchema> = {};
  for (const status of [...byStatus.keys()].sort()) {
    const own = byStatus.get(status) ?? [];
    const name = sharedName(own);
    found[status] = name === null ? errorResponse(own) : { $ref: `#/components/responses/${name}` };
  }
  return { ...found, default: { $ref: "#/components/responses/UNROUTED" } };
}

/** The successes of one route, in the envelope or without; with 201 and 202 also the 200 of a repeat, if repeats are recognised. */
export function successes(
  declared: Operation,
  { isKeyed, isRepeatable }: { isKeyed: boolean; isRepeatable: boolean },
  components: Components,
): Record<string, PublishedResponse> {
  const { status = 200, contents = {}, bare = false, headers: read = {}, instead } = declared;
  const others = Object.entries(contents).map(([type, content]): [string, MediaType] => {
    const example = content.example === undefined ? {} : { example: content.example };
    return [type, { schema: publish(content.schema, components), ...example }];
  });
  const example = { success: true, data: declared.example, requestId: IDS.request };
  const enveloped: [string, MediaType][] = bare
    ? []
    : [[JSON_TYPE, { schema: envelope(declared.response, components), example }]];
  const response: PublishedResponse = {
    description: bare ? "As described." : "Done.",
    headers: headers(isKeyed ? [...TRACED, ...LIMITED] : ["X-Request-Id"]),
    content: Object.fromEntries([...enveloped, ...others]),
    ...linked(declared.links),
  };
  if ("Range" in read) return { "200": response, "206": { ...response, description: "The requested part." } };
  if (status === 200) return { "200": response };
  const repeat =
    "A repeat by idempotency key: the current state of the first request's record. Nothing was done again.";
  const done = status === 201 ? "Created." : "Accepted. Events report the outcome.";
  if (!isRepeatable) return { [status]: { ...response, description: done } };
  const again = { ...withoutExamples(response), description: repeat };
  if (instead === undefined) return { "200": again, [status]: { ...response, description: done } };
  const either = envelope(Type.Union([declared.response, instead.response]), components);
  const { links: _, ...plan } = { ...again, description: `${repeat} ${instead.when}` };
  const content = { ...plan.content, [JSON_TYPE]: { schema: either } };
  return { "200": { ...plan, content }, [status]: { ...response, description: done } };
}

function withoutExamples({ content = {}, ...response }: PublishedResponse): PublishedResponse {
  const bare = Object.entries(content).map(([type, { schema }]) => [type, { schema }]);
  return { ...response, content: Object.fromEntries(bare) };
}

function linked(links: readonly Link[] = []): Pick<PublishedResponse, "links"> {
  if (links.length === 0) return {};
  const published = links.map(({ to, parameters }) => {
    const values = Object.entries(parameters).map(([name, from]) => [name, sourceOf(from)]);
    return [to, { operationId: to, parameters: Object.fromEntries(values) }];
  });
  return { links: Object.fromEntries(published) };
}

/** A field of `data`, or an expression of OpenAPI. */
function sourceOf(from: string): string {
  return from.startsWith("$") ? from : `$response.body#/data/${from}`;
}

/** The envelope of a success, a component named for its data. */
function envelope(response: TSchema, components: Components): PublishedSchema {
  const name = `${dataName(JSON.parse(JSON.stringify(response)) as PublishedSchema)}Response`;
  const data = publish(response, components);
  const schema = {
    type: "object",
    description: "Envelope of a success.",
    required: ["success", "data", "requestId"],
    properties: {
      success: { type: "boolean", const: true, description: "Always true." },
      data: { ...data, description: "The result." },
      requestId: { type: "string", description: "Id of the request in the log of the service." },
    },
  };
  return addComponent(name, schema, components);
}

/** `Message`, `Webhooks` for a list, `WebhookOrNull`, `AcceptedMessageOrDryRun`, `Null`. */
function dataName({ [NAME]: name, items, anyOf }: PublishedSchema): string {
  if (typeof name === "string") return name;
  if (items !== undefined) return `${dataName(items)}s`;
  return anyOf === undefined ? "Null" : anyOf.map(dataName).join("Or");
}
