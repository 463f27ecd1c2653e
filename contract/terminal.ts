/** Writes the sentences of request fields as help of the command line: the text of `cli/request-fields.ts`, before it is formatted. Pure. */

import { ABOUT, ALIAS_OF, type Keywords, NAME } from "./schema.ts";
import type { Noun } from "./typescript.ts";

interface RequestShape {
  properties: Readonly<Record<string, Keywords>>;
  additionalProperties: false;
}

/** The text of `cli/request-fields.ts`: every field of every named request, aliases left out. */
export function renderRequestFields(nouns: readonly Pick<Noun, "exports">[]): string {
  const requests = nouns.flatMap(({ exports }) => Object.entries(exports)).filter(isRequest);
  const shapes = Object.fromEntries(requests.map(([name, shape]) => [name, helpOfFields(shape)]));
  return [
    "/** Help of options that are fields of a request, by request and field. Generated from contract/ by `npm run wire`: change it there. */",
    "",
    `export const REQUEST_FIELDS = ${JSON.stringify(shapes)} as const;`,
    "",
  ].join("\n");
}

function isRequest(entry: [string, unknown]): entry is [string, RequestShape] {
  const [, value] = entry;
  if (typeof value !== "object" || value === null || !(NAME in value)) return false;
  return "properties" in value && "additionalProperties" in value && value.additionalProperties === false;
}

function helpOfFields({ properties }: RequestShape): Record<string, string> {
  const fields = Object.entries(properties).filter(([, schema]) => schema[ALIAS_OF] === undefined);
  return Object.fromEntries(fields.map(([field, schema]) => [field, asHelp(schema.description ?? schema[ABOUT])]));
}

/** Begins the last sentence of a description. */
const DEFAULT = " Default: ";

/** A sentence as the command line writes it: `Purpose of it. Default: none.` becomes `purpose of it (default: none)`. */
export function asHelp(sentence: unknown): string {
  const text = String(sentence ?? "").replaceAll("`", "");
  const at = text.endsWith(".") ? text.indexOf(DEFAULT) : -1;
  const fallback = at === -1 ? undefined : text.slice(at + DEFAULT.length, -1);
  const meaning = at === -1 ? text : text.slice(0, at);
  const clauses = meaning
    .replace(/\.$/, "")
    .split(/(?<=[a-z])\. /)
    .map((clause) => clause.replace(/^[A-Z](?=[a-z -])/, lower));
  return fallback === undefined ? clauses.join("; ") : `${clauses.join("; ")} (default: ${fallback})`;
}

function lower(letter: string): string {
  return letter.toLowerCase();
}
