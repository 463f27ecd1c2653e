/** `tightbeam vacuum`: writes the file of the embedded database anew, while no service runs on it. */

import type { Cli } from "./cli.ts";
import type { CommandRow } from "./command.ts";
import { onDataDirectory } from "./data-directory.ts";

interface VacuumOptions {
  tbDataDir?: string;
}

/** Vacuums the database. The server's code is loaded only when it runs. */
export const vacuum: CommandRow = {
  name: "vacuum",
  help: "Write the database file anew, without remains of erased texts and free pages. Stop the service first.",
  options: { "--tb-data-dir <path>": "the data directory (TB_DATA_DIR, default: ./data)" },
  examples: { "tightbeam vacuum": "vacuum the database in ./data" },
  notes:
    "Only on the service's machine. The disk needs free space for two copies of the database. An interrupt changes nothing. After the erasure of a contact the next start of the service vacuums by itself, unless the database is large. See docs/operating.md.",
  run,
};

async function run(cli: Cli, { tbDataDir }: VacuumOptions): Promise<void> {
  const output = cli.output();
  const vacuumed = await onDataDirectory(cli, tbDataDir, async (config) => {
    const { vacuumDatabase } = await import("../server/app/vacuum.ts");
    return await vacuumDatabase(config, (bytes, time) =>
      output.progress(() => `Vacuuming ${megabytes(bytes)}, which takes ${time}.`),
    );
  });
  output.show(vacuumed, ({ path, bytesBefore, bytesAfter }, paint) =>
    paint("green", `${path} is vacuumed: ${megabytes(bytesBefore)} before, ${megabytes(bytesAfter)} now.`),
  );
}

function megabytes(bytes: number): string {
  return `${(bytes / 1e6).toFixed(1)} MB`;
}
