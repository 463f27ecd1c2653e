/** Makes texts storable: without NUL and lone surrogates. Pure. */

const REPLACEMENT = "\uFFFD";

/** Whether every store keeps the text unchanged. */
function isStorable(text: string): boolean {
  return text.isWellFormed() && !text.includes("\0");
}

/**
 * `value` with every string in it made storable, in nested objects and lists too: other characters become U+FFFD. A
 * storable value is returned itself, and so are bytes. For values from providers.
 */
export function storable<Value>(value: Value): Value {
  if (typeof value === "string") return text(value) as Value;
  if (typeof value !== "object" || value === null || value instanceof Uint8Array) return value;
  if (Array.isArray(value)) return list(value) as Value;
  const odd = Object.entries(value).filter(([, inner]) => storable(inner) !== inner);
  if (odd.length === 0) return value;
  return { ...value, ...Object.fromEntries(odd.map(([name, inner]) => [name, storable(inner)])) };
}

function text(value: string): string {
  return isStorable(value) ? value : value.replaceAll("\0", REPLACEMENT).toWellFormed();
}

function list(values: readonly unknown[]): readonly unknown[] {
  const kept = values.map((value) => storable(value));
  return kept.some((value, index) => value !== values[index]) ? kept : values;
}
