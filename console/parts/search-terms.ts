/** The search line's language: `status:failed to:+1555 since:1h words`. Pure. */

/** A chip: a field with its value. */
export interface SearchTerm {
  field: string;
  value: string;
}

/** A search: chips in their order, and the words beside them. */
export interface Search {
  terms: readonly SearchTerm[];
  words: string;
}

/** Reads a search. A part that names no known field is a word. */
export function parseSearch(text: string, fields: readonly string[]): Search {
  let terms: readonly SearchTerm[] = [];
  const words: string[] = [];
  for (const [part, field = "", quoted, plain] of text.matchAll(/(?:([a-z-]+):)?(?:"([^"]*)"|(\S+))/gi)) {
    const value = quoted ?? plain ?? "";
    // The last value of a field counts, so that no other one is shown.
    if (fields.includes(field.toLowerCase()) && value !== "")
      terms = withTerm({ terms, words: "" }, { field: field.toLowerCase(), value }).terms;
    else words.push(part);
  }
  return { terms, words: words.join(" ") };
}

/** Writes a search as one line that `parseSearch` reads. */
export function formatSearch({ terms, words }: Search): string {
  const chips = terms.map(({ field, value }) => `${field}:${/\s/.test(value) ? `"${value}"` : value}`);
  return [...chips, words].filter((part) => part !== "").join(" ");
}

/** The last value of a field. */
export function valueIn(search: Search, field: string): string | undefined {
  return search.terms.findLast((term) => term.field === field)?.value;
}

/** Whether a term says nothing: its field has few values, and this is none of them. */
export function isIgnored(
  { field, value }: SearchTerm,
  fields: readonly { name: string; values?: readonly string[] }[],
): boolean {
  const values = fields.find(({ name }) => name === field)?.values;
  return values !== undefined && !values.includes(value);
}

/** A search with one value for a field: it replaces the others of that field. */
export function withTerm(search: Search, term: SearchTerm): Search {
  return { ...search, terms: [...search.terms.filter(({ field }) => field !== term.field), term] };
}

const UNIT_MS: Record<string, number> = { s: 1_000, m: 60_000, h: 3_600_000, d: 86_400_000, w: 604_800_000 };

/** The instant that `1h`, `7d` or an ISO 8601 time names, as ISO 8601; undefined if it names none. */
export function instantOf(value: string | undefined, now: number): string | undefined {
  if (value === undefined) return undefined;
  const [, count, unit = ""] = /^(\d{1,6})([smhdw])$/.exec(value) ?? [];
  if (count !== undefined) return new Date(now - Number(count) * (UNIT_MS[unit] ?? 0)).toISOString();
  // A number alone would be a year or a month to some browsers.
  const at = /^\d{4}-\d\d/.test(value) ? Date.parse(value) : Number.NaN;
  return Number.isNaN(at) ? undefined : new Date(at).toISOString();
}
