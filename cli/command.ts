/** What every command of the CLI is given: a client for the kind of key that it needs, and a place to print. */

import type { Command } from "commander";
import { Tightbeam } from "../sdk/client.ts";
import { findConnection, type KeyKind } from "./connection.ts";
import { type Output, outputTo, type Terminal } from "./output.ts";

export interface Cli {
  terminal: Terminal;
  /** A client for the server and key that the options name. Throws `UsageError` when no key is found. */
  client(kind: KeyKind): Tightbeam;
  output(): Output;
}

/** Longest wait in milliseconds for a busy server before the command gives up instead: a minute. */
const WAIT_MS_MAX = 60_000;

/** The surroundings of the commands of `program`, by the options that were given to it. */
export function commandsOf(program: Command, terminal: Terminal): Cli {
  const options = () => program.opts<{ url?: string; key?: string; json?: boolean }>();
  const output = () => outputTo(terminal, options().json);
  return {
    terminal,
    output,
    client: (kind) =>
      new Tightbeam({
        ...findConnection(kind, options(), terminal.env),
        // A server that is down is said at once; one that asks for patience is waited for, visibly.
        async wait(delayMs, why) {
          if (why.status === 0 || delayMs > WAIT_MS_MAX) throw why;
          output().note(`${why.code}: waiting ${delayMs / 1000} s, as the server asks`);
          await terminal.sleep(delayMs);
        },
      }),
  };
}

/** The text under the options of a command's help: one line for each example, what it does beside it. */
export function examples(lines: Record<string, string>): string {
  const width = Math.max(...Object.keys(lines).map((line) => line.length));
  const shown = Object.entries(lines).map(([line, meaning]) => `  ${line.padEnd(width)}  ${meaning}`.trimEnd());
  return `\nExamples:\n${shown.join("\n")}`;
}

/** The items of a list: its first page, or, with `all`, every page of it. */
export async function gather<List, Item>(
  all: boolean | undefined,
  listAll: () => AsyncIterable<Item>,
  list: () => Promise<List>,
  itemsOf: (list: List) => Item[],
): Promise<Item[]> {
  if (!all) return itemsOf(await list());
  const items: Item[] = [];
  for await (const item of listAll()) items.push(item);
  return items;
}
