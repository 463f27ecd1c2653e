/** `tightbeam quarantine`: lists and repairs rows of the database that the service cannot decode. */

import { printableLine } from "../server/core/printable.ts";
import type { Cli } from "./cli.ts";
import type { CommandRow } from "./command.ts";
import { onDataDirectory } from "./data-directory.ts";
import { Failure } from "./failure.ts";

interface Options {
  tbDataDir?: string;
  null?: boolean;
}

interface RowName {
  table: string;
  id: string;
}

const ROW = { "<table>": "", "<id>": "" };

/** Shows and repairs rows. The server's code is loaded only when it runs. */
export const quarantine: CommandRow = {
  name: "quarantine",
  help: "List rows of the database that the service cannot read and has quarantined; show and repair them.",
  options: { "--tb-data-dir <path>": "the data directory (TB_DATA_DIR, default: ./data)" },
  examples: {
    "tightbeam quarantine": "list the rows, with the reason for each",
    "tightbeam quarantine show endpoints wh_01…": "show the row's columns",
    "tightbeam quarantine set endpoints wh_01… events '[\"*\"]'": "repair one column, while the service is stopped",
  },
  notes:
    "Only on the service's machine. The service may run while you list and show, but not while you set and delete.",
  run: list,
  commands: [
    {
      name: "show",
      arguments: ROW,
      help: "Show a row as it is stored.",
      examples: { "tightbeam quarantine show endpoints wh_01…": "every column, and which is wrong" },
      run: (cli, table: string, id: string, options: Options) => show(cli, options, { table, id }),
    },
    {
      name: "set",
      arguments: { ...ROW, "<column>": "", "[value]": "the new value; left out with --null" },
      options: { "--null": "set the column to null" },
      help: "Set one column of a row. Stop the service first.",
      examples: { "tightbeam quarantine set customers cust_01… routes '[]'": "remove a customer's routes" },
      run: (cli, table: string, id: string, column: string, value: string | undefined, options: Options) =>
        set(cli, options, { table, id }, column, options.null === true ? null : value),
    },
    {
      name: "delete",
      arguments: ROW,
      help: "Delete a row, but no row that refers to it. Stop the service first.",
      examples: { "tightbeam quarantine delete settings link-key": "the service makes another key" },
      run: (cli, table: string, id: string, options: Options) => remove(cli, options, { table, id }),
    },
  ],
};

async function list(cli: Cli, options: Options): Promise<void> {
  const rows = await onDataDirectory(cli, options.tbDataDir, async (config) => {
    const { listRows } = await import("../server/app/repair-rows.ts");
    return listRows(config);
  });
  cli
    .output()
    .show(rows, (found) =>
      found.length === 0
        ? "Nothing is quarantined: the service could read every row so far."
        : found
            .map(({ table, id, reason, since }) => `${table} ${printableLine(id)}  ${reason}  (since ${since})`)
            .join("\n"),
    );
}

async function show(cli: Cli, options: Options, name: RowName): Promise<void> {
  const row = await onDataDirectory(cli, options.tbDataDir, async (config) => {
    const { showRow } = await import("../server/app/repair-rows.ts");
    return showRow(config, name);
  });
  cli.output().show(row, ({ columns, reason }) => {
    const width = Math.max(...Object.keys(columns).map(({ length }) => length));
    const lines = Object.entries(columns).map(
      ([column, value]) => `${column.padEnd(width)}  ${value === null ? "(null)" : printableLine(String(value))}`,
    );
    return [...lines, "", sayState(reason)].join("\n");
  });
}

async function set(cli: Cli, options: Options, name: RowName, column: string, value: string | null | undefined) {
  if (value === undefined) throw new Failure(null, "Give the new value, or --null.");
  const row = await onDataDirectory(cli, options.tbDataDir, async (config) => {
    const { setColumn } = await import("../server/app/repair-rows.ts");
    return setColumn(config, name, column, value);
  });
  cli.output().show(row, ({ reason }) => `${column} of ${name.id} is set. ${sayState(reason)}`);
}

async function remove(cli: Cli, options: Options, name: RowName): Promise<void> {
  const row = await onDataDirectory(cli, options.tbDataDir, async (config) => {
    const { deleteRow } = await import("../server/app/repair-rows.ts");
    return deleteRow(config, name);
  });
  cli.output().show(row, () => `The row ${name.id} of ${name.table} is deleted.`);
}

function sayState(reason: string | null): string {
  return reason === null
    ? "The row can be read: the service uses it again after its next start."
    : `It cannot be read: ${reason}.`;
}
