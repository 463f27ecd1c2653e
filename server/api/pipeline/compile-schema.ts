/** Compiles schemas with Ajv. Replaces the keywords whose cost a caller could raise at will. */

import { Ajv, type ErrorObject, type SchemaValidateFunction, type ValidateFunction } from "ajv";
import { AMOUNT_MAX, AMOUNT_MIN } from "../../../sdk/wire.ts";
import { parseAmount } from "../../core/payment.ts";
import { DETAILS_MAX } from "./errors.ts";
import { FORMATS, jsonBytesWithin } from "./formats.ts";

/** The part of a request that a schema describes. Queries are text, so Ajv converts numbers and booleans in them. */
export type RequestPart = "body" | "query";

/** A schema as plain JSON. */
export interface JsonSchema {
  type?: string;
  format?: string;
  properties?: Record<string, JsonSchema>;
  additionalProperties?: unknown;
  items?: JsonSchema;
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

const OPTIONS = {
  allErrors: true,
  useDefaults: true,
  verbose: true,
  strictTypes: false,
  strictRequired: false,
} as const;

/** Longest value that any format accepts, in characters. */
const FORMAT_LENGTH_MAX = 2_048;

/** How many more unknown fields the current validation may name. */
let unknownLeft = DETAILS_MAX;

const AJV = { body: ajv(false), query: ajv(true) };
/** Compiled validators by the schema's JSON, shared by routes and by all servers of this process. */
const COMPILED = { body: new Map<string, ValidateFunction>(), query: new Map<string, ValidateFunction>() };

function ajv(coerceTypes: boolean): Ajv {
  const instance = new Ajv({ ...OPTIONS, coerceTypes });
  for (const [name, { validate }] of Object.entries(FORMATS)) {
    instance.addFormat(name, (value) => value.length <= FORMAT_LENGTH_MAX && validate(value));
  }
  instance.addKeyword({
    keyword: "x-bytesMax",
    type: "object",
    schemaType: "number",
    errors: false,
    validate: (max: number, value: unknown) => jsonBytesWithin(value, max),
  });
  instance.addKeyword({
    keyword: "x-amount",
    type: "number",
    schemaType: "boolean",
    errors: false,
    // `minimum` and `maximum` report values out of bounds.
    validate: (_: boolean, value: number) => parseAmount(value) !== null || value < AMOUNT_MIN || value > AMOUNT_MAX,
  });
  // Ajv's own keywords count all characters of a string, however long it is.
  for (const [keyword, validate] of [
    ["maxLength", (max: number, value: string) => hasAtMost(value, max)],
    ["minLength", (min: number, value: string) => min === 0 || !hasAtMost(value, min - 1)],
  ] as const) {
    instance.removeKeyword(keyword);
    instance.addKeyword({ keyword, type: "string", schemaType: "number", errors: false, validate });
  }
  instance.addKeyword({
    keyword: "x-closed",
    type: "object",
    schemaType: "array",
    before: "additionalProperties",
    compile: refuseUnknown,
  });
  return instance;
}

/** Whether a string has at most so many characters (code points). Reads no more of the string than necessary. */
function hasAtMost(value: string, max: number): boolean {
  if (value.length <= max) return true;
  if (value.length > max * 2) return false;
  let characters = 0;
  for (const _ of value) characters += 1;
  return characters <= max;
}

/** Names unknown fields as `additionalProperties` does, up to the number that a response shows. */
function refuseUnknown(names: string[]): SchemaValidateFunction {
  const known = new Set(names);
  const validate: SchemaValidateFunction = (value: object) => {
    const errors: Partial<ErrorObject>[] = [];
    let isKnown = true;
    for (const name in value) {
      if (known.has(name)) continue;
      isKnown = false;
      if (unknownLeft <= 0) break;
      unknownLeft -= 1;
      errors.push({ keyword: "additionalProperties", params: { additionalProperty: name, known: names } });
    }
    validate.errors = errors;
    return isKnown;
  };
  return validate;
}

/**
 * Lists the errors of a value, none if it is valid, and fills in defaults. The number of errors is bounded: 100 for unknown
 * fields, the rest by the schema, since items beyond `maxItems` are not validated.
 */
export type Validate = (value: unknown) => readonly ErrorObject[];

/**
 * Validates with a schema, which the first value compiles: a start would compile two hundred that nobody may ask for.
 * Throws at once for an open schema, and for a schema whose cost a caller could raise at will.
 */
export function compileSchema(part: RequestPart, schema: JsonSchema): Validate {
  refuseOpen(schema);
  let validate: ValidateFunction | null = null;
  return (value) => {
    validate ??= compiledOf(part, schema);
    unknownLeft = DETAILS_MAX;
    if (validate(value)) return NONE;
    // `if` comes from `bounded`; only the errors behind the condition count.
    return (validate.errors ?? NONE).filter(({ keyword }) => keyword !== "if");
  };
}

/** The compiled schema. Equal schemas are compiled once. */
function compiledOf(part: RequestPart, schema: JsonSchema): ValidateFunction {
  const text = JSON.stringify(schema);
  const validate = COMPILED[part].get(text) ?? AJV[part].compile(bounded(schema));
  COMPILED[part].set(text, validate);
  return validate;
}

const NONE: readonly ErrorObject[] = [];

function refuseOpen(schema: JsonSchema): void {
  if (schema.properties !== undefined && schema.additionalProperties !== false) {
    throw new Error(`a schema with the fields ${Object.keys(schema.properties)} is not closed`);
  }
  if (schema.uniqueItems) throw new Error("uniqueItems is quadratic: remove duplicates in the handler");
  for (const inner of innerOf(schema)) refuseOpen(inner);
  if (schema.type === "array" && schema.maxItems === undefined) throw new Error("a list needs maxItems");
}

function innerOf(schema: JsonSchema): JsonSchema[] {
  const values = Object.values(schema).flatMap((value: unknown) => value);
  return values.filter((value): value is JsonSchema => typeof value === "object" && value !== null);
}

/** The schema with bounded cost: validates items only if there are not too many, and unknown fields by `x-closed`. */
function bounded(schema: JsonSchema): JsonSchema {
  const inner = Object.entries(schema).map(([name, value]: [string, unknown]) => {
    if (Array.isArray(value)) return [name, value.map((one) => (isObject(one) ? bounded(one) : one))];
    return [name, isObject(value) ? bounded(value) : value];
  });
  const { items, ...rest }: JsonSchema = Object.fromEntries(inner);
  if (items !== undefined)
    return { ...rest, if: { minItems: (rest.maxItems ?? 0) + 1 }, else: { items } } as JsonSchema;
  if (schema.type !== "object" || schema.additionalProperties !== false) return rest;
  const { additionalProperties: _, ...open } = rest;
  return { ...open, "x-closed": Object.keys(schema.properties ?? {}) } as JsonSchema;
}

function isObject(value: unknown): value is JsonSchema {
  return typeof value === "object" && value !== null;
}
