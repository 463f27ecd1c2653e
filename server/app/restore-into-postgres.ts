/** Copies the database of a backup into an empty PostgreSQL database, and marks it as restored. */

import { ConfigError } from "../config.ts";
import { CLOCK_SHIFT, shiftMsOf } from "../engine/sandbox/clock.ts";
import { checkServer, requireAlone } from "../store/postgres/check-server.ts";
import { RowSource } from "../store/sqlite/row-source.ts";
import type { BackupProgress } from "./backup.ts";
import { type BackupManifest, DATABASE_FILE } from "./backup-manifest.ts";
import { copyInto } from "./migrate-to-postgres.ts";
import { countRestoredWork, type RestoredWork, restoredMark } from "./restored-work.ts";

/**
 * Copies the database `path`, which is a copy of the backup's and up to date. Until all of it is copied and marked, no service starts
 * on the database at the URL, and the same restore goes on after an interruption. Returns what the next start will do.
 */
export async function restoreIntoPostgres(
  url: string,
  path: string,
  { takenAt, files }: BackupManifest,
  { now, progress }: { now: number; progress: BackupProgress },
): Promise<RestoredWork> {
  await checkServer(url);
  await requireAlone(url);
  const source = new RowSource(path);
  try {
    const shiftMs = shiftMsOf(source.setting(CLOCK_SHIFT));
    const work = await countRestoredWork(now + shiftMs, (query) => source.countOf(query));
    const { completed, wasComplete } = await copyInto(
      url,
      source,
      { now, progress: (doing, done, total) => progress(doing, done, total, "rows") },
      {
        identity: `backup of ${takenAt}, SHA-256 ${files.find(({ name }) => name === DATABASE_FILE)?.sha256}`,
        setting: restoredMark(Date.parse(takenAt), now),
      },
    );
    if (!wasComplete) return work;
    throw new ConfigError(
      `This backup is in the database already, since ${completed.completedAt}: start the service, or name an empty database.`,
    );
  } finally {
    source.close();
  }
}
