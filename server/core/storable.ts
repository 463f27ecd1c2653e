/** Makes texts storable: without NUL and lone surrogates. Pure. */

import { mapTexts } from "./map-texts.ts";

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
  return mapTexts(value, storableText);
}

function storableText(value: string): string {
  return isStorable(value) ? value : value.replaceAll("\0", REPLACEMENT).toWellFormed();
}
