/** The file that `tightbeam migrate` leaves beside a database that was copied into PostgreSQL, so that no service starts on it again. */

import { existsSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { ConfigError } from "../config.ts";
import { MIGRATED_FILE } from "../store/sqlite/restored-files.ts";
import { syncFile } from "../store/sqlite/snapshot.ts";

/** Leaves the file. The caller has locked the directory, and the copy is complete. */
export function markMigrated(dataDir: string, completedAt: string): void {
  const path = join(dataDir, MIGRATED_FILE);
  writeFileSync(path, `${completedAt}\n`, { mode: 0o600, flush: true });
  syncFile(dataDir);
}

/** Throws `ConfigError` with one line if the database in the directory was copied into PostgreSQL. */
export function refuseMigrated(dataDir: string): void {
  const path = join(dataDir, MIGRATED_FILE);
  if (!existsSync(path)) return;
  throw new ConfigError(
    `The database in ${dataDir} was copied into PostgreSQL, and this start would send what waited there a second time: set DATABASE_URL. To go back to this database, delete ${path}.`,
  );
}
