/**
 * JSON of a peer, read loosely: a field may be missing, null or of another kind than its documentation says, and none of
 * that is an error. Each reader gives what it is named for, or null. Pure.
 */

/** What a body or an entry says as JSON, in UTF-8 where it is bytes; null for what is none. */
export function jsonOf(source: string | Uint8Array): unknown {
  try {
    return JSON.parse(typeof source === "string" ? source : Buffer.from(source).toString("utf8"));
  } catch {
    return null;
  }
}

/** `value` as a record of fields; null for anything else, a list among it. */
export function recordOf(value: unknown): Readonly<Record<string, unknown>> | null {
  return typeof value === "object" && value !== null && !Array.isArray(value)
    ? (value as Record<string, unknown>)
    : null;
}

/** `value` if it is a text, also an empty one. */
export function textOf(value: unknown): string | null {
  return typeof value === "string" ? value : null;
}

/** `value` if it is a finite number. */
export function numberOf(value: unknown): number | null {
  return typeof value === "number" && Number.isFinite(value) ? value : null;
}

/** What `read` makes of a list's items; what it makes nothing of is left out, and no list is an empty one. */
export function listOf<Item>(value: unknown, read: (item: unknown) => Item | null): readonly Item[] {
  if (!Array.isArray(value)) return [];
  return value.map((item: unknown) => read(item)).filter((item) => item !== null);
}
