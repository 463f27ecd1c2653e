/** `tightbeam restore`: puts a backup in the place of a data directory or into PostgreSQL, while no service runs on it. */

import type { RestoreResult } from "../server/app/restore.ts";
import type { Cli } from "./cli.ts";
import type { CommandRow } from "./command.ts";
import { onDataDirectory } from "./data-directory.ts";
import { UsageError } from "./failure.ts";
import type { Paint } from "./output.ts";
import { Progress } from "./progress.ts";

interface RestoreOptions {
  tbDataDir?: string;
  moveAside?: boolean;
  takenAt?: string;
}

/** Restores a backup. The server's code is loaded only when it runs. */
export const restore: CommandRow = {
  name: "restore",
  help: "Restore a backup. Stop the service first.",
  arguments: { "[path]": "the directory of the backup" },
  options: {
    "--taken-at <time>":
      "with DATABASE_URL, after pg_restore: when that backup was taken, as ISO 8601 with Z or an offset",
    "--move-aside": "move data that is there already into before-restore-… in the data directory",
    "--tb-data-dir <path>": "the data directory (TB_DATA_DIR, default: ./data)",
  },
  examples: {
    "tightbeam restore /backup/tightbeam-2026-11-22": "into an empty ./data",
    "tightbeam restore /backup/tightbeam-2026-11-22 --move-aside": "in place of the data that is there",
    "tightbeam restore --taken-at 2026-11-22T03:10:00Z": "mark a PostgreSQL database that pg_restore restored",
  },
  notes:
    "On the service's machine, or with its DATABASE_URL, which then names an empty database. Nothing is deleted. The next start holds messages that may have been sent since the backup: see tightbeam held --help.",
  run,
};

async function run(cli: Cli, path: string | undefined, options: RestoreOptions): Promise<void> {
  const { tbDataDir, moveAside, takenAt } = options;
  if ((path === undefined) === (takenAt === undefined))
    throw new UsageError("name the directory of the backup, or --taken-at <time> for PostgreSQL.");
  if (path === undefined) return mark(cli, takenAt ?? "");
  const interrupted = cli.terminal.env.DATABASE_URL
    ? "Interrupted: run the same command again, and it goes on here."
    : "Interrupted: nothing was changed.";
  const progress = new Progress(cli.terminal, { interrupted, goesOn: "copying" });
  const restored = await progress.during(() =>
    onDataDirectory(cli, tbDataDir, async (config) => {
      const { restoreBackup } = await import("../server/app/restore.ts");
      return await restoreBackup(config, path, {
        now: Date.now(),
        moveAside: moveAside === true,
        progress: progress.show,
      });
    }),
  );
  const output = cli.output();
  output.show(restored, (result, paint) => describe(result, paint));
  if (output.json) for (const warning of restored.warnings) output.note(warning);
}

/** Marks the PostgreSQL database of `DATABASE_URL` as restored. */
async function mark(cli: Cli, takenAt: string): Promise<void> {
  const work = await onDataDirectory(cli, undefined, async (config) => {
    const { markRestored } = await import("../server/app/mark-restored.ts");
    return await markRestored(config, Date.parse(takenAt), Date.now());
  });
  cli
    .output()
    .show({ takenAt, work }, (_, paint) =>
      [paint("green", `The database is marked as restored from a backup of ${takenAt}.`), "", ...plansOf(work)].join(
        "\n",
      ),
    );
}

function describe({ dataDir, takenAt, movedTo, work, warnings }: RestoreResult, paint: Paint): string {
  const lines = [paint("green", `The backup of ${takenAt} is restored into ${dataDir ?? "PostgreSQL"}.`)];
  if (movedTo !== null) lines.push(`The previous data is in ${movedTo}: delete it when nobody needs it any more.`);
  return [...lines, ...warnings.map((warning) => paint("yellow", warning)), "", ...plansOf(work)].join("\n");
}

/** The plans of the next start, and the warnings about what the backup does not have. */
function plansOf({ held, scheduled, withoutFallback, deliveries }: RestoreResult["work"]): string[] {
  const plans = [
    [held, "held, since they may have been sent after the backup (see tightbeam held)"],
    [scheduled, "scheduled for later, which go as planned, also if they were cancelled or moved since"],
    [withoutFallback, "sent, which fall back no more"],
  ] as const;
  const lines = ["When you start the service:"];
  for (const [count, plan] of plans) if (count > 0) lines.push(`  messages ${plan}: ${count}`);
  if (deliveries > 0) lines.push(`  webhooks are sent again, which receivers know by the event id: ${deliveries}`);
  if (lines.length === 1) lines.push("  nothing was waiting, so nothing is held");
  return [...lines, "", ...LOST];
}

const LOST = [
  "What happened after the backup is not in it:",
  "  a client that repeats a request from after the backup sends its message again, also with its Idempotency-Key",
  "  keys that were revoked since work again; keys, numbers and endpoints that were made since are gone",
  "  opt-outs since are gone until a Mac or Twilio reports them again; SMPP cannot",
  "  messages and contacts that were deleted or erased since are back",
];
