/** Wraps a help page to the width of the terminal. */

import { wrapped } from "./table.ts";
import { widthOf } from "./width.ts";

/** Smallest width: a narrower terminal breaks the lines itself. */
const WIDTH_MIN = 40;
/** Indent of the second line of an entry. */
const INDENT = 4;

/**
 * Wraps the lines of a help page that are too long. Lines without an indent are paragraphs, which are filled again. If
 * an entry (`  command    what it does`) is too long, every entry of its block gets its meaning on a line of its own.
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

/** Groups lines: adjacent lines with an indent, adjacent lines without one, and each heading alone. */
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
  const text = line.trimStart();
  const indent = line.slice(0, line.length - text.length);
  const gap = text.indexOf("  ");
  const entry = gap === -1 ? text : text.slice(0, gap);
  const meaning = text.slice(entry.length).trim();
  const lead = indent.length + INDENT;
  const first = indent + wrapped(entry, width - indent.length, lead);
  return meaning === "" ? first : `${first}\n${" ".repeat(lead)}${wrapped(meaning, width - lead, lead)}`;
}
