/** The text of a help page, as wide as the terminal. */

import { wrapped } from "./table.ts";
import { widthOf } from "./width.ts";

/** Below this no text is readable: a narrower terminal breaks the lines itself. */
const WIDTH_MIN = 40;
/** How far the second line of an entry stands in. */
const INDENT = 4;

/**
 * Breaks the lines of a help page that are too long. Lines without an indent are paragraphs, which are filled anew. Of
 * an entry (`  command    what it does`) that is too long, what it does goes on a line of its own; so that entries which
 * stand together look alike, each of their block does.
 */
export function wrapHelp(text: string, width: number): string {
  const columns = Math.max(WIDTH_MIN, width);
  return text
    .split(/\n\n/)
    .map((block) => wrapBlock(block, columns))
    .join("\n\n");
}

function wrapBlock(block: string, width: number): string {
  const lines = block.split("\n");
  if (lines.every((line) => widthOf(line) <= width)) return block;
  return paragraphsOf(lines)
    .map((group) => (group[0]?.startsWith(" ") ? wrapEntries(group, width) : wrapped(group.join(" "), width, 0)))
    .join("\n");
}

/** Indented lines that follow each other are one group, and so are lines without an indent; a heading is one alone. */
function paragraphsOf(lines: readonly string[]): string[][] {
  const groups: string[][] = [];
  for (const line of lines) {
    const before = groups.at(-1);
    const last = before?.at(-1);
    const isEmpty = last === undefined || last === "" || line === "";
    const isLike = !isEmpty && last.startsWith(" ") === line.startsWith(" ") && !last.endsWith(":");
    if (isLike) before?.push(line);
    else groups.push([line]);
  }
  return groups;
}

function wrapEntries(lines: readonly string[], width: number): string {
  if (lines.every((line) => widthOf(line) <= width)) return lines.join("\n");
  return lines.map((line) => wrapEntry(line, width)).join("\n");
}

function wrapEntry(line: string, width: number): string {
  const [, indent = "", entry = "", meaning = ""] = /^( *)(.+?)(?: {2,}(\S.*))?$/.exec(line) ?? [];
  const lead = indent.length + INDENT;
  const first = indent + wrapped(entry, width - indent.length, lead);
  return meaning === "" ? first : `${first}\n${" ".repeat(lead)}${wrapped(meaning, width - lead, lead)}`;
}
