/** Renders tables as wide as the terminal, with characters measured as the terminal shows them. */

import { printableLine } from "../server/core/printable.ts";
import type { Paint, Style } from "./output.ts";
import { widthOf } from "./width.ts";

/** One column of a table. The last column is cut to the width of the terminal, or wrapped if it `wraps`. */
export interface Column<Row> {
  title: string;
  wraps?: boolean;
  /** Whether the column is left out if the terminal is too narrow, the last of such columns first. */
  optional?: boolean;
  value: (row: Row) => string | number | null;
  style?: (row: Row) => Style;
}

type Cells = readonly (readonly string[])[];

const GAP = "  ";
/** Width that the last column should have, unless it needs less: times, then ids, are shortened for it. */
const LAST_WIDTH_WANTED = 24;
/** Smallest width of the last column, and of any other column that is cut. */
const LAST_WIDTH_MIN = 12;
const WIDTH_MIN = 8;

/** A table with a heading, or `empty` if there are no rows. A `width` of Infinity shortens nothing. */
export function table<Row>(
  rows: readonly Row[],
  all: readonly Column<Row>[],
  paint: Paint,
  width: number,
  empty: string,
): string {
  if (rows.length === 0) return empty;
  const columns = fitting(rows, all, width);
  const titles = columns.map(({ title }) => title);
  const cells = shortened(titles, cellsOf(rows, columns), width);
  const widths = fitted(titles, cells, width);
  const lead = sum(widths.slice(0, -1)) + GAP.length * (widths.length - 1);
  const lastAt = columns.length - 1;
  const lastWidth = Math.max(LAST_WIDTH_MIN, width - lead);
  const last = (text: string) =>
    columns[lastAt]?.wraps === true ? wrapped(text, Math.max(40, lastWidth), lead) : cut(text, lastWidth);
  const fit = (text: string, at: number) =>
    at === lastAt ? last(text) : pad(cut(text, widths[at] ?? 0), widths[at] ?? 0);
  const heading = titles.map((title, at) => paint("dim", fit(title, at))).join(GAP);
  const lines = cells.map((row, rowAt) =>
    row.map((text, at) => styled(rows[rowAt], columns[at], fit(text, at), paint)).join(GAP),
  );
  return [heading, ...lines].join("\n");
}

function cellsOf<Row>(rows: readonly Row[], columns: readonly Column<Row>[]): Cells {
  return rows.map((row) => columns.map((column) => printableLine(String(column.value(row) ?? "-"))));
}

/** The columns without optional ones that do not fit, even with short ids and times. */
function fitting<Row>(rows: readonly Row[], columns: readonly Column<Row>[], width: number): readonly Column<Row>[] {
  const titles = columns.map(({ title }) => title);
  const cells = cellsOf(rows, columns).map((row) => row.map((text) => shortId(shortTime(text))));
  if (leadAndLast(titles, cells, LAST_WIDTH_MIN) <= width) return columns;
  const at = columns.findLastIndex(({ optional }) => optional);
  return at === -1 ? columns : fitting(rows, columns.toSpliced(at, 1), width);
}

/** Width of a table whose last column has the width that it needs, at most `lastMax` unless it has whole ids. */
function leadAndLast(titles: readonly string[], cells: Cells, lastMax: number): number {
  const widths = natural(titles, cells);
  const lastCells = cells.map((row) => row.at(-1) ?? "");
  // A cut id says nothing: its end is what people compare.
  const idWidth = Math.max(0, ...lastCells.filter((text) => shortId(text) !== text).map(widthOf));
  const last = Math.max(idWidth, Math.min(widths.at(-1) ?? 0, lastMax));
  return sum(widths.slice(0, -1)) + GAP.length * (widths.length - 1) + last;
}

function styled<Row>(row: Row | undefined, column: Column<Row> | undefined, text: string, paint: Paint): string {
  return row === undefined || column?.style === undefined ? text : paint(column.style(row), text);
}

/** The cells unchanged if they fit; else with short times; else with short ids too. */
function shortened(titles: readonly string[], cells: Cells, width: number): Cells {
  const shorten = (short: (text: string) => string) => cells.map((row) => row.map(short));
  const isEnough = (candidate: Cells) => leadAndLast(titles, candidate, LAST_WIDTH_WANTED) <= width;
  const short = [(text: string) => text, shortTime, (text: string) => shortId(shortTime(text))];
  for (const each of short) {
    const candidate = shorten(each);
    if (isEnough(candidate)) return candidate;
  }
  return shorten((text) => shortId(shortTime(text)));
}

/** Width of each column: that of its widest cell, with the widest columns narrowed until all fit. */
function fitted(titles: readonly string[], cells: Cells, width: number): number[] {
  const widths = natural(titles, cells);
  const least = titles.map((title) => Math.max(WIDTH_MIN, title.length));
  const lastWidth = Math.min(widths.at(-1) ?? 0, LAST_WIDTH_MIN);
  const room = width - lastWidth - GAP.length * (widths.length - 1);
  for (let excess = sum(widths.slice(0, -1)) - room; excess > 0; excess--) {
    const spare = widths.slice(0, -1).map((each, at) => (each > (least[at] ?? 0) ? each : 0));
    const widest = spare.indexOf(Math.max(...spare));
    if (widest === -1 || (spare[widest] ?? 0) === 0) break;
    widths[widest] = (widths[widest] ?? 0) - 1;
  }
  return widths;
}

function natural(titles: readonly string[], cells: Cells): number[] {
  return titles.map((title, at) => Math.max(title.length, ...cells.map((row) => widthOf(row[at] ?? ""))));
}

function sum(numbers: readonly number[]): number {
  return numbers.reduce((total, each) => total + each, 0);
}

/** `2031-05-01T09:00:00.000Z` as `05-01 09:00:00`; anything else unchanged. */
function shortTime(text: string): string {
  return text.replace(/^\d{4}-(\d\d-\d\d)T(\d\d:\d\d:\d\d)\.\d{3}Z$/, "$1 $2Z");
}

/** `msg_019a0000-0000-7000-8000-0123456789ab` as `msg_…456789ab`, and other ids likewise; anything else unchanged. */
export function shortId(text: string): string {
  return text.replace(/^([a-z]{2,5}_)[0-9a-f-]{20,}([0-9a-f]{8})$/, "$1…$2");
}

/** Wraps a text at words; all lines but the first begin with `lead` spaces. A longer word has a line of its own. */
export function wrapped(text: string, width: number, lead: number): string {
  const lines: string[] = [];
  for (const word of text.split(" ")) {
    const line = lines.at(-1);
    if (line !== undefined && widthOf(line) + 1 + widthOf(word) <= width) lines.push(`${lines.pop()} ${word}`);
    else lines.push(word);
  }
  return lines.join(`\n${" ".repeat(lead)}`);
}

/** The text, or as much of it as fits before an ellipsis. No visible character is split. */
export function cut(text: string, width: number): string {
  if (widthOf(text) <= width) return text;
  let kept = "";
  let left = width - 1;
  for (const { segment } of new Intl.Segmenter(undefined, { granularity: "grapheme" }).segment(text)) {
    left -= widthOf(segment);
    if (left < 0) break;
    kept += segment;
  }
  return `${kept}…`;
}

function pad(text: string, width: number): string {
  return text + " ".repeat(Math.max(0, width - widthOf(text)));
}
