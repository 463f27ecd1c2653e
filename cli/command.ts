/** Commands as rows of a table: `list` and `request` make rows out of data, and `addCommand` gives a row to commander. */

import { Argument, type Command, Option } from "commander";
import type { Tightbeam } from "../sdk/client.ts";
import type { Cli } from "./cli.ts";
import type { KeyKind } from "./connection.ts";
import { UsageError } from "./failure.ts";
import type { Paint } from "./output.ts";
import { type Column, table } from "./table.ts";
import { wholeNumber } from "./values.ts";

/** An argument or an option: its help sentence, or the sentence with a parser. */
export type Value = string | DetailedValue;

interface DetailedValue {
  help: string;
  /** Offered by help and completion, and enforced unless `parse` is given. */
  choices?: readonly string[];
  parse?: (text: string, before: never) => unknown;
  default?: unknown;
  /** Whether the option must be given. */
  required?: true;
  /** The option that must not stand beside this one. */
  conflicts?: string;
  /** A list's name of this filter in the API, if it is not the option's own. */
  as?: string;
}

/** Help of a command: its arguments and options by their syntax (`<id>`, `--to <address>`), and example lines by their effect. */
export interface Help {
  name: string;
  help: string;
  arguments?: Readonly<Record<string, Value>>;
  options?: Readonly<Record<string, Value>>;
  examples: Readonly<Record<string, string>>;
  /** Follows the examples. */
  notes?: string;
}

/** One command, and the commands under it. */
export interface CommandRow extends Help {
  /** The kind of key for this command and its subcommands. Default: the parent's kind, otherwise a customer's key. */
  key?: KeyKind;
  /** Runs with the arguments, then the options, including options of the parent row. A row without it only has subcommands. */
  run?: (cli: Cli, ...given: never[]) => Promise<void> | void;
  commands?: readonly CommandRow[];
}

/** Renders a result for people. `width` is the terminal's; the command's arguments follow. */
type Show<Data> = (data: Data, paint: Paint, width: number, ...given: never[]) => string;

/** A row that makes one request and shows its result. */
export function request<Data>(
  row: Help & { call: (client: Tightbeam, ...given: never[]) => PromiseLike<Data>; show: Show<Data> },
): CommandRow {
  const { call, show, ...help } = row;
  const run = async (cli: Cli, ...given: never[]) => {
    const data = await call(cli.client(), ...given);
    cli.output().show(data, (result, paint, width) => show(result, paint, width, ...given));
  };
  return { ...help, run };
}

const CUSTOMER = "customer (cust_…); not needed while there is only one customer";

/** A row that makes one request about the customer that `--customer` names, or about the only customer. */
export function customerRequest<Data>(
  row: Help & {
    call: (client: Tightbeam, customerId: string, ...given: never[]) => PromiseLike<Data>;
    show: Show<Data>;
  },
): CommandRow {
  const call = async (client: Tightbeam, ...given: never[]) => {
    const { customer }: { customer?: string } = given.at(-1) ?? {};
    return await row.call(client, customer ?? (await onlyCustomer(client)), ...given);
  };
  return request({ ...row, options: { "--customer <id>": CUSTOMER, ...row.options }, call });
}

/** The id of the only customer. Throws `UsageError` when there is none, or more than one. */
export async function onlyCustomer(client: Tightbeam): Promise<string> {
  const [only, ...others] = (await client.admin.customers.list({ limit: 2 })).customers;
  if (only === undefined) throw new UsageError("there is no customer yet: make one with tightbeam customers create.");
  if (others.length > 0) throw new UsageError("there are several customers: name one with --customer <id>.");
  return only.id;
}

/** A route of the client that lists pages of items. */
interface Pages<Page, Item> {
  list: (query: never) => PromiseLike<Page>;
  listAll: (query: never) => AsyncIterable<Item>;
}

interface ListRow<Page, Item> extends Help {
  pages: (client: Tightbeam, ...given: never[]) => Pages<Page, Item>;
  items: (page: Page) => Item[];
  columns: readonly Column<Item>[];
  /** Shown instead of an empty table. */
  empty: string;
  /** Options that choose a page; default: those of a list with cursors. */
  paging?: Readonly<Record<string, Value>>;
  /** How to get the next page, for people; null after the last page. */
  more?: (page: Page) => string | null;
}

const ALL = { "--all": "every page, not only the first" };
const PAGING: Readonly<Record<string, Value>> = {
  "--limit <n>": { help: "how many, 1 to 100 (default: 50)", parse: wholeNumber(1) },
  "--cursor <cursor>": "continue where a page ended",
  ...ALL,
};

function moreByCursor({ pagination: { nextCursor } }: { pagination: { nextCursor?: string | null } }): string | null {
  return nextCursor ? `More with --cursor ${nextCursor}, or --all.` : null;
}

/** A row that shows one page of a list, or with `--all` every page, as a table. Options are the list's filters. */
export function list<Page extends { pagination: object }, Item>(row: ListRow<Page, Item>): CommandRow {
  const { pages, items, columns, empty, paging = PAGING, more = moreByCursor, ...help } = row;
  const run = async (cli: Cli, ...given: never[]) => {
    const { all, ...filters }: { all?: boolean } = given.at(-1) ?? {};
    const query = renamed(filters, row.options ?? {});
    const routes = pages(cli.client(), ...given);
    const output = cli.output();
    const show = (found: readonly Item[]) =>
      output.show(found, (rows, paint, width) => table(rows, columns, paint, width, empty));
    if (all) return show(await collect(routes.listAll({ limit: 100, ...query } as never)));
    const page = await routes.list(query as never);
    show(items(page));
    const next = more(page);
    if (next !== null && !output.json) output.note(next);
  };
  return { ...help, options: { ...help.options, ...paging }, run };
}

async function collect<Item>(iterable: AsyncIterable<Item>): Promise<Item[]> {
  const items: Item[] = [];
  for await (const item of iterable) items.push(item);
  return items;
}

/** The options by their names in the API. */
function renamed(given: object, options: Readonly<Record<string, Value>>): Record<string, unknown> {
  const names = new Map(
    Object.entries(options).map(([flags, value]) => [
      new Option(flags).attributeName(),
      typeof value === "string" ? undefined : value.as,
    ]),
  );
  return Object.fromEntries(Object.entries(given).map(([name, value]) => [names.get(name) ?? name, value]));
}

/** The fields that have a value: an option that was not given is no field of a request. */
export function present<Fields extends object>(fields: Fields): Present<Fields> {
  return Object.fromEntries(Object.entries(fields).filter(([, value]) => value !== undefined)) as Present<Fields>;
}

type Present<Fields> = {
  [Name in keyof Fields as undefined extends Fields[Name] ? never : Name]: Fields[Name];
} & { [Name in keyof Fields as undefined extends Fields[Name] ? Name : never]?: Exclude<Fields[Name], undefined> };

/** Adds a row, and the rows under it, to `parent`. */
export function addCommand(parent: Command, cli: Cli, row: CommandRow, key: KeyKind = "messages"): void {
  const { run, commands = [] } = row;
  const ownKey = row.key ?? key;
  const command = parent.command(row.name).description(row.help);
  for (const [name, value] of Object.entries(row.arguments ?? {})) command.addArgument(argumentOf(name, value));
  for (const [flags, value] of Object.entries(row.options ?? {})) command.addOption(optionOf(flags, value));
  command.addHelpText("after", [examples(row.examples), ...(row.notes ? ["", row.notes] : [])].join("\n"));
  if (run !== undefined) {
    command.action(async (...given: unknown[]) => {
      const above = parent === cli.program ? {} : parent.opts();
      const values = [...given.slice(0, -2), { ...above, ...command.opts() }];
      const client: Cli["client"] = (kind = ownKey, patience) => cli.client(kind, patience);
      await run({ ...cli, client }, ...(values as never[]));
    });
  }
  for (const each of commands) addCommand(command, cli, each, ownKey);
}

function argumentOf(name: string, value: Value): Argument {
  const { help, choices, parse, default: fallback } = detailed(value);
  const argument = new Argument(name, help);
  if (choices !== undefined) argument.choices(choices);
  if (parse !== undefined) argument.argParser(parse as Parser);
  return fallback === undefined ? argument : argument.default(fallback);
}

function optionOf(flags: string, value: Value): Option {
  const { help, choices, parse, default: fallback, required, conflicts } = detailed(value);
  const option = new Option(flags, help).makeOptionMandatory(required === true);
  if (choices !== undefined) option.choices(choices);
  if (parse !== undefined) option.argParser(parse as Parser);
  if (conflicts !== undefined) option.conflicts(conflicts);
  return fallback === undefined ? option : option.default(fallback);
}

type Parser = (text: string, before: unknown) => unknown;

function detailed(value: Value): DetailedValue {
  return typeof value === "string" ? { help: value } : value;
}

/** One line for each example, with its effect beside it. */
function examples(lines: Readonly<Record<string, string>>): string {
  const width = Math.max(...Object.keys(lines).map((line) => line.length));
  const shown = Object.entries(lines).map(([line, meaning]) => `  ${line.padEnd(width)}  ${meaning}`.trimEnd());
  return `\nExamples:\n${shown.join("\n")}`;
}
