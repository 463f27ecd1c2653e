/** Vacuums the embedded database while no service runs on it: nothing of erased texts is left in its file, which is as small as its rows permit. */

import { existsSync, statSync } from "node:fs";
import { join } from "node:path";
import { type Config, ConfigError } from "../config.ts";
import { lockDirectory, openWriter } from "../store/sqlite/connection.ts";
import { finishRestore } from "../store/sqlite/restored-files.ts";
import { NoSpace } from "../store/sqlite/snapshot.ts";
import { timeOf, usedBytes, vacuum } from "../store/sqlite/vacuum.ts";
import { DATABASE_FILE } from "./backup-manifest.ts";
import { refusing } from "./open-store.ts";

/** A vacuumed database, with the bytes of its file before and after. */
export interface VacuumResult {
  path: string;
  bytesBefore: number;
  bytesAfter: number;
}

/**
 * Vacuums the database in the data directory. `begin` gets the bytes to write anew, and about how long that takes. If the process
 * is killed, nothing has changed. Throws `ConfigError` with one line if it cannot.
 */
export async function vacuumDatabase(
  { dataDir, databaseUrl }: Config,
  begin: (bytes: number, time: string) => void,
): Promise<VacuumResult> {
  if (databaseUrl !== null)
    throw new ConfigError("DATABASE_URL is set: PostgreSQL vacuums by itself; VACUUM FULL writes its tables anew.");
  const path = join(dataDir, DATABASE_FILE);
  if (!existsSync(dataDir)) throw absent(dataDir);
  return await refusing(async () => {
    const lock = lockDirectory(join(dataDir, "lock.db"));
    try {
      finishRestore(dataDir);
      if (!existsSync(path)) throw absent(dataDir);
      const bytesBefore = statSync(path).size;
      rewrite(path, begin);
      return { path, bytesBefore, bytesAfter: statSync(path).size };
    } catch (error) {
      if (error instanceof NoSpace) throw new ConfigError(`There is no space for the vacuum: ${error.message}.`);
      if (error instanceof ConfigError) throw error;
      throw new ConfigError(`${path} could not be vacuumed: ${(error as Error).message}.`);
    } finally {
      lock.close();
    }
  });
}

function rewrite(path: string, begin: (bytes: number, time: string) => void): void {
  const database = openWriter(path);
  try {
    const bytes = usedBytes(database);
    begin(bytes, timeOf(bytes));
    vacuum(database, path);
  } finally {
    database.close();
  }
}

function absent(dataDir: string): ConfigError {
  return new ConfigError(`There is no database in ${dataDir}: name the data directory of the service.`);
}
