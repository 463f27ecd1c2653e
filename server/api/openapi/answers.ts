/** Answers as the document has them: the envelope, refusals by status, and the headers of both. Pure. */

import { Type } from "typebox";
import {
  ERROR_STATUS,
  type ErrorCode,
  type ErrorDetail as WireErrorDetail,
  type Failure as WireFailure,
} from "../../../sdk/wire.ts";
import type { Route } from "../route.ts";
import { wire } from "../schemas/common.ts";
import { ERROR_SENTENCES, failureExample } from "./errors.ts";
import { component, type Operation } from "./operation.ts";
import { CORRELATION_ID, IDS } from "./samples.ts";
import { type Components, type PublishedSchema, publish, refTo } from "./schema.ts";

/** A header, an answer, the content of one, as OpenAPI has them. */
export interface Header {
  description: string;
  schema: PublishedSchema;
}

export interface MediaType {
  schema: PublishedSchema;
  example?: unknown;
}

export interface Answer {
  description: string;
  headers?: Record<string, Header | PublishedSchema>;
  content?: Record<string, MediaType>;
}

const JSON_TYPE = "application/json";

const ErrorDetail = wire<WireErrorDetail>()(component("ErrorDetail", { path: Type.String(), message: Type.String() }));

const CODES = Object.keys(ERROR_STATUS) as ErrorCode[];

/** Every refusal. */
const Failure = wire<WireFailure>()(
  component("Failure", {
    success: Type.Literal(false),
    error: Type.Object({
      code: Type.Enum(CODES),
      message: Type.String(),
      details: Type.Optional(Type.Array(ErrorDetail, { maxItems: 100 })),
    }),
    requestId: Type.String(),
  }),
);

const text = { type: "string" };
const whole = { type: "integer" };

/** Headers of answers, by name: components of the document. */
export const HEADERS: Readonly<Record<string, Header>> = {
  "X-Request-Id": { description: "As `requestId` in the envelope.", schema: text },
  "X-Correlation-Id": {
    description: "Goes with every webhook that this request leads to.",
    schema: { ...text, examples: [CORRELATION_ID] },
  },
  "X-RateLimit-Limit": { description: "Requests of one window. Absent where there is no limit.", schema: whole },
  "X-RateLimit-Remaining": { description: "Requests left in this window.", schema: whole },
  "X-RateLimit-Reset": { description: "When the window ends, in Unix seconds.", schema: whole },
  "Retry-After": { description: "Whole seconds to wait before the next try.", schema: { ...whole, minimum: 1 } },
};

function headers(names: readonly string[]): Record<string, PublishedSchema> {
  return Object.fromEntries(names.map((name) => [name, { $ref: `#/components/headers/${name}` }]));
}

const TRACED = ["X-Request-Id", "X-Correlation-Id"];
const LIMITED = ["X-RateLimit-Limit", "X-RateLimit-Remaining", "X-RateLimit-Reset"];

/** What every route under `/v1` can say of what it is asked. */
const BAD_REQUEST: readonly ErrorCode[] = ["VALIDATION_ERROR", "INVALID_JSON"];

/** Refusals that every route under `/v1` can answer. */
const COMMON: readonly ErrorCode[] = [
  ...BAD_REQUEST,
  "UNAUTHORIZED",
  "FORBIDDEN",
  "RATE_LIMITED",
  "INTERNAL_ERROR",
  "SERVICE_UNAVAILABLE",
];

/** Refusals that only a key can bring about. */
const OF_KEYS: readonly ErrorCode[] = ["UNAUTHORIZED", "FORBIDDEN", "RATE_LIMITED"];

/** Refusals of a request that is not one: what is left of the edge. */
const REST: readonly ErrorCode[] = [
  "METHOD_NOT_ALLOWED",
  "REQUEST_TIMEOUT",
  "PAYLOAD_TOO_LARGE",
  "URI_TOO_LONG",
  "UNSUPPORTED_MEDIA_TYPE",
  "HEADERS_TOO_LARGE",
];

/** The codes that a route under `/v1` can refuse a request with, those of the edge for what is no request left out. */
export function codesOf({ method, path, scope }: Route, { errors = [] }: Operation): ErrorCode[] {
  const common = scope === "public" ? COMMON.filter((code) => !OF_KEYS.includes(code)) : COMMON;
  const named: ErrorCode[] = path.includes(":") ? ["NOT_FOUND"] : [];
  // What a repeat would be answered with may have been deleted meanwhile.
  const repeated: ErrorCode[] = method === "POST" ? ["IDEMPOTENCY_KEY_REUSED", "NOT_FOUND"] : [];
  return [...new Set([...common, ...named, ...repeated, ...errors])];
}

function refusal(codes: readonly ErrorCode[], isRest = false): Answer {
  const [first] = codes;
  const sentences = codes.map((code) => `- \`${code}\`: ${ERROR_SENTENCES[code]}`);
  const narrowed = { properties: { error: { properties: { code: { enum: [...codes] } } } } };
  const retried = codes.some((code) => code === "RATE_LIMITED" || code === "SERVICE_UNAVAILABLE");
  return {
    description: sentences.join("\n"),
    headers: headers([...TRACED, ...(isRest ? [] : LIMITED), ...(retried ? ["Retry-After"] : [])]),
    content: {
      [JSON_TYPE]: {
        schema: { allOf: [refTo("Failure"), narrowed] },
        ...(first === undefined ? {} : { example: failureExample(first) }),
      },
    },
  };
}

/** The name under which a refusal stands in the document once: that of its only code, or of what all routes share. */
function sharedName(codes: readonly ErrorCode[]): string | null {
  const [only] = codes;
  if (codes.length === 1 && only !== undefined) return only;
  const isCommon = codes.length === BAD_REQUEST.length && BAD_REQUEST.every((code) => codes.includes(code));
  return isCommon ? "BAD_REQUEST" : null;
}

/** The refusals that routes share, for the document's components. */
export function commonRefusals(components: Components): Record<string, Answer> {
  publish(Failure, "Failure", components);
  const single = CODES.filter((code) => !REST.includes(code)).map((code) => [code, refusal([code])]);
  return { ...Object.fromEntries(single), BAD_REQUEST: refusal(BAD_REQUEST), REFUSED: refusal(REST, true) };
}

/** The refusals of one route by status; `default` is what the edge has to say to what is no request. */
export function refusals(codes: readonly ErrorCode[]): Record<string, Answer | PublishedSchema> {
  const byStatus = Map.groupBy(codes, (code) => ERROR_STATUS[code]);
  const found: Record<string, Answer | PublishedSchema> = {};
  for (const status of [...byStatus.keys()].sort()) {
    const own = byStatus.get(status) ?? [];
    const name = sharedName(own);
    found[status] = name === null ? refusal(own) : { $ref: `#/components/responses/${name}` };
  }
  return { ...found, default: { $ref: "#/components/responses/REFUSED" } };
}

/** The successes of one route: in the envelope, or as they come; with 201 and 202 also that of a repeat. */
export function successes(told: Operation, isKeyed: boolean, components: Components): Record<string, Answer> {
  const { status = 200, contents = {}, bare = false, headers: read = {} } = told;
  const others = Object.entries(contents).map(([type, content]): [string, MediaType] => {
    const example = content.example === undefined ? {} : { example: content.example };
    return [type, { schema: publish(content.schema, told.id, components), ...example }];
  });
  const enveloped: [string, MediaType][] = bare ? [] : [[JSON_TYPE, envelope(told, components)]];
  const answer: Answer = {
    description: bare ? "As described." : "Done.",
    headers: headers(isKeyed ? [...TRACED, ...LIMITED] : ["X-Request-Id"]),
    content: Object.fromEntries([...enveloped, ...others]),
  };
  if ("Range" in read) return { "200": answer, "206": { ...answer, description: "The part that was asked for." } };
  if (status === 200) return { "200": answer };
  const repeat = "A repeat by idempotency key: the record of the first request as it now is. Nothing was done again.";
  const done = status === 201 ? "Made." : "Accepted; what becomes of it comes as events.";
  const { instead } = told;
  if (instead === undefined) {
    return { "200": { ...withoutExamples(answer), description: repeat }, [status]: { ...answer, description: done } };
  }
  const either = envelope({ ...told, answer: Type.Union([told.answer, instead.answer]) }, components);
  const also = { ...withoutExamples(answer), description: `${repeat} ${instead.when}` };
  const content = { ...also.content, [JSON_TYPE]: { schema: either.schema } };
  return { "200": { ...also, content }, [status]: { ...answer, description: done } };
}

function withoutExamples({ content = {}, ...answer }: Answer): Answer {
  const bare = Object.entries(content).map(([type, { schema }]) => [type, { schema }]);
  return { ...answer, content: Object.fromEntries(bare) };
}

function envelope({ id, answer, example }: Operation, components: Components): MediaType {
  return {
    schema: {
      type: "object",
      required: ["success", "data", "requestId"],
      properties: {
        success: { type: "boolean", const: true },
        data: publish(answer, id, components),
        requestId: { type: "string" },
      },
    },
    example: { success: true, data: example, requestId: IDS.request },
  };
}
