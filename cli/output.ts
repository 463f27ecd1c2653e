/** Prints results: one JSON document for programs, tables and colour for people. */

import { styleText } from "node:util";
import { printableLine } from "../server/core/printable.ts";

/** The surroundings of a command, so that a test can replace the terminal. */
export interface Terminal {
  /** Directory of the package that runs: the sources, or the files that npm installed. */
  root: string;
  env: Record<string, string | undefined>;
  stdout: Stream;
  stderr: Stream;
  /** Resolves after the time, or as soon as the signal is aborted. */
  sleep(delayMs: number, signal?: AbortSignal): Promise<void>;
  /** Calls `act` on each Ctrl-C and each other signal to end, until the returned function is called. */
  onInterrupt(act: () => void): () => void;
  /** From now on a stdout that takes no more does not end the program. */
  outliveOutput(): void;
  /** Asks the person at the terminal; null if there is no terminal. */
  ask: ((question: string) => Promise<string>) | null;
}

export type Stream = NodeJS.WritableStream & { isTTY?: boolean; columns?: number };

/** A colour or another style of text. */
export type Style = Parameters<typeof styleText>[0];

/** Colours a text if the stream shows colours (`NO_COLOR` and `FORCE_COLOR` are respected). */
export type Paint = (style: Style, text: string) => string;

export interface Output {
  /** Whether the result is printed as JSON: stdout is no terminal, or `--json` was given. */
  readonly json: boolean;
  /** Prints the result of the command: `data` as JSON, or the text of `render`. */
  show<Data>(data: Data, render: (data: Data, paint: Paint, columns: number) => string): void;
  /** Prints one line for people while the command runs; nothing if the result is JSON. */
  progress(render: (paint: Paint, columns: number) => string): void;
  /** Prints one line of a result that comes line by line, on a terminal or not. */
  line(render: (paint: Paint, columns: number) => string): void;
  /** Prints one line to stderr. */
  note(text: string): void;
}

/** Options of printing. */
export interface Form {
  /** Overrides the default of the stream. */
  json?: boolean | undefined;
  /** Whether no value is shortened to the width of the terminal. */
  wide?: boolean | undefined;
}

/** Characters that fit on a line of the terminal; Infinity if the width is unknown. */
export function columnsOf({ env }: Terminal, stream: Stream): number {
  return stream.columns || Number(env.COLUMNS) || Number.POSITIVE_INFINITY;
}

/** Output to this terminal. */
export function outputTo(terminal: Terminal, { json, wide }: Form): Output {
  const columns = wide ? Number.POSITIVE_INFINITY : columnsOf(terminal, terminal.stdout);
  const asJson = json ?? terminal.stdout.isTTY !== true;
  const paint: Paint = (style, text) => styleText(style, text, { stream: terminal.stdout });
  const write = (text: string) => terminal.stdout.write(`${text}\n`);
  return {
    json: asJson,
    show(data, render) {
      write(asJson ? JSON.stringify(data, null, 2) : render(data, paint, columns));
    },
    progress(render) {
      if (!asJson) write(render(paint, columns));
    },
    line(render) {
      write(render(paint, columns));
    },
    note(text) {
      terminal.stderr.write(`${text}\n`);
    },
  };
}

/** Names and values, one a line, without those that are null or undefined. */
export function listing(pairs: Record<string, string | number | boolean | null | undefined>, paint: Paint): string {
  const shown = Object.entries(pairs).filter(([, value]) => value !== null && value !== undefined);
  const width = Math.max(0, ...shown.map(([name]) => name.length));
  return shown
    .map(([name, value]) => `${paint("dim", name.padEnd(width))}  ${printableLine(String(value))}`)
    .join("\n");
}

/** The colour of a status of a message, a delivery, a payment, a call, an instance or an inbox request. */
export function statusStyle(status: string): Style {
  if (/^(delivered|read|received|succeeded|active|paid|answered|healthy|2\d\d)$/.test(status)) return "green";
  if (/^(failed|exhausted|revoked|rejected|missed|unhealthy|[345]\d\d)$/.test(status)) return "red";
  return /^(cancelled|unsent|expired|disconnected)$/.test(status) ? "dim" : "yellow";
}
