/** Makes the short indexes in the place of those of older versions, each in a transaction of its own. */

import type { DatabaseSync } from "node:sqlite";
import { SHORT_INDEXES } from "../migrations/0016-short-indexes.ts";
import { withTemporaryFiles } from "./temporary-files.ts";

/**
 * Makes the indexes that the database does not have yet; does nothing if it has them all. A process that is stopped in between
 * goes on at its next start. `report` gets the number of indexes that are made, before each further one.
 */
export function makeIndexes(database: DatabaseSync, report: (made: number) => void = () => {}): void {
  const stored = database.prepare("select sql from sqlite_schema where type = 'index' and name = ?");
  const missing = Object.entries(SHORT_INDEXES).filter(([name, sql]) => stored.get(name)?.sql !== spelled(sql));
  if (missing.length === 0) return;
  // SQLite sorts the rows of an index, which may be more than the memory holds.
  withTemporaryFiles(database, () => {
    try {
      for (const [index, [name, sql]] of missing.entries()) {
        report(index);
        database.exec(`begin immediate; drop index if exists ${name}; ${sql}; commit`);
      }
    } finally {
      if (database.isTransaction) database.exec("rollback");
    }
  });
}

/** A statement as SQLite keeps it. */
function spelled(sql: string): string {
  return sql.replace(/^create (unique )?index/, (words) => words.toUpperCase());
}
