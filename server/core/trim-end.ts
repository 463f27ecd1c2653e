/** Removes characters at the end of a text. Pure. */

/** The text without the `character`s at its end, in time proportional to their number: `/x+$/` takes its square. */
export function withoutTrailing(text: string, character: string): string {
  let end = text.length;
  while (end > 0 && text[end - 1] === character) end -= 1;
  return text.slice(0, end);
}
