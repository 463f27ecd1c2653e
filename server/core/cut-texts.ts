/** Bounds the texts of providers: whatever a peer sends, no text is longer than 64 KiB. Pure. */

import { mapTexts } from "./map-texts.ts";

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
  return mapTexts(value, cutText);
}
