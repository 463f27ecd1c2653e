/** Checks responses against the reference: every response that a test gets must be valid in the OpenAPI document. */

import assert from "node:assert/strict";
import type { ValidateFunction } from "ajv";
import { Ajv2020 } from "ajv/dist/2020.js";
import type { ErrorCode } from "../../sdk/wire.ts";
import { buildDocument, type OpenApiDocument, type PublishedOperation } from "../../server/api/openapi/document.ts";
import type { PublishedResponse } from "../../server/api/openapi/responses.ts";

/** The document of the contract, made once per process. */
export function readDocument(): OpenApiDocument {
  document ??= buildDocument("test");
  return document;
}

let document: OpenApiDocument | undefined;
let validator: Validator | undefined;

/** Fails unless the document allows `envelope` as a response of the operation with this status. */
export function assertAnswered(method: string, path: string, status: number, envelope: unknown): void {
  validator ??= createValidator(readDocument());
  validator.assertAnswered(method, path, status, envelope);
}

/** Fails unless `event` is valid for its type in the document. */
export function assertEvent(event: unknown): void {
  validator ??= createValidator(readDocument());
  validator.assertValid("/components/schemas/Event", event, "an event");
}

/** Validates values against a document. Schemas are compiled on first use. */
export interface Validator {
  assertAnswered(method: string, path: string, status: number, envelope: unknown): void;
  /** Fails unless the value is valid for the schema at this JSON pointer of the document. */
  assertValid(pointer: string, value: unknown, what: string): void;
}

const JSON_CONTENT = "content/application~1json/schema";

/** Instants as responses have them: stricter than the format. */
const INSTANT = /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$/;

export function createValidator(source: OpenApiDocument): Validator {
  const closed = close(structuredClone(source));
  // A process validates few values by most schemas: to optimise the code of a schema costs more than that code saves.
  const code = { optimize: false };
  const ajv = new Ajv2020({ strict: false, validateSchema: false, discriminator: true, code });
  ajv.addFormat("date-time", (text) => INSTANT.test(text) && !Number.isNaN(Date.parse(text)));
  ajv.addFormat("email", true);
  ajv.addFormat("uri", true);
  ajv.addFormat("byte", true);
  ajv.addSchema(closed, "api");
  const compiled = new Map<string, ValidateFunction>();
  const find = createFinder(source);
  const assertValid: Validator["assertValid"] = (pointer, value, what) => {
    const validate = compiled.get(pointer) ?? ajv.compile({ $ref: `api#${pointer}` });
    compiled.set(pointer, validate);
    if (validate(value)) return;
    const text = JSON.stringify(value)?.slice(0, 2_000);
    assert.fail(`${what} is not what the document says: ${ajv.errorsText(validate.errors)}\n${text}`);
  };
  return {
    assertValid,
    assertAnswered(method, path, status, envelope) {
      const found = find(method, path);
      const what = `${method} ${path} ${status}`;
      if (found === null) {
        if (status >= 400) assertValid("/components/schemas/Error", envelope, what);
        return;
      }
      const { template, operation } = found;
      const named = operation.responses[status] === undefined ? "default" : String(status);
      const answer = operation.responses[named] ?? assert.fail(`${what}: the document has no such answer`);
      const reference = "$ref" in answer ? String(answer.$ref).slice(1) : null;
      const shared = source.components.responses[reference?.split("/").at(-1) ?? ""];
      assertCode(shared ?? (answer as PublishedResponse), envelope, what);
      const own = `/paths/${pointerStep(template)}/${method.toLowerCase()}/responses/${named}`;
      assertValid(`${reference ?? own}/${JSON_CONTENT}`, envelope, what);
    },
  };
}

/** Fails unless the document lists the error code for this response. */
function assertCode({ "x-codes": codes }: PublishedResponse, envelope: unknown, what: string): void {
  const { error } = (envelope ?? {}) as { error?: { code?: ErrorCode } };
  if (error?.code === undefined || codes === undefined) return;
  assert.ok(codes.includes(error.code), `${what}: the document has no ${error.code} here, but ${codes.join(", ")}`);
}

function pointerStep(text: string): string {
  return encodeURI(text.replaceAll("~", "~0").replaceAll("/", "~1"));
}

interface Found {
  template: string;
  operation: PublishedOperation;
}

/** Matches a path parameter. These words are never ids, so a path with such a word matches no operation. */
const PARAMETER = "(?!(?:scheduled|carousel|bulk|groups|list|deliveries|test|rotate-secret)(?:/|$))[^/]+";

/** Finds the operation of a request: a path of fixed words before one with parameters. */
function createFinder({ paths }: OpenApiDocument): (method: string, path: string) => Found | null {
  const templates = Object.entries(paths).map(([template, item]) => {
    const pattern = new RegExp(`^${template.replace(/[.*+?^$()|[\]\\]/g, "\\$&").replace(/\{\w+\}/g, PARAMETER)}$`);
    return { template, item, pattern, parameters: template.split("{").length };
  });
  templates.sort((a, b) => a.parameters - b.parameters);
  return (method, path) => {
    const [bare = ""] = path.split("?");
    for (const { template, item, pattern } of templates) {
      const operation = pattern.test(bare) ? item[method.toLowerCase()] : undefined;
      if (operation !== undefined) return { template, operation };
    }
    return null;
  };
}

/**
 * Clients must expect new fields; tests must not. The validator also refuses the parts of a choice that only clients
 * need.
 */
function close<Value>(value: Value): Value {
  if (typeof value !== "object" || value === null) return value;
  const schema = value as Record<string, unknown>;
  const isObject = schema.type === "object" || (Array.isArray(schema.type) && schema.type.includes("object"));
  if (isObject && typeof schema.properties === "object") schema.additionalProperties ??= false;
  delete schema.mapping;
  for (const inner of Object.values(value)) close(inner);
  return value;
}
