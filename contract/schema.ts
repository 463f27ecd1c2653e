/** Builds the schemas of the contract: each has a sentence, named ones a name, and some show more than is validated. */

import { type TArray, type TObject, type TProperties, type TSchema, Type } from "typebox";

/** Name of a shape: its component in the OpenAPI document. */
export const NAME = "x-name";
/** Sentence about a named shape itself; `description` is about the field that holds it. */
export const ABOUT = "x-about";
/** Keywords for readers only: the service enforces the same rule later, with an error code of its own. */
export const SHOWN = "x-shown";
/** The TypeScript type, if it differs from the one that the keywords describe. */
export const TYPESCRIPT = "x-typescript";
/** The field that this one is an alias of: accepted in requests, absent from responses. */
export const ALIAS_OF = "x-aliasOf";

/** Annotations that no validator and no reader of the document sees. */
export const ANNOTATIONS: ReadonlySet<string> = new Set([NAME, ABOUT, SHOWN, TYPESCRIPT, ALIAS_OF]);

/** Keywords of JSON Schema. */
export type Keywords = Readonly<Record<string, unknown>>;

/** Copies a schema with further keywords; its type stays. */
function extend<Schema extends TSchema>(schema: Schema, keywords: Keywords): Schema {
  // TypeBox keeps what it knows of a schema in properties that are not enumerable.
  const copy = Object.defineProperties({}, Object.getOwnPropertyDescriptors(schema)) as Schema;
  return Object.assign(copy, keywords);
}

/** The schema with this sentence as the description of the field that holds it. */
export function says<Schema extends TSchema>(schema: Schema, description: string): Schema {
  return extend(schema, { description });
}

/** The schema with keywords that the document shows and the validator does not check. */
export function shows<Schema extends TSchema>(schema: Schema, keywords: Keywords): Schema {
  return extend(schema, { [SHOWN]: { ...((schema as Record<string, unknown>)[SHOWN] as Keywords), ...keywords } });
}

/** A field under a second name: accepted in requests only. */
export function alias<Schema extends TSchema>(of: string, schema: Schema): Schema {
  return extend(schema, { description: `Alias of \`${of}\`, accepted in requests only.`, [ALIAS_OF]: of });
}

export const optional = Type.Optional;

/** An object of a request: an unknown field is refused by name. */
export function closed<Properties extends TProperties>(properties: Properties, keywords: Keywords = {}) {
  return Type.Object(properties, { ...keywords, additionalProperties: false });
}

/** A named object of requests. */
export function request<Properties extends TProperties>(
  name: string,
  about: string,
  properties: Properties,
  shown?: Keywords,
): TObject<Properties> {
  return closed(properties, { [NAME]: name, [ABOUT]: about, ...(shown === undefined ? {} : { [SHOWN]: shown }) });
}

/** A named object of responses and events: every field of the shape is there; later versions may add fields. */
export function record<Properties extends TProperties>(
  name: string,
  about: string,
  properties: Properties,
): TObject<Properties> {
  return Type.Object(properties, { [NAME]: name, [ABOUT]: about });
}

/** A named choice of words. */
export function choice<const Values extends string[]>(name: string, values: readonly [...Values], about: string) {
  return Type.Enum<Values>([...values], { [NAME]: name, [ABOUT]: about });
}

/** Exactly one of these fields must be given. Inside `allOf`, so that generators still see one plain object. */
export function exactlyOne(...fields: string[]): Keywords {
  return { oneOf: fields.map((field) => ({ required: [field] })) };
}

/** At least one of these fields must be given. */
export function atLeastOne(...fields: string[]): Keywords {
  return { anyOf: fields.map((field) => ({ required: [field] })) };
}

/** A field that must be absent, in a rule about others. */
export const absent: Keywords = { not: {} };

/** The rule of every text of a request: the service refuses NUL wherever it stands. */
const storable: Keywords = { pattern: "^[^\\x00]*$" };

/**
 * Text of a request, of `min` to `max` characters. `shown` replaces the pattern that forbids NUL, so a pattern in it must
 * forbid NUL too.
 */
export function text(min: number, max: number, description?: string, shown: Keywords = storable) {
  return Type.String({
    minLength: min,
    maxLength: max,
    ...(description === undefined ? {} : { description }),
    [SHOWN]: shown,
  });
}

/** Text of a response. */
export function string(description: string) {
  return Type.String({ description });
}

export function flag(description: string) {
  return Type.Boolean({ description });
}

/** A whole number. */
export function count(description: string, bounds: { minimum?: number; maximum?: number } = {}) {
  return Type.Integer({ ...bounds, description });
}

/** A list. A list of a request needs `maxItems`. */
export function list<Item extends TSchema>(
  items: Item,
  description: string,
  bounds: { minItems?: number; maxItems?: number } = {},
): TArray<Item> {
  return Type.Array(items, { ...bounds, description });
}

/** A value that may be null. */
export function orNull<Schema extends TSchema>(schema: Schema, description?: string) {
  return Type.Union([schema, Type.Null()], description === undefined ? {} : { description });
}

export function stringOrNull(description: string) {
  return orNull(Type.String(), description);
}

/** An id of one kind: opaque beyond its prefix. */
export function id(prefix: string, description = "Opaque id; ids sort by creation.") {
  return Type.String({ pattern: `^${prefix}_`, description });
}

/** An instant of a response: ISO 8601 in UTC with milliseconds. */
export function at(description: string) {
  return Type.String({ format: "date-time", description });
}

export function atOrNull(description: string) {
  return orNull(Type.String({ format: "date-time" }), description);
}

/** A field of a response that is always true: the success of an action. */
export function yes(description = "Always true.") {
  return Type.Literal(true, { description });
}
