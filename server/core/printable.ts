/** Text of strangers on a terminal. */

/** Controls (C0 and C1), line separators, and marks that change the direction of text. */
const CONTROLS = /[\p{Cc}\u061c\u200e\u200f\u2028\u2029\u202a-\u202e\u2066-\u2069]/gu;

/** The text on one line with control characters shown as `\ufffd`: it cannot control the terminal or change the order of its characters. */
export function printable(text: string): string {
  return text.replace(CONTROLS, "\ufffd");
}

/** `printable` for a text of several lines or columns that is shown on one line: line feeds and tabs become spaces. */
export function printableLine(text: string): string {
  return printable(text.replace(/[\n\t]/g, " "));
}
