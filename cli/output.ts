/** What a command prints: one JSON document for programs, tables and colour for people. */

import { styleText } from "node:util";

/** The outside of a command, so that a test can stand in for the terminal. */
export interface Terminal {
  env: Record<string, string | undefined>;
  stdout: Stream;
  stderr: Stream;
  sleep(delayMs: number): Promise<void>;
  /** Calls `act` on each Ctrl-C, and whatever else asks the program to end; answers how to leave that off. */
  onInterrupt(act: () => void): () => void;
  /** Asks the person at the terminal; null when there is none, so that nobody waits for an answer. */
  ask: ((question: string) => Promise<string>) | null;
}

export type Stream = NodeJS.WritableStream & { isTTY?: boolean; columns?: number };

type Style = Parameters<typeof styleText>[0];

/** Colours a text where the stream shows colours (`NO_COLOR` and `FORCE_COLOR` are respected). */
export type Paint = (style: Style, text: string) => string;

export interface Output {
  /** Whether the result is to be JSON: stdout is no terminal, or `--json` was given. */
  readonly json: boolean;
  /** Prints the result of the command: `data` as JSON, or what `render` makes of it. */
  show<Data>(data: Data, render: (data: Data, paint: Paint, columns: number) => string): void;
  /** Prints one line for people while the command runs; nothing when the result is to be JSON. */
  progress(render: (paint: Paint) => string): void;
  /** Prints one line of a result that comes piece by piece, whoever reads it. */
  line(render: (paint: Paint) => string): void;
  /** Prints one line beside the result, to stderr. */
  note(text: string): void;
}

/** Output to this terminal; `json` decides over what the stream is, when given. */
export function outputTo(terminal: Terminal, json: boolean | undefined): Output {
  const asJson = json ?? terminal.stdout.isTTY !== true;
  const paint: Paint = (style, text) => styleText(style, text, { stream: terminal.stdout });
  const write = (text: string) => terminal.stdout.write(`${text}\n`);
  return {
    json: asJson,
    show(data, render) {
      write(asJson ? JSON.stringify(data, null, 2) : render(data, paint, terminal.stdout.columns ?? 120));
    },
    progress(render) {
      if (!asJson) write(render(paint));
    },
    line(render) {
      write(render(paint));
    },
    note(text) {
      terminal.stderr.write(`${text}\n`);
    },
  };
}

/** One column of a table. The last column is cut to the width of the terminal, or broken into lines when it `wraps`. */
export interface Column<Row> {
  title: string;
  wraps?: boolean;
  value: (row: Row) => string | number | null;
  style?: (row: Row) => Style;
}

/** A table with a heading; `empty` in its place when there are no rows. */
export function table<Row>(
  rows: readonly Row[],
  columns: readonly Column<Row>[],
  paint: Paint,
  width: number,
  empty: string,
): string {
  if (rows.length === 0) return empty;
  const cells = rows.map((row) => columns.map((column) => printable(String(column.value(row) ?? "-"))));
  const widths = columns.map((column, at) =>
    Math.max(column.title.length, ...cells.map((row) => row[at]?.length ?? 0)),
  );
  const lead = widths.slice(0, -1).reduce((sum, columnWidth) => sum + columnWidth + 2, 0);
  const lastWidthMax = Math.max(10, width - lead);
  const last = (text: string) =>
    columns.at(-1)?.wraps === true ? wrapped(text, lastWidthMax, lead) : cut(text, lastWidthMax);
  const fit = (text: string, at: number) => (at === columns.length - 1 ? last(text) : text.padEnd(widths[at] ?? 0));
  const heading = columns.map((column, at) => paint("dim", fit(column.title, at))).join("  ");
  const lines = cells.map((row, rowAt) =>
    row.map((text, at) => styled(rows[rowAt], columns[at], fit(text, at), paint)).join("  "),
  );
  return [heading, ...lines].join("\n");
}

function styled<Row>(row: Row | undefined, column: Column<Row> | undefined, text: string, paint: Paint): string {
  return row === undefined || column?.style === undefined ? text : paint(column.style(row), text);
}

/** Names and values under each other; what is null or absent is left out. */
export function listing(pairs: Record<string, string | number | boolean | null | undefined>, paint: Paint): string {
  const shown = Object.entries(pairs).filter(([, value]) => value !== null && value !== undefined);
  const width = Math.max(0, ...shown.map(([name]) => name.length));
  return shown.map(([name, value]) => `${paint("dim", name.padEnd(width))}  ${printable(String(value))}`).join("\n");
}

/** The colour of a status of a message, a delivery, a payment, a call, an instance or an inbox request. */
export function statusStyle(status: string): Style {
  if (/^(delivered|read|received|succeeded|active|paid|answered|healthy|2\d\d)$/.test(status)) return "green";
  if (/^(failed|exhausted|revoked|rejected|missed|unhealthy|[345]\d\d)$/.test(status)) return "red";
  return /^(cancelled|unsent|expired|disconnected)$/.test(status) ? "dim" : "yellow";
}

/** The text with control characters shown as `�`: what strangers wrote must not steer the terminal. */
export function printable(text: string): string {
  return text.replace(/[\p{Cc}\u2028\u2029\u202a-\u202e\u2066-\u2069]/gu, (character) =>
    character === "\n" || character === "\t" ? " " : "\ufffd",
  );
}

/** Lines of whole words, at least 40 wide so that an id fits; all but the first begin behind `lead` spaces. */
function wrapped(text: string, width: number, lead: number): string {
  const lines: string[] = [];
  for (const word of text.split(" ")) {
    const line = lines.at(-1);
    if (line !== undefined && line.length + 1 + word.length <= Math.max(40, width))
      lines.push(`${lines.pop()} ${word}`);
    else lines.push(word);
  }
  return lines.join(`\n${" ".repeat(lead)}`);
}

function cut(text: string, width: number): string {
  const characters = Array.from(text);
  return characters.length <= width ? text : `${characters.slice(0, width - 1).join("")}…`;
}
