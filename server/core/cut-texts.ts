/** Bounds the texts of providers: whatever a peer sends, no text is longer than 64 KiB. Pure. */

/** Longest text of a provider, in bytes of UTF-8. */
export const TEXT_BYTES_MAX = 65_536;

const ENCODER = new TextEncoder();
const room = new Uint8Array(TEXT_BYTES_MAX);

/** The beginning of a text in at most 64 KiB of UTF-8, without half a character; a shorter text as it is. */
export function cutText(text: string): string {
  // A UTF-16 unit takes at most three bytes.
  if (text.length * 3 <= TEXT_BYTES_MAX) return text;
  const { read } = ENCODER.encodeInto(text, room);
  return read < text.length ? text.slice(0, read) : text;
}

/** `value` with every string in it cut, in nested objects and lists too. A value without a long text is returned itself, and so are bytes. */
export function cutTexts<Value>(value: Value): Value {
  if (typeof value === "string") return cutText(value) as Value;
  if (typeof value !== "object" || value === null || value instanceof Uint8Array) return value;
  if (Array.isArray(value)) {
    const kept = value.map((one) => cutTexts(one));
    return (kept.some((one, index) => one !== value[index]) ? kept : value) as Value;
  }
  const entries = Object.entries(value).map(([name, inner]) => [name, cutTexts(inner)] as const);
  return entries.some(([name, inner]) => inner !== Reflect.get(value, name))
    ? (Object.fromEntries(entries) as Value)
    : value;
}
