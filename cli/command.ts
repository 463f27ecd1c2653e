/** What every command of the CLI is given: a client for the kind of key that it needs, and a place to print. */

import { setTimeout as pause } from "node:timers/promises";
import type { Command } from "commander";
import { Tightbeam } from "../sdk/client.ts";
import type { Pagination } from "../sdk/wire.ts";
import { type Connection, findConnection, findServer, type KeyKind, type Server, storedKeys } from "./connection.ts";
import { UsageError } from "./failure.ts";
import { type Output, outputTo, type Terminal } from "./output.ts";
import { type Column, table } from "./table.ts";
import { wholeNumber } from "./values.ts";

/** How long a server that is down is waited for: not at all, or until it is there again. */
type Patience = "says so at once" | "waits";

export interface Cli {
  terminal: Terminal;
  /** That of the package. */
  readonly version: string;
  /** Which server the options name, key or not. Throws `UsageError` for an address that is none. */
  server(): Server;
  /** Which server and key the options name, and where they were found. Throws `UsageError` when no key is found. */
  connection(kind: KeyKind): Connection;
  /** The keys that `credentials.json` holds for that server, as the variables to set. */
  storedKeys(): Record<string, string>;
  /** A client for them. */
  client(kind: KeyKind, patience?: Patience): Tightbeam;
  output(): Output;
}

/** Longest wait in milliseconds for a busy server before the command gives up instead: a minute. */
const WAIT_MS_MAX = 60_000;

/** The surroundings of the commands of `program`, by the options that were given to it. */
export function commandsOf(program: Command, terminal: Terminal): Cli {
  const options = () => program.opts<{ url?: string; key?: string; json?: boolean; wide?: boolean }>();
  const output = () => outputTo(terminal, options());
  const connection = (kind: KeyKind) => findConnection(kind, options(), terminal.env);
  return {
    terminal,
    output,
    connection,
    server: () => findServer(options(), terminal.env),
    storedKeys: () => storedKeys(options(), terminal.env),
    get version() {
      return program.version() ?? "";
    },
    client(kind, patience = "says so at once") {
      const { baseUrl, apiKey } = connection(kind);
      return new Tightbeam({
        baseUrl,
        apiKey,
        async wait(delayMs, why, signal) {
          if (patience === "waits") {
            output().note(`${why.code} ${why.message} Again in ${delayMs / 1000} s.`);
            await pause(delayMs, undefined, signal === undefined ? {} : { signal });
            return;
          }
          // A server that is down is said at once; one that asks for patience is waited for, visibly.
          if (why.status === 0 || delayMs > WAIT_MS_MAX) throw why;
          output().note(`${why.code}: waiting ${delayMs / 1000} s, as the server asks`);
          await terminal.sleep(delayMs);
        },
      });
    },
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

/** Which part of a list is wanted. */
export interface Paging {
  limit?: number;
  cursor?: string;
  all?: boolean;
}

/** Adds the options that every list of pages has. */
export function addPaging(command: Command): Command {
  return command
    .option("--limit <n>", "how many, 1 to 100 (default: 50)", wholeNumber(1))
    .option("--cursor <cursor>", "go on where a page ended")
    .option("--all", "every page, not only the first");
}

/** A list of the API, and how its rows are shown. */
interface Listed<Query, List, Item> {
  list(query: Query): Promise<List>;
  listAll(query: Query): AsyncIterable<Item>;
  itemsOf(page: List): Item[];
  columns: readonly Column<Item>[];
  /** Shown where there is nothing. */
  empty: string;
}

/** Prints the page of a list that `query` asks for, or, with `all`, every page; a terminal is told of the next one. */
export async function showList<Query extends Paging, List extends { pagination: Pagination }, Item>(
  cli: Cli,
  { list, listAll, itemsOf, columns, empty }: Listed<Omit<Query, "all">, List, Item>,
  query: Query,
): Promise<void> {
  const { all, ...asked } = query;
  const output = cli.output();
  let nextCursor: string | null = null;
  const items = await gather(
    all,
    () => listAll({ limit: 100, ...asked }),
    () => list(asked),
    (page) => {
      nextCursor = page.pagination.nextCursor;
      return itemsOf(page);
    },
  );
  output.show(items, (rows, paint, width) => table(rows, columns, paint, width, empty));
  if (nextCursor !== null && !output.json) output.note(`More with --cursor ${nextCursor}, or --all.`);
}

/** The id of the only customer there is: for commands that need not be told whose. Throws `UsageError` for none and for several. */
export async function onlyCustomer(client: Tightbeam): Promise<string> {
  const [only, ...others] = (await client.admin.customers.list({ limit: 2 })).customers;
  if (only === undefined) throw new UsageError("there is no customer yet: make one with tightbeam customers create.");
  if (others.length > 0) throw new UsageError("there are several customers: name one with --customer <id>.");
  return only.id;
}
