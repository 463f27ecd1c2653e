/** Renders schemas as tables of fields. Pure. */

import type { PublishedSchema } from "../server/api/openapi/schema.ts";
import { html, type Markup, prose } from "./markup.ts";

/** A field, named by its path from the record. */
export interface FieldRow {
  name: string;
  schema: PublishedSchema;
  isRequired: boolean;
}

/** The fields of a schema and of the objects inside it; null for a schema without fields. */
export function fieldsTable(schema: PublishedSchema, isRequest: boolean): Markup | null {
  const rows = rowsOf(schema);
  if (rows.length === 0) return null;
  return html`<dl class="fields">${rows.map((row) => fieldRow(row, isRequest))}</dl>`;
}

/** One field: name, type, whether it is required, and its description. */
export function fieldRow({ name, schema, isRequired }: FieldRow, isRequest: boolean): Markup {
  const { description = "", deprecated } = schema;
  // Records carry every field, so that only optional fields are marked there.
  const mark = isRequest ? (isRequired ? "required" : null) : isRequired ? null : "may be absent";
  return html`<div${deprecated === true ? html` class="old"` : null}><dt><code>${name}</code> <span class="type">${typeOf(schema)}</span>${mark === null ? null : html` <em>${mark}</em>`}</dt><dd>${prose(description)}${bounds(schema)}</dd></div>`;
}

/** The fields of a schema and of the objects inside it. */
export function rowsOf(schema: PublishedSchema, prefix = ""): FieldRow[] {
  const { properties = {}, required = [], items } = schema;
  if (items !== undefined && prefix === "") return rowsOf(items, "[].");
  return Object.entries(properties).flatMap(([field, value]) => {
    const name = `${prefix}${field}`;
    const row = { name, schema: value, isRequired: required.includes(field) && value.default === undefined };
    const inner = value.items ?? value;
    return [row, ...rowsOf(inner, value.items === undefined ? `${name}.` : `${name}[].`)];
  });
}

/** Where a record is described. */
function recordAddress(name: string): string {
  return `/docs/reference/records#record-${name}`;
}

/** The type of a value in a few words; the name of a record links to its table. */
export function typeOf(schema: PublishedSchema): Markup {
  const { $ref, type, items, anyOf, format } = schema;
  if ($ref !== undefined) {
    const name = $ref.split("/").at(-1) ?? "";
    return html`<a href="${recordAddress(name)}">${name}</a>`;
  }
  const choices = schema.enum ?? (schema.const === undefined ? undefined : [schema.const]);
  if (choices !== undefined) return listed(choices.map((value) => html`<code>${JSON.stringify(value)}</code>`));
  if (anyOf !== undefined) return listed(anyOf.map(typeOf));
  if (items !== undefined) return html`list of ${typeOf(items)}`;
  const { additionalProperties } = schema;
  if (typeof additionalProperties === "object") return html`object of ${typeOf(additionalProperties)}`;
  const words = [type ?? "any"].flat().map((word) => (word === "string" ? (NAMES[format ?? ""] ?? word) : word));
  return html`${words.join(" or ")}`;
}

const NAMES: Readonly<Record<string, string>> = { "date-time": "instant", email: "e-mail" };

function listed(parts: readonly Markup[]): Markup {
  return html`${parts.map((part, index) => (index === 0 ? part : html` | ${part}`))}`;
}

/** The limits and the default of a value. */
export function bounds(schema: PublishedSchema): Markup | null {
  const { minimum, maximum, minLength, maxLength, minItems, maxItems } = schema as Record<string, number | undefined>;
  const found = [
    range(minimum, maximum, ""),
    range(minLength, maxLength, " characters"),
    range(minItems, maxItems, " items"),
  ];
  const said = [
    ...found.filter((one) => one !== null),
    ...(schema.default === undefined ? [] : [`default ${String(schema.default)}`]),
  ];
  return said.length === 0 ? null : html` <small>${said.join(", ")}</small>`;
}

function range(min: number | undefined, max: number | undefined, unit: string): string | null {
  const at = (value: number) => value.toLocaleString("en-US");
  const least = min ?? 0;
  if (max !== undefined) return least === 0 ? `at most ${at(max)}${unit}` : `${at(least)} to ${at(max)}${unit}`;
  return least <= 1 ? null : `at least ${at(least)}${unit}`;
}
