/** Measures the width of a text on a terminal. */

import { createRequire } from "node:module";
import { stripVTControlCharacters } from "node:util";
import type stringWidth from "string-width";

const load = createRequire(import.meta.url);
/** The package, or its file beside the bundle of this module. */
const PACKAGE = import.meta.url.endsWith(".ts") ? "string-width" : "./string-width.js";
let measured: typeof stringWidth | null = null;
const ASCII = /^[ -~]*$/;

/** Columns of a text on a terminal: 2 for a wide character or an emoji, 0 for a colour. */
export function widthOf(text: string): number {
  const plain = stripVTControlCharacters(text);
  if (ASCII.test(plain)) return plain.length;
  // Loaded only if needed: its tables take half as long as everything else that a command loads.
  measured ??= (load(PACKAGE) as { default: typeof stringWidth }).default;
  return measured(plain);
}
