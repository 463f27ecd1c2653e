/** `tightbeam backup`: takes a backup of the database, also while the service runs, and verifies backups. */

import type { Config } from "../server/config.ts";
import type { Cli } from "./cli.ts";
import type { CommandRow } from "./command.ts";
import { onDataDirectory } from "./data-directory.ts";
import { UsageError } from "./failure.ts";
import { listing } from "./output.ts";
import { Progress } from "./progress.ts";

interface BackupOptions {
  tbDataDir?: string;
  to?: string;
  verify?: string;
  withoutKey?: boolean;
}

/** Takes and verifies backups. The server's code is loaded only when it runs. */
export const backup: CommandRow = {
  name: "backup",
  help: "Take a backup of the database. The service may run.",
  options: {
    "--to <path>": { help: "a new directory for the backup; needed unless --verify is given", conflicts: "verify" },
    "--without-key": "leave secret.key out of the backup: keep it elsewhere",
    "--verify <path>": "check a backup: its files by their SHA-256, and the database in it",
    "--tb-data-dir <path>": "the data directory (TB_DATA_DIR, default: ./data)",
  },
  examples: {
    "tightbeam backup --to /backup/tightbeam-2026-11-22": "a consistent copy; the service may run",
    "tightbeam backup --verify /backup/tightbeam-2026-11-22": "whether it can be restored",
  },
  notes:
    "On the service's machine, or with its DATABASE_URL. A backup holds message texts and, unless you leave it out, the key of all secrets. See docs/operating.md for a cron line, and tightbeam restore --help.",
  run,
};

async function run(cli: Cli, options: BackupOptions): Promise<void> {
  const { to, verify, tbDataDir } = options;
  if ((to === undefined) === (verify === undefined))
    throw new UsageError(
      `name a new directory with --to <path>, such as --to ./backup-${new Date().toISOString().slice(0, 10)}, or a backup with --verify <path>.`,
    );
  const progress = new Progress(cli.terminal, { interrupted: "Interrupted: nothing was changed." });
  const taken = await progress.during(() =>
    onDataDirectory(cli, tbDataDir, async (config) => {
      const { verifyBackup } = await import("../server/app/backup.ts");
      if (verify !== undefined) return await verifyBackup(verify, progress.show);
      return await take(cli, config, options, progress);
    }),
  );
  const { path, manifest, warnings } = taken;
  const output = cli.output();
  output.show({ path, ...manifest }, (_, paint) => {
    const { files, counts, takenAt, schema, secretKey } = manifest;
    const bytes = files.reduce((sum, file) => sum + file.bytes, 0);
    const rows = Object.entries(counts)
      .map(([table, count]) => `${table} ${count}`)
      .join(", ");
    const key = secretKey ?? "none yet";
    const facts = { taken: takenAt, size: `${(bytes / 1e6).toFixed(1)} MB`, rows, schema, "secret key": key };
    const verdict = verify === undefined ? `The backup is complete: ${path}` : `The backup is whole: ${path}`;
    const notes = verify === undefined ? ["", ...warnings.map((warning) => paint("yellow", warning))] : [];
    return [paint("green", verdict), listing(facts, paint), ...notes].join("\n");
  });
}

async function take(cli: Cli, config: Config, { to = "", withoutKey }: BackupOptions, { show: progress }: Progress) {
  const { takeBackup } = await import("../server/app/backup.ts");
  return await takeBackup(config, to, {
    version: cli.version,
    now: Date.now(),
    withKey: withoutKey !== true,
    progress,
  });
}
