/**
 * Finds triggers and views in a copy that Tightbeam did not make: SQLite would run them with the next write or read.
 */

import { DatabaseSync } from "node:sqlite";
import { errorCode } from "./connection.ts";
import { SQLITE_SCHEMA } from "./schema.ts";
import { DatabaseDamaged, openCopy } from "./snapshot.ts";

/** Matches the stored SQL of tables and indexes, which SQLite never runs by itself. */
const PASSIVE = /^create (?:table|index|unique index) /i;

/**
 * Returns the names of the triggers and views in the copy that a new database does not have letter by letter. Reads no
 * table of the copy. Throws `DatabaseDamaged` if SQLite cannot read the copy.
 */
export function listForeign(path: string): string[] {
  const found = activeIn(path);
  if (found.size === 0) return [];
  const own = new DatabaseSync(":memory:");
  try {
    own.exec(SQLITE_SCHEMA.sql);
    const known = activeOf(own);
    return [...found].filter(([name, sql]) => known.get(name) !== sql).map(([name]) => name);
  } finally {
    own.close();
  }
}

function activeIn(path: string): Map<string, string> {
  const database = openCopy(path);
  try {
    return activeOf(database);
  } catch (error) {
    if (errorCode(error) === null) throw error;
    throw new DatabaseDamaged((error as Error).message);
  } finally {
    database.close();
  }
}

/** Returns the SQL of triggers and views, by type and name. */
function activeOf(database: DatabaseSync): Map<string, string> {
  const rows = database.prepare("select type, name, sql from sqlite_schema where sql is not null").all();
  const active = rows.filter(({ sql }) => !PASSIVE.test(String(sql)));
  return new Map(active.map(({ type, name, sql }) => [`${type} ${name}`, String(sql)]));
}
