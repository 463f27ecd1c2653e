/** `tightbeam migrate`: copies the embedded database into PostgreSQL, while no service runs on it. */

import type { MigrationResult } from "../server/app/migrate-to-postgres.ts";
import type { Cli } from "./cli.ts";
import type { CommandRow } from "./command.ts";
import { onDataDirectory } from "./data-directory.ts";
import { listing, type Paint } from "./output.ts";
import { Progress } from "./progress.ts";

interface MigrateOptions {
  to: string;
  tbDataDir?: string;
}

/** Copies the embedded database. The server's code is loaded only when it runs. */
export const migrate: CommandRow = {
  name: "migrate",
  help: "Copy the embedded database into PostgreSQL. Stop the service first.",
  options: {
    "--to <url>": { help: "an empty PostgreSQL database (postgres://user@host/database)", required: true },
    "--tb-data-dir <path>": "the data directory (TB_DATA_DIR, default: ./data)",
  },
  examples: {
    "tightbeam migrate --to postgres://tightbeam@db.internal/tightbeam": "copy ./data, and compare the copy",
  },
  notes: `Only on the service's machine. Afterwards no service starts on the data directory without DATABASE_URL. After an interruption the same command goes on.
PGPASSWORD or a .pgpass file keeps the password out of the list of processes. See docs/operating.md.`,
  run,
};

async function run(cli: Cli, { to, tbDataDir }: MigrateOptions): Promise<void> {
  const interrupted = "Interrupted: run the same command again, and it goes on here.";
  const progress = new Progress(cli.terminal, { interrupted, goesOn: "copying" });
  const migrated = await progress.during(() =>
    onDataDirectory(cli, tbDataDir, async (config) => {
      const { migrateToPostgres } = await import("../server/app/migrate-to-postgres.ts");
      const { show } = progress;
      const showRows = (doing: string, done: number, total: number) => show(doing, done, total, "rows");
      return await migrateToPostgres(config, to, { now: Date.now(), progress: showRows });
    }),
  );
  const output = cli.output();
  output.show(migrated, (result, paint) => describe(result, to, paint));
  if (output.json) for (const warning of warningsOf(migrated)) output.note(warning);
}

function warningsOf({ warnings, replaced }: MigrationResult): string[] {
  if (replaced.length === 0) return warnings;
  return [...warnings, `PostgreSQL cannot hold some values, which were replaced: ${replaced.join("; ")}`];
}

function describe(result: MigrationResult, to: string, paint: Paint): string {
  const { dataDir, tables, completedAt, keyFile } = result;
  const filled = tables.filter(({ rows }) => rows > 0);
  const facts = Object.fromEntries(
    filled.map(({ table, rows, checksum }) => [table, `${rows} rows, checksum ${checksum.slice(0, 16)}`]),
  );
  const url = URL.parse(to);
  if (url !== null) url.password = "";
  return [
    paint("green", `The copy of ${dataDir} is complete (${completedAt}), and each table equals its source.`),
    listing(facts, paint),
    "",
    ...warningsOf(result).map((warning) => paint("yellow", warning)),
    "Next, for each process of the service:",
    `  set DATABASE_URL to ${url?.href ?? "the database"}`,
    keyFile === null
      ? "  keep TB_SECRET_KEY as it is"
      : `  set TB_SECRET_KEY to the content of ${keyFile}, without which stored secrets cannot be decrypted`,
    "No service starts on the data directory without DATABASE_URL again: it would send what is waiting a second time.",
  ].join("\n");
}
