/** Writes the contract as TypeScript: the text of `sdk/wire.ts`, before it is formatted. Pure. */

import type { EventDeclaration } from "./event-type.ts";
import { ABOUT, type Keywords, NAME, TYPESCRIPT } from "./schema.ts";

/** A schema, as far as its type depends on it. */
interface Schema extends Keywords {
  type?: string;
  enum?: unknown[];
  const?: unknown;
  description?: string;
  properties?: Record<string, Schema>;
  required?: string[];
  items?: Schema;
  anyOf?: Schema[];
  patternProperties?: Record<string, Schema>;
}

/** Types that no schema describes. */
const PRELUDE = `
/** A JSON object of the caller's own. */
export type Metadata = Record<string, unknown>;

/** Envelope of every success. */
export interface Success<Data> {
  success: true;
  data: Data;
  requestId: string;
}
`;

/** One noun of the contract: the exports of its file, and the comments on those that are constants. */
export interface Noun {
  exports: Readonly<Record<string, unknown>>;
  comments: Readonly<Record<string, string>>;
}

/** The text of `sdk/wire.ts`. */
export function renderTypes(nouns: readonly Noun[], events: readonly EventDeclaration[]): string {
  // Named schemas are found by the name of their component, and called as they are exported.
  const names = new Map<string, string>();
  const entries = nouns.flatMap(({ exports, comments }) =>
    Object.entries(exports).map(([name, value]) => ({ name, value, comment: comments[name] })),
  );
  for (const { name, value } of entries)
    if (isNamed(value)) names.set(value[NAME], name === "AnyEvent" ? "Event" : name);
  const parts = entries.map(({ name, value, comment }) => {
    if (isNamed(value) && name !== "AnyEvent") {
      // A type and not an interface, so that it is also an object of any fields: the data of `AnyEvent`.
      const isData = events.some(({ data }) => data === value);
      return declaration(isData ? "type" : "interface", name, value as unknown as Schema, entries, names);
    }
    return /^[A-Z0-9_]+$/.test(name) ? constant(name, value, comment) : "";
  });
  return [
    "/** Every shape, code and event name of the API. Generated from contract/ by `npm run wire`: change it there. */",
    PRELUDE,
    ...parts.filter((part) => part !== ""),
    eventTypes(events, names),
  ].join("\n");
}

type Entries = readonly { name: string; value: unknown }[];

function isNamed(value: unknown): value is { [NAME]: string } {
  return typeof value === "object" && value !== null && NAME in value;
}

function constant(name: string, value: unknown, text: string | undefined): string {
  return `${comment(text)}export const ${name} = ${JSON.stringify(value)}${typeof value === "object" ? " as const" : ""};\n`;
}

function declaration(
  kind: "type" | "interface",
  name: string,
  given: Schema,
  entries: Entries,
  names: ReadonlyMap<string, string>,
): string {
  const schema = plain(given);
  const about = comment(schema[ABOUT]);
  if (schema.properties !== undefined) {
    return `${about}export ${kind} ${name}${kind === "type" ? " =" : ""} ${fields(schema, names)}\n`;
  }
  const values = JSON.stringify(schema.enum);
  const list = entries.find(({ value }) => Array.isArray(value) && JSON.stringify(value) === values);
  const { [NAME]: _, ...unnamed } = schema;
  return `${about}export type ${name} = ${list === undefined ? typeOf(unnamed, names) : `(typeof ${list.name})[number]`};\n`;
}

/** The schema as JSON: TypeBox keeps what else it knows of a schema in hidden properties. */
function plain(schema: unknown): Schema {
  return JSON.parse(JSON.stringify(schema)) as Schema;
}

function fields({ properties = {}, required = [] }: Schema, names: ReadonlyMap<string, string>): string {
  const lines = Object.entries(properties).map(([field, schema]) => {
    const mark = required.includes(field) ? "" : "?";
    return `${comment(schema.description ?? schema[ABOUT])}${field}${mark}: ${typeOf(schema, names)};`;
  });
  return `{\n${lines.join("\n")}\n}`;
}

function typeOf(schema: Schema, names: ReadonlyMap<string, string>): string {
  const { [TYPESCRIPT]: written, [NAME]: name } = schema;
  if (typeof name === "string" && names.has(name)) return names.get(name) ?? name;
  if (typeof written === "string") return written;
  if (schema.enum !== undefined) return schema.enum.map((value) => JSON.stringify(value)).join(" | ");
  if (schema.const !== undefined) return JSON.stringify(schema.const);
  if (schema.anyOf !== undefined) return [...new Set(schema.anyOf.map((one) => typeOf(one, names)))].join(" | ");
  if (schema.items !== undefined) return `(${typeOf(schema.items, names)})[]`;
  if (schema.properties !== undefined) return fields(schema, names);
  const [every] = Object.values(schema.patternProperties ?? {});
  if (every !== undefined) return `Record<string, ${typeOf(every, names)}>`;
  return schema.type === undefined ? "unknown" : (PRIMITIVES[schema.type] ?? "Record<string, unknown>");
}

const PRIMITIVES: Readonly<Record<string, string>> = {
  string: "string",
  integer: "number",
  number: "number",
  boolean: "boolean",
  null: "null",
};

/** `Event` is a union by `type`: a check of the type narrows the data. */
function eventTypes(events: readonly EventDeclaration[], names: ReadonlyMap<string, string>): string {
  const data = events.map(({ type, summary, data }) => `${comment(summary)}"${type}": ${typeOf(plain(data), names)};`);
  return `
/** The data of each event, by its type. */
export interface EventData {
${data.join("\n")}
}

/** The event of one type. */
export interface EventOf<Type extends EventType> {
  /** Id of the event: deduplicate by it. */
  id: string;
  /** Type of the event. */
  type: Type;
  /** When the event occurred. */
  timestamp: string;
  /** Data of the event. */
  data: EventData[Type];
}

/** An event whose data is not narrowed by its type: any field may be read. */
export interface AnyEvent<Data = Record<string, unknown>> {
  id: string;
  type: EventType;
  timestamp: string;
  data: Data;
}

/** An event of one of these types, of any type unless given: what a webhook, the stream and the event list carry. */
export type Event<Type extends EventType = EventType> = { [Each in Type]: EventOf<Each> }[Type];
`;
}

function comment(text: unknown): string {
  return typeof text === "string" ? `/** ${text} */\n` : "";
}
