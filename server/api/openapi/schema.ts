/** Schemas of the contract as the document publishes them: named ones once, with what the contract shows beside what it checks. Pure. */

import type { TSchema } from "typebox";
import { ABOUT, ALIAS_OF, NAME, SHOWN, TYPESCRIPT } from "../../../contract/schema.ts";

/** A JSON Schema of the document; the keywords that are read here are typed. */
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

/** A reference to the named schema. */
export function refTo(name: string): PublishedSchema {
  return { $ref: `#/components/schemas/${name}` };
}

/** Publishes a schema of the contract. Named schemas go into `components` and are referred to. */
export function publish(schema: TSchema, components: Components): PublishedSchema {
  // As JSON: TypeBox keeps what else it knows of a schema in hidden properties.
  return walk(JSON.parse(JSON.stringify(schema)) as PublishedSchema, components);
}

/** Adds a component that is no schema of the contract. Throws if another one has its name. */
export function addComponent(name: string, schema: PublishedSchema, components: Components): PublishedSchema {
  const before = components.get(name);
  if (before !== undefined && JSON.stringify(before) !== JSON.stringify(schema)) {
    throw new Error(`two schemas are called ${name}`);
  }
  components.set(name, schema);
  return refTo(name);
}

function walk(schema: PublishedSchema, components: Components): PublishedSchema {
  const { [NAME]: name, [ABOUT]: about, [ALIAS_OF]: aliasOf, description, default: fallback, ...own } = schema;
  if (typeof name !== "string") return walkPlain(schema, components);
  // `Event` is put together from all events; every other named schema has its own keywords.
  if (own[TYPESCRIPT] !== name) {
    const described = { ...own, ...(typeof about === "string" ? { description: about } : {}) };
    addComponent(name, walkPlain(described, components), components);
  }
  return {
    ...refTo(name),
    ...(description === undefined ? {} : { description }),
    ...(fallback === undefined ? {} : { default: fallback }),
    ...aliasMarks(aliasOf),
  };
}

function aliasMarks(aliasOf: unknown): PublishedSchema {
  return aliasOf === undefined ? {} : { deprecated: true, "x-synonymOf": aliasOf };
}

function walkPlain(schema: PublishedSchema, components: Components): PublishedSchema {
  const { [SHOWN]: shown = {}, [TYPESCRIPT]: _, [ALIAS_OF]: aliasOf, format, ...own } = schema;
  const { instead, ...more } = shown as PublishedSchema;
  if (instead !== undefined) {
    const { description } = own;
    return { ...walk(instead as PublishedSchema, components), ...(description === undefined ? {} : { description }) };
  }
  const { properties, items, anyOf, patternProperties, ...rest } = own;
  // The other formats are names of the service's own checks; their rules are in what is shown.
  const found: PublishedSchema = typed({ ...rest, ...(format === "date-time" ? { format } : {}), ...more });
  if (properties !== undefined) {
    found.properties = Object.fromEntries(
      Object.entries(properties).map(([field, value]) => [field, property(value, components)]),
    );
  }
  if (items !== undefined) found.items = walk(items, components);
  Object.assign(found, aliasMarks(aliasOf));
  if (anyOf !== undefined) return { ...found, ...joined(anyOf.map((one) => walk(one, components))) };
  const [every] = Object.values(patternProperties ?? {});
  if (every !== undefined) found.additionalProperties = walk(every, components);
  return found;
}

/** A field: a named schema without a sentence for the field has the one about itself. */
function property(schema: PublishedSchema, components: Components): PublishedSchema {
  const { [NAME]: name, [ABOUT]: about } = schema;
  const published = walk(schema, components);
  return name === undefined ? published : { description: String(about), ...published };
}

/** Choices and constants state their type: some generators look at nothing else. */
function typed(schema: PublishedSchema): PublishedSchema {
  const values = schema.enum ?? (schema.const === undefined ? [] : [schema.const]);
  if (schema.type !== undefined || values.length === 0) return schema;
  const types = [...new Set(values.map((value) => typeof value))];
  const [only] = types;
  return types.length === 1 && only !== undefined ? { type: only === "number" ? "integer" : only, ...schema } : schema;
}

/** `T or null` as one schema with two types if T has no name; otherwise unchanged. */
function joined(choices: PublishedSchema[]): PublishedSchema {
  const [first, second] = choices;
  const isNullable = choices.length === 2 && second?.type === "null" && typeof first?.type === "string";
  if (!isNullable || first === undefined) return { anyOf: choices };
  const { description: _, ...rest } = first;
  const values = first.enum === undefined ? {} : { enum: [...first.enum, null] };
  return { ...rest, ...values, type: [String(first.type), "null"] };
}
