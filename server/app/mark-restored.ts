/** Marks a PostgreSQL database that was restored from a backup, so that the next start holds what may have been sent since. */

import { type Config, ConfigError } from "../config.ts";
import { CLOCK_SHIFT, shiftMsOf } from "../engine/sandbox/clock.ts";
import { skipRestoredPositions } from "../store/postgres/restored-database.ts";
import { findSetting } from "../store/settings.ts";
import { openStoreAlone } from "./open-store.ts";
import { countRestoredWork, type RestoredWork, restoredMark } from "./restored-work.ts";

/**
 * Marks the database as restored from a backup that was taken at `takenAt`, and returns what the next start does. Throws
 * `ConfigError` with one line if a service is connected to it. Epoch milliseconds.
 */
export async function markRestored(config: Config, takenAt: number, now: number): Promise<RestoredWork> {
  const { databaseUrl } = config;
  if (databaseUrl === null)
    throw new ConfigError("--taken-at is for PostgreSQL: set DATABASE_URL, or name the directory of a backup.");
  if (!(takenAt <= now)) throw new ConfigError("--taken-at is not a time in the past, such as 2026-11-22T03:10:00Z.");
  const store = await openStoreAlone(config);
  try {
    const shiftMs = shiftMsOf(await findSetting(store.db, CLOCK_SHIFT));
    const work = await skipRestoredPositions(databaseUrl, (count) => countRestoredWork(now + shiftMs, count));
    await store.commit([{ op: "put", table: "settings", record: restoredMark(takenAt, now) }]);
    return work;
  } finally {
    await store.close();
  }
}
