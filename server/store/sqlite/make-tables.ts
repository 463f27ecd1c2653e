/** Makes the tables of a database file, before any thread opens it. */

import type { DatabaseSync } from "node:sqlite";
import { otherSchema } from "../schema-sql.ts";
import { StoreUnusable } from "../store.ts";
import { SQLITE_SCHEMA } from "./schema.ts";

/**
 * Makes the tables in an empty database, all of them or none. Leaves a database that has them as it is. Throws
 * `StoreUnusable` if the database has other tables, or cannot be written. `name`: the database's name in that error.
 */
export function makeTables(database: DatabaseSync, name = "the database"): void {
  try {
    database.exec("begin immediate");
    const id = schemaIdOf(database);
    if (id === null) {
      database.exec(`${SQLITE_SCHEMA.sql}; create table schema_id (id text not null)`);
      database.prepare("insert into schema_id (id) values (?)").run(SQLITE_SCHEMA.id);
    } else if (id !== SQLITE_SCHEMA.id) throw otherSchema(name);
    database.exec("commit");
  } catch (error) {
    // SQLite rolls back by itself on a full disk; a second rollback would hide the cause.
    if (database.isTransaction) database.exec("rollback");
    if (error instanceof StoreUnusable) throw error;
    throw new StoreUnusable(`the tables of ${name} could not be made: ${(error as Error).message}`);
  }
}

/**
 * Returns the id of a database's schema; null if the database has no tables. The id is empty if the tables are not
 * those of Tightbeam, or are older than the first schema id.
 */
export function schemaIdOf(database: DatabaseSync): string | null {
  const tables = database.prepare("select name from sqlite_schema where type = 'table'").all();
  if (tables.length === 0) return null;
  if (!tables.some(({ name }) => name === "schema_id")) return "";
  return String(database.prepare("select id from schema_id").get()?.id);
}
