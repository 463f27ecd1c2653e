/** Schemas as they are published: named ones once, standard formats, a sentence on every field. Pure. */

import type { TSchema } from "typebox";
import { FORMATS } from "../schemas/common.ts";
import { describe } from "./fields.ts";
import { COMPONENT } from "./operation.ts";

/** A JSON Schema as it stands in the document; of its keywords those that are read here are typed. */
export interface PublishedSchema {
  [keyword: string]: unknown;
  $ref?: string;
  type?: string | string[];
  enum?: unknown[];
  const?: unknown;
  description?: string;
  format?: string;
  pattern?: string;
  properties?: Record<string, PublishedSchema>;
  required?: string[];
  items?: PublishedSchema;
  anyOf?: PublishedSchema[];
  oneOf?: PublishedSchema[];
  patternProperties?: Record<string, PublishedSchema>;
  additionalProperties?: boolean | PublishedSchema;
}

/** The named schemas of a document, filled while others are published. */
export type Components = Map<string, PublishedSchema>;

/** Where `name` is found. */
export function refTo(name: string): PublishedSchema {
  return { $ref: `#/components/schemas/${name}` };
}

/**
 * The schema for the document; those that name themselves go into `components` and are referred to. `name` is what its
 * fields are described under when it has no name of its own.
 */
export function publish(schema: TSchema, name: string, components: Components): PublishedSchema {
  // As JSON: what the compiler knows of a schema beyond that is no concern of readers.
  return walk(JSON.parse(JSON.stringify(schema)) as PublishedSchema, [name], components);
}

/** Publishes the schema as the component `name`, and refers to it. Throws when another one has that name. */
export function publishAs(schema: TSchema, name: string, components: Components): PublishedSchema {
  return publish({ ...schema, [COMPONENT]: name } as TSchema, name, components);
}

function walk(schema: PublishedSchema, path: readonly string[], components: Components): PublishedSchema {
  const { [COMPONENT]: name, ...plain } = schema;
  if (typeof name !== "string") return walkPlain(plain, path, components);
  // An event is put together elsewhere; all others bring their own fields.
  if (Object.keys(plain).length > 0) {
    const published = walkPlain(plain, [name], components);
    const before = components.get(name);
    if (before !== undefined && JSON.stringify(before) !== JSON.stringify(published)) {
      throw new Error(`two schemas are called ${name}`);
    }
    components.set(name, published);
  }
  return refTo(name);
}

function walkPlain(schema: PublishedSchema, path: readonly string[], components: Components): PublishedSchema {
  const { properties, items, anyOf, patternProperties, ...rest } = schema;
  const found: PublishedSchema = typed(standard(rest));
  if (properties !== undefined) {
    found.properties = Object.fromEntries(
      Object.entries(properties).map(([field, value]) => [field, property(value, [...path, field], components)]),
    );
  }
  if (items !== undefined) found.items = walk(items, path, components);
  if (anyOf !== undefined) return { ...found, ...joined(anyOf.map((one) => walk(one, path, components))) };
  const [every] = Object.values(patternProperties ?? {});
  if (every !== undefined) found.additionalProperties = walk(every, path, components);
  return found;
}

function property(value: PublishedSchema, path: readonly string[], components: Components): PublishedSchema {
  const published = walk(value, path, components);
  const { sentence, synonymOf } = describe(path);
  if (synonymOf !== undefined) {
    const description = `Another name of \`${synonymOf}\`: accepted, never answered.`;
    return { ...published, description, deprecated: true, "x-synonymOf": synonymOf };
  }
  return sentence === undefined ? published : { ...published, description: sentence };
}

/** Formats that are our own, as others know them; where there is no other name, in words. */
function standard({ format, ...rest }: PublishedSchema): PublishedSchema {
  switch (format) {
    case undefined:
      return rest;
    case "date-time":
    case "email":
      return { ...rest, format };
    case "instant":
      return { ...rest, format: "date-time" };
    case "phone":
      return { ...rest, pattern: "^\\+[1-9]\\d{1,14}$" };
    default:
      return { ...rest, ...(rest.description === undefined ? inWords(format) : {}) };
  }
}

function inWords(format: string): { description?: string } {
  const expected = FORMATS[format]?.expected;
  return expected === undefined ? {} : { description: `${expected[0]?.toUpperCase()}${expected.slice(1)}.` };
}

/** Choices and constants say of what type they are: some generators look at nothing else. */
function typed(schema: PublishedSchema): PublishedSchema {
  const values = schema.enum ?? (schema.const === undefined ? [] : [schema.const]);
  if (schema.type !== undefined || values.length === 0) return schema;
  const types = [...new Set(values.map((value) => typeof value))];
  const [only] = types;
  return types.length === 1 && only !== undefined ? { type: only, ...schema } : schema;
}

/** `T or null` as one schema with two types, where T has no name; otherwise as it is. */
function joined(choices: PublishedSchema[]): PublishedSchema {
  const [first, second] = choices;
  const isNullable = choices.length === 2 && second?.type === "null" && typeof first?.type === "string";
  if (!isNullable || first === undefined) return { anyOf: choices };
  const values = first.enum === undefined ? {} : { enum: [...first.enum, null] };
  return { ...first, ...values, type: [String(first.type), "null"] };
}
