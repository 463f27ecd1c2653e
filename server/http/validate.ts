/** The fields of a request against their schemas: every bad one at once, in sentences that say what is expected. */

import { Ajv, type ErrorObject, type ValidateFunction } from "ajv";
import type { TSchema } from "typebox";
import type { ErrorDetail } from "../../sdk/wire.ts";
import { isStorable, quote } from "./body.ts";
import { closed, FORMATS, jsonBytes } from "./schemas/common.ts";

/** The part of a request that a schema is for. Only a query is text throughout, so only there numbers are read from it. */
export type Part = "body" | "query";

/** Names what is wrong with a value; nothing when it is as its schema says. Fills in defaults. */
export type Check = (value: unknown) => readonly ErrorDetail[];

const OPTIONS = {
  allErrors: true,
  useDefaults: true,
  verbose: true,
  strictTypes: false,
  strictRequired: false,
} as const;
const AJV = { body: ajv(false), query: ajv(true) };
/** What was compiled, by the schema's JSON: many routes share one, and every further server in this process all. */
const COMPILED = { body: new Map<string, ValidateFunction>(), query: new Map<string, ValidateFunction>() };

function ajv(coerceTypes: boolean): Ajv {
  const instance = new Ajv({ ...OPTIONS, coerceTypes });
  for (const [name, { validate }] of Object.entries(FORMATS)) instance.addFormat(name, validate);
  instance.addKeyword({
    keyword: "x-bytesMax",
    type: "object",
    schemaType: "number",
    errors: false,
    validate: (max: number, value: unknown) => jsonBytes(value) <= max,
  });
  return instance;
}

/**
 * The check of one part of a route. Throws for a schema that would let something through: an object that is not
 * closed, or `uniqueItems`, which is quadratic in what a caller sends.
 */
export function compileCheck(part: Part, schema: TSchema | null): Check {
  // As JSON: what the compiler knows of a schema beyond that is no concern of the validator.
  const text = JSON.stringify(schema ?? closed({}));
  const plain: JsonSchema = JSON.parse(text);
  refuseOpen(plain);
  const validate = COMPILED[part].get(text) ?? AJV[part].compile(plain);
  COMPILED[part].set(text, validate);
  if (part === "body") return (value) => details(validate, value);
  const addresses = addressNames(plain);
  const numbers = numberNames(plain);
  return (value) => queryDetails(validate, { addresses, numbers }, value);
}

interface JsonSchema {
  type?: string;
  format?: string;
  properties?: Record<string, JsonSchema>;
  additionalProperties?: unknown;
  uniqueItems?: boolean;
  enum?: unknown[];
  const?: unknown;
  anyOf?: JsonSchema[];
  minLength?: number;
  maxLength?: number;
  minItems?: number;
  maxItems?: number;
  minimum?: number;
  maximum?: number;
}

function refuseOpen(schema: JsonSchema): void {
  if (schema.properties !== undefined && schema.additionalProperties !== false) {
    throw new Error(`a schema with the fields ${Object.keys(schema.properties)} is not closed`);
  }
  if (schema.uniqueItems) throw new Error("uniqueItems is quadratic: remove doubles in the handler");
  for (const value of Object.values(schema)) {
    for (const inner of Array.isArray(value) ? value : [value]) {
      if (typeof inner === "object" && inner !== null) refuseOpen(inner);
    }
  }
}

/** Query parameters that are addresses: in those a leading space was a `+` (contract 1). */
function addressNames(schema: JsonSchema): string[] {
  const isOne = ({ format }: JsonSchema) => format === "address" || format === "phone";
  return Object.entries(schema.properties ?? {}).flatMap(([name, property]) => (isOne(property) ? [name] : []));
}

/** Query parameters that are numbers, and the kind of each. */
function numberNames(schema: JsonSchema): [name: string, kind: string][] {
  const kinds = Object.entries(schema.properties ?? {}).map(([name, { type = "" }]) => [name, type] as const);
  return kinds.flatMap(([name, kind]) => (kind === "integer" || kind === "number" ? [[name, kind]] : []));
}

interface Named {
  addresses: readonly string[];
  numbers: readonly (readonly [name: string, kind: string])[];
}

function queryDetails(
  validate: ValidateFunction,
  { addresses, numbers }: Named,
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
    // The validator makes a number of it that no bound holds for.
    if (Math.abs(Number(query[name])) === Number.POSITIVE_INFINITY) {
      odd.push({ path: name, message: `must be ${KINDS[kind]}, not ${kindOf(query[name])}` });
    }
  }
  return odd.length > 0 ? odd : details(validate, query);
}

function details(validate: ValidateFunction, value: unknown): readonly ErrorDetail[] {
  if (validate(value)) return NONE;
  const errors = validate.errors ?? [];
  return errors.some(isChoice) ? describeChoices(errors) : errors.map(describe);
}

const NONE: readonly ErrorDetail[] = [];

function isChoice({ keyword }: ErrorObject): boolean {
  return keyword === "anyOf" || keyword === "oneOf";
}

/** Of a choice, speaks of the one alternative that the value was meant for, or else names them all. */
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
    else found.push({ path: pathOf(choice.instancePath), message: `must be ${alternatives(schemaOf(choice))}` });
  }
  return found;
}

function describeChoicesOf(errors: readonly ErrorObject[]): ErrorDetail[] {
  return errors.some(isChoice) ? describeChoices(errors) : errors.map(describe);
}

function isWithin(choice: ErrorObject, error: ErrorObject): boolean {
  return error.schemaPath.startsWith(`${choice.schemaPath}/`) && error.instancePath.startsWith(choice.instancePath);
}

/** The value is of another kind than the alternative, rather than a bad one of its kind. */
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

/** The schema that the error is of: plain JSON, as it was compiled. */
function schemaOf(error: ErrorObject): JsonSchema {
  return (error.parentSchema ?? {}) as JsonSchema;
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

/** A JSON pointer as callers write it: `content.text`, `events[2]`. The request's root is `body`. */
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
      const known = Object.keys(schema.properties ?? {});
      const message =
        known.length === 0 ? "is unknown: there are no fields here" : `is unknown; known are ${known.join(", ")}`;
      return { path: pathOf(instancePath, params.additionalProperty), message };
    }
    default:
      return { path: pathOf(instancePath), message: sentence(keyword, schema, params, data) };
  }
}

function sentence(keyword: string, schema: JsonSchema, params: Record<string, unknown>, data: unknown): string {
  switch (keyword) {
    case "type":
      if (params.type === "integer" && typeof data === "number") return `must be a whole number${got(data)}`;
      return `must be ${KINDS[String(params.type)] ?? String(params.type)}, not ${kindOf(data)}`;
    case "enum":
      return `must be one of ${listed(schema.enum ?? [])}${got(data)}`;
    case "const":
      return `must be ${JSON.stringify(schema.const)}${got(data)}`;
    case "format":
      return `${FORMATS[schema.format ?? ""]?.expected ?? "has another form"}${got(data)}`;
    case "minLength":
    case "maxLength":
      return `must have ${range(schema.minLength, schema.maxLength, "character")}`;
    case "minItems":
    case "maxItems":
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
  // Nothing has fewer characters or items than none, but a number can be less than 0.
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

function kindOf(value: unknown): string {
  if (value === null) return "null";
  if (Array.isArray(value)) return "a list";
  return typeof value === "string" ? `the string ${quote(value)}` : (KINDS[typeof value] ?? "nothing");
}

function got(value: unknown): string {
  if (typeof value === "string") return `; got ${quote(value)}`;
  return typeof value === "number" ? `; got ${value}` : "";
}
