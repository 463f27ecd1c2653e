/** Lets SQLite write temporary files beside a database, for work that may need more than the memory. */

import { dirname } from "node:path";
import type { DatabaseSync } from "node:sqlite";

/**
 * Runs `work`, for which SQLite writes temporary files into the directory of the database: this directory is writable and protects
 * texts, and any other one may be read-only or small. The directory is a setting of the process, so nothing else may do the same
 * meanwhile.
 */
export function withTemporaryFiles(database: DatabaseSync, work: () => void): void {
  const path = database.location();
  const directory = path === null ? "" : dirname(path).replaceAll("'", "''");
  database.exec(`pragma temp_store = file; pragma temp_store_directory = '${directory}'`);
  try {
    work();
  } finally {
    database.exec("pragma temp_store = memory; pragma temp_store_directory = ''");
  }
}
