/**
 * Reads JSON of other systems loosely: a field may be missing, null or of another type than documented, without an error. Each
 * reader returns a value of its type, or null. Pure.
 */

import { withoutByteOrderMark } from "./byte-order-mark.ts";

/** Parses text, or bytes in UTF-8, as JSON; null if it is invalid. */
export function jsonOf(source: string | Uint8Array): unknown {
  try {
    const text = typeof source === "string" ? source : Buffer.from(source).toString("utf8");
    return JSON.parse(withoutByteOrderMark(text));
  } catch {
    return null;
  }
}

/** `value` as a record of fields; null for any other value, including a list. */
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

/** The items of a list mapped by `read`, without nulls; empty if `value` is no list. */
export function listOf<Item>(value: unknown, read: (item: unknown) => Item | null): readonly Item[] {
  if (!Array.isArray(value)) return [];
  return value.map((item: unknown) => read(item)).filter((item) => item !== null);
}
