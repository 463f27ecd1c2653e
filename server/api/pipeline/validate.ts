/** Checks the fields of a request against their schemas (400). One error names every bad field and what is expected. */

import type { ErrorObject } from "ajv";
import type { TSchema } from "typebox";
import { ANNOTATIONS, closed } from "../../../contract/schema.ts";
import type { ErrorDetail } from "../../../sdk/wire.ts";
import { AMOUNT_EXPECTED } from "../../core/payment.ts";
import { compileSchema, type JsonSchema, type RequestPart, type Validate } from "./compile-schema.ts";
import { DETAILS_MAX } from "./errors.ts";
import { FORMATS } from "./formats.ts";
import { isStorable, quote, WrittenNumber, writtenNumbers } from "./json.ts";

/** Lists at most 100 problems of a value, none if it is valid. Fills in defaults. */
export type FieldCheck = (value: unknown) => readonly ErrorDetail[];

/**
 * Compiles the check of one part of a route. Throws for a schema with an object that is not closed, and for a schema whose
 * cost a caller could raise at will: `uniqueItems`, or a list without `maxItems`.
 */
export function compileCheck(part: RequestPart, schema: TSchema | null): FieldCheck {
  const given = schema ?? NO_FIELDS;
  const check = CHECKS[part].get(given) ?? makeCheck(part, given);
  CHECKS[part].set(given, check);
  return check;
}

const NO_FIELDS = closed({});
/** The checks by their schemas, which routes and all servers of this process share. */
const CHECKS = { body: new WeakMap<TSchema, FieldCheck>(), query: new WeakMap<TSchema, FieldCheck>() };

function makeCheck(part: RequestPart, schema: TSchema): FieldCheck {
  // As JSON without the notes for readers: the validator checks what is left.
  const text = JSON.stringify(schema, (name, value) => (ANNOTATIONS.has(name) ? undefined : value));
  const plain: JsonSchema = JSON.parse(text);
  const validate = compileSchema(part, plain);
  if (part === "body") return (value) => details(quotable(validate(value), value));
  const addresses = addressNames(plain);
  const numbers = numberNames(plain);
  return (value) => queryDetails(validate, { addresses, numbers }, value);
}

/** Query parameters that are or may be addresses. A leading space in one was a `+` before decoding. */
function addressNames(schema: JsonSchema): string[] {
  const isOne = ({ format = "" }: JsonSchema) => ["address", "phone", "chatName"].includes(format);
  return Object.entries(schema.properties ?? {}).flatMap(([name, property]) => (isOne(property) ? [name] : []));
}

/** Query parameters that are numbers, and the kind of each. */
function numberNames(schema: JsonSchema): [name: string, kind: string][] {
  const kinds = Object.entries(schema.properties ?? {}).map(([name, { type = "" }]) => [name, type] as const);
  return kinds.flatMap(([name, kind]) => (kind === "integer" || kind === "number" ? [[name, kind]] : []));
}

interface NamedParameters {
  addresses: readonly string[];
  numbers: readonly (readonly [name: string, kind: string])[];
}

function queryDetails(
  validate: Validate,
  { addresses, numbers }: NamedParameters,
  value: unknown,
): readonly ErrorDetail[] {
  const query = value as Record<string, unknown>;
  for (const name of addresses) {
    const address = query[name];
    if (typeof address === "string" && address.startsWith(" ")) query[name] = `+${address.slice(1)}`;
  }
  const odd: ErrorDetail[] = [];
  for (const name in query) {
    const given = query[name];
    const storable = typeof given === "string" ? isStorable(given) : !Array.isArray(given) || given.every(isStorable);
    if (!storable || !isStorable(name)) odd.push({ path: name, message: "must not contain NUL" });
  }
  for (const [name, kind] of numbers) {
    const given = query[name];
    // Ajv would convert `0x10`, `1e1` and ` 5` to numbers, and a long one to Infinity, which no bound refuses.
    if (typeof given !== "string" || !isStorable(given)) continue;
    if (!(kind === "integer" ? WHOLE : DECIMAL).test(given) || !Number.isFinite(Number(given))) {
      odd.push({ path: name, message: `must be ${KINDS[kind]}, not ${kindOf(given)}` });
    }
  }
  return odd.length > 0 ? odd : details(validate(query));
}

/** Numbers of a query as everybody reads them. */
const WHOLE = /^-?\d+$/;
const DECIMAL = /^-?\d+(\.\d+)?$/;

/** The errors with numbers as the sender wrote them. */
function quotable(errors: readonly ErrorObject[], body: unknown): readonly ErrorObject[] {
  const written = writtenNumbers(body);
  const dataOf = ({ data, instancePath }: ErrorObject) => (typeof data === "number" ? written(instancePath) : null);
  return errors.map((error) => ({ ...error, data: dataOf(error) ?? error.data }));
}

function details(errors: readonly ErrorObject[]): readonly ErrorDetail[] {
  if (errors.length === 0) return NONE;
  return errors.some(isChoice)
    ? describeChoices(errors).slice(0, DETAILS_MAX)
    : errors.slice(0, DETAILS_MAX).map(describe);
}

const NONE: readonly ErrorDetail[] = [];

function isChoice({ keyword }: ErrorObject): boolean {
  return keyword === "anyOf" || keyword === "oneOf";
}

/** Describes errors within a choice: those of the one alternative that the value was meant for, or else all alternatives. */
function describeChoices(errors: readonly ErrorObject[]): ErrorDetail[] {
  const choices = errors.filter(isChoice);
  const found = errors
    .filter((error) => !choices.some((choice) => isWithin(choice, error)) && !isChoice(error))
    .map(describe);
  for (const choice of choices) {
    if (choices.some((outer) => outer !== choice && isWithin(outer, choice))) continue;
    const branches = groupByBranch(choice, errors);
    const meant = branches.filter((branch) => !branch.some((error) => isWrongKind(choice, error)));
    const [only] = meant;
    if (only !== undefined && meant.length === 1) found.push(...describeChoicesOf(only));
    else found.push({ path: pathOf(choice.instancePath), message: noneOf(choice) });
  }
  return found;
}

function describeChoicesOf(errors: readonly ErrorObject[]): ErrorDetail[] {
  return errors.some(isChoice) ? describeChoices(errors) : errors.map(describe);
}

function isWithin(choice: ErrorObject, error: ErrorObject): boolean {
  return error.schemaPath.startsWith(`${choice.schemaPath}/`) && error.instancePath.startsWith(choice.instancePath);
}

/** Whether the value is of another kind than the alternative, and not a bad value of the right kind. */
function isWrongKind(choice: ErrorObject, error: ErrorObject): boolean {
  return error.instancePath === choice.instancePath && ["type", "const", "enum"].includes(error.keyword);
}

function groupByBranch(choice: ErrorObject, errors: readonly ErrorObject[]): ErrorObject[][] {
  const branches = new Map<string, ErrorObject[]>();
  for (const error of errors) {
    if (!isWithin(choice, error)) continue;
    const branch = error.schemaPath.slice(choice.schemaPath.length + 1).split("/")[0] ?? "";
    branches.set(branch, [...(branches.get(branch) ?? []), error]);
  }
  return [...branches.values()];
}

/** The compiled schema that raised the error. */
function schemaOf(error: ErrorObject): JsonSchema {
  return (error.parentSchema ?? {}) as JsonSchema;
}

/** The message for a value of none of the kinds. */
function noneOf(choice: ErrorObject): string {
  return `must be ${alternatives(schemaOf(choice))}`;
}

function alternatives(schema: JsonSchema): string {
  const kinds = (schema.anyOf ?? []).map((one) => {
    if (one.const !== undefined) return JSON.stringify(one.const);
    if (one.enum !== undefined) return `one of ${listed(one.enum)}`;
    return KINDS[one.type ?? ""] ?? "another value";
  });
  return kinds.join(" or ");
}

const KINDS: Readonly<Record<string, string>> = {
  string: "a string",
  integer: "a whole number",
  number: "a number",
  boolean: "true or false",
  object: "an object",
  array: "a list",
  null: "null",
};

/** A JSON pointer as callers write paths: `content.text`, `events[2]`. The root of the request is `body`. */
function pathOf(pointer: string, field?: string): string {
  let path = "";
  for (const step of pointer.split("/").slice(1)) {
    const name = step.replaceAll("~1", "/").replaceAll("~0", "~");
    path += /^\d+$/.test(name) ? `[${name}]` : path === "" ? name : `.${name}`;
  }
  if (field === undefined) return path === "" ? "body" : path;
  return path === "" ? field : `${path}.${field}`;
}

function describe(error: ErrorObject): ErrorDetail {
  const { instancePath, keyword, params, data } = error;
  const schema = schemaOf(error);
  switch (keyword) {
    case "required":
      return { path: pathOf(instancePath, params.missingProperty), message: "is required" };
    case "additionalProperties": {
      const { known, additionalProperty } = params;
      const message =
        known.length === 0 ? "is unknown: there are no fields here" : `is unknown; known are ${known.join(", ")}`;
      return { path: pathOf(instancePath, additionalProperty), message };
    }
    default:
      return { path: pathOf(instancePath), message: sentence(keyword, schema, params, data) };
  }
}

/** The message for an empty text or list where any other length would do: the longest one is of no use to its sender. */
const EMPTY = "must not be empty";

function sentence(keyword: string, schema: JsonSchema, params: Record<string, unknown>, data: unknown): string {
  switch (keyword) {
    case "type":
      if (params.type === "integer" && isNumber(data)) return `must be a whole number${got(data)}`;
      return `must be ${KINDS[String(params.type)] ?? String(params.type)}, not ${kindOf(data)}`;
    case "enum":
      return `must be one of ${listed(schema.enum ?? [])}${got(data)}`;
    case "const":
      return `must be ${JSON.stringify(schema.const)}${got(data)}`;
    case "format":
      return `${FORMATS[schema.format ?? ""]?.expected ?? "has another form"}${got(data)}`;
    case "minLength":
    case "maxLength":
      if (data === "" && schema.minLength === 1) return EMPTY;
      return `must have ${range(schema.minLength, schema.maxLength, "character")}`;
    case "minItems":
    case "maxItems":
      if (Array.isArray(data) && data.length === 0 && schema.minItems === 1) return EMPTY;
      return `must have ${range(schema.minItems, schema.maxItems, "item")}`;
    case "minimum":
    case "maximum":
      return `must be ${range(schema.minimum, schema.maximum, "")}${got(data)}`;
    case "exclusiveMinimum":
      return `must be more than ${count(params.limit)}${got(data)}`;
    case "maxProperties":
      return `must have at most ${count(params.limit)} fields`;
    case "minProperties":
      return `must have at least ${count(params.limit)} of its fields`;
    case "x-amount":
      return `${AMOUNT_EXPECTED}${got(data)}`;
    case "x-bytesMax":
      return `must be at most ${count((schema as Record<string, unknown>)["x-bytesMax"])} bytes as JSON`;
    case "pattern":
      return `must match ${String(params.pattern)}${got(data)}`;
    default:
      return `does not fit (${keyword})${got(data)}`;
  }
}

function range(min: number | undefined, max: number | undefined, unit: string): string {
  const units = unit === "" ? "" : ` ${unit}${(max ?? min) === 1 ? "" : "s"}`;
  // A minimum of 0 says nothing about characters or items, but a number can be negative.
  if (min === undefined || (min === 0 && max !== undefined && unit !== "")) return `at most ${count(max)}${units}`;
  if (max === undefined) return `at least ${count(min)}${units}`;
  return min === max ? `exactly ${count(min)}${units}` : `${count(min)} to ${count(max)}${units}`;
}

function count(value: unknown): string {
  return Number(value).toLocaleString("en-US");
}

function listed(values: readonly unknown[]): string {
  return values.map(String).join(", ");
}

function isNumber(value: unknown): value is number | WrittenNumber {
  return typeof value === "number" || value instanceof WrittenNumber;
}

function kindOf(value: unknown): string {
  if (value === null) return "null";
  if (Array.isArray(value)) return "a list";
  if (isNumber(value)) return "a number";
  return typeof value === "string" ? `the string ${quote(value)}` : (KINDS[typeof value] ?? "nothing");
}

function got(value: unknown): string {
  if (typeof value === "string") return `; got ${quote(value)}`;
  if (!isNumber(value)) return "";
  const text = value instanceof WrittenNumber ? value.text : String(value);
  return `; got ${text.length > 60 ? `${text.slice(0, 60)}…` : text}`;
}
