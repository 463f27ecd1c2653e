/** `tightbeam restore`: puts a backup in the place of a data directory, while no service runs on it. */

import type { RestoreResult } from "../server/app/restore.ts";
import { ByteMeter } from "./byte-meter.ts";
import type { Cli } from "./cli.ts";
import type { CommandRow } from "./command.ts";
import { onDataDirectory } from "./data-directory.ts";
import type { Paint } from "./output.ts";

interface RestoreOptions {
  tbDataDir?: string;
  moveAside?: boolean;
}

/** Restores a backup. The server's code is loaded only when it runs. */
export const restore: CommandRow = {
  name: "restore",
  help: "Restore a backup into the data directory. Stop the service first.",
  arguments: { "<path>": "the directory of the backup" },
  options: {
    "--move-aside": "move data that is there already into before-restore-… in the data directory",
    "--tb-data-dir <path>": "the data directory (TB_DATA_DIR, default: ./data)",
  },
  examples: {
    "tightbeam restore /backup/tightbeam-2026-11-22": "into an empty ./data",
    "tightbeam restore /backup/tightbeam-2026-11-22 --move-aside": "in place of the data that is there",
  },
  notes:
    "Only on the service's machine. Nothing is deleted. The next start holds messages that may have been sent since the backup: see tightbeam held --help.",
  run,
};

async function run(cli: Cli, path: string, { tbDataDir, moveAside }: RestoreOptions): Promise<void> {
  const meter = new ByteMeter(cli.terminal);
  const restored = await meter.during(() =>
    onDataDirectory(cli, tbDataDir, async (config) => {
      const { restoreBackup } = await import("../server/app/restore.ts");
      const { progress } = meter;
      return await restoreBackup(config, path, { now: Date.now(), moveAside: moveAside === true, progress });
    }),
  );
  const output = cli.output();
  output.show(restored, (result, paint) => describe(result, paint));
  if (output.json) for (const warning of restored.warnings) output.note(warning);
}

function describe({ dataDir, takenAt, movedTo, work, warnings }: RestoreResult, paint: Paint): string {
  const { held, scheduled, withoutFallback, deliveries } = work;
  const lines = [paint("green", `The backup of ${takenAt} is restored into ${dataDir}.`)];
  if (movedTo !== null) lines.push(`The previous data is in ${movedTo}: delete it when nobody needs it any more.`);
  lines.push(...warnings.map((warning) => paint("yellow", warning)), "", "When you start the service:");
  const plans = [
    [held, "held, since they may have been sent after the backup (see tightbeam held)"],
    [scheduled, "scheduled for later, which go as planned, also if they were cancelled or moved since"],
    [withoutFallback, "sent, which fall back no more"],
  ] as const;
  for (const [count, plan] of plans) if (count > 0) lines.push(`  messages ${plan}: ${count}`);
  if (deliveries > 0) lines.push(`  webhooks are sent again, which receivers know by the event id: ${deliveries}`);
  if (lines.at(-1)?.startsWith("  ") !== true) lines.push("  nothing was waiting, so nothing is held");
  return [...lines, "", ...LOST].join("\n");
}

const LOST = [
  "What happened after the backup is not in it:",
  "  a client that repeats a request from after the backup sends its message again, also with its Idempotency-Key",
  "  keys that were revoked since work again; keys, numbers and endpoints that were made since are gone",
  "  opt-outs since are gone until a Mac or Twilio reports them again; SMPP cannot",
  "  messages and contacts that were deleted or erased since are back",
];
