/** `tightbeam quarantine`: rows of the database that the service cannot read, and how to mend them. */

import type { Command } from "commander";
import type { Config } from "../server/config.ts";
import { type Cli, examples } from "./command.ts";
import { Failure } from "./failure.ts";
import { printable } from "./output.ts";

interface Options {
  tbDataDir?: string;
  null?: boolean;
}

/** Adds `quarantine`. The server's code is loaded only when it runs. */
export function addQuarantine(program: Command, cli: Cli): void {
  const quarantine = program
    .command("quarantine")
    .description("List rows of the database that the service cannot read and has set aside; show and mend them.")
    .option("--tb-data-dir <path>", "the data directory (TB_DATA_DIR, default: ./data)")
    .addHelpText(
      "after",
      `${examples({
        "tightbeam quarantine": "list what is set aside, and why",
        "tightbeam quarantine show endpoints wh_01…": "see what the row holds",
        "tightbeam quarantine set endpoints wh_01… events '[\"*\"]'": "mend one column, while the service is stopped",
      })}\n\nOnly on the machine of the service. To list and to show, it may run; to set and to delete, it must not.`,
    )
    .action(() => list(cli, quarantine.opts()));
  quarantine
    .command("show")
    .argument("<table>")
    .argument("<id>")
    .description("Show a row as it is stored.")
    .addHelpText(
      "after",
      examples({ "tightbeam quarantine show endpoints wh_01…": "see every column, and which is wrong" }),
    )
    .action((table: string, id: string) => show(cli, quarantine.opts(), { table, id }));
  quarantine
    .command("set")
    .argument("<table>")
    .argument("<id>")
    .argument("<column>")
    .argument("[value]", "the new value; left out with --null")
    .option("--null", "make the column null")
    .description("Set one column of a row. Stop the service first.")
    .addHelpText(
      "after",
      examples({ "tightbeam quarantine set customers cust_01… routes '[]'": "give a customer no routes" }),
    )
    .action((table: string, id: string, column: string, value: string | undefined, options: Options) =>
      set(cli, quarantine.opts(), { table, id }, column, options.null === true ? null : value),
    );
  quarantine
    .command("delete")
    .argument("<table>")
    .argument("<id>")
    .description("Delete a row, and nothing that refers to it. Stop the service first.")
    .addHelpText("after", examples({ "tightbeam quarantine delete settings link-key": "have another key made" }))
    .action((table: string, id: string) => remove(cli, quarantine.opts(), { table, id }));
}

/** Does `work` with the settings of the data directory; what it cannot do is told in one line. */
async function onData<Result>(cli: Cli, options: Options, work: (config: Config) => Promise<Result>): Promise<Result> {
  const { ConfigError, readConfig } = await import("../server/config.ts");
  const flags: Record<string, string> = options.tbDataDir === undefined ? {} : { "--tb-data-dir": options.tbDataDir };
  try {
    return await work(readConfig(cli.terminal.env, flags));
  } catch (error) {
    throw error instanceof ConfigError ? new Failure(null, error.message) : error;
  }
}

async function list(cli: Cli, options: Options): Promise<void> {
  const rows = await onData(cli, options, async (config) => {
    const { listRows } = await import("../server/app/mend.ts");
    return listRows(config);
  });
  cli
    .output()
    .show(rows, (found) =>
      found.length === 0
        ? "Nothing is set aside: the service can read every row that it has met."
        : found
            .map(({ table, id, reason, since }) => `${table} ${printable(id)}  ${reason}  (since ${since})`)
            .join("\n"),
    );
}

interface RowName {
  table: string;
  id: string;
}

async function show(cli: Cli, options: Options, name: RowName): Promise<void> {
  const row = await onData(cli, options, async (config) => {
    const { showRow } = await import("../server/app/mend.ts");
    return showRow(config, name);
  });
  cli.output().show(row, ({ columns, reason }) => {
    const width = Math.max(...Object.keys(columns).map(({ length }) => length));
    const lines = Object.entries(columns).map(
      ([column, value]) => `${column.padEnd(width)}  ${value === null ? "(null)" : printable(String(value))}`,
    );
    return [...lines, "", sayState(reason)].join("\n");
  });
}

async function set(cli: Cli, options: Options, name: RowName, column: string, value: string | null | undefined) {
  if (value === undefined) throw new Failure(null, "Give the new value, or --null.");
  const row = await onData(cli, options, async (config) => {
    const { setColumn } = await import("../server/app/mend.ts");
    return setColumn(config, name, column, value);
  });
  cli.output().show(row, ({ reason }) => `${column} of ${name.id} is set. ${sayState(reason)}`);
}

async function remove(cli: Cli, options: Options, name: RowName): Promise<void> {
  const row = await onData(cli, options, async (config) => {
    const { deleteRow } = await import("../server/app/mend.ts");
    return deleteRow(config, name);
  });
  cli.output().show(row, () => `The row ${name.id} of ${name.table} is deleted.`);
}

function sayState(reason: string | null): string {
  return reason === null
    ? "The row can be read: the service takes it up when it starts."
    : `It cannot be read: ${reason}.`;
}
