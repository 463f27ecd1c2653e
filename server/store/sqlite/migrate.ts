/** Migrates a database file to the tables of this version, before any thread opens it. */

import type { DatabaseSync } from "node:sqlite";
import { Migrator } from "kysely/migration";
import { SHORT_INDEXES } from "../migrations/0016-short-indexes.ts";
import { MIGRATIONS } from "../migrations/list.ts";
import { StoreUnusable } from "./connection.ts";
import { queryDatabase } from "./driver.ts";
import { makeIndexes } from "./make-indexes.ts";
import { moveAttempts } from "./move-attempts.ts";
import { moveNotes } from "./move-notes.ts";
import { countPositionsByWriter, moveRows } from "./move-rows.ts";
import { moveThreadKeys } from "./move-thread-keys.ts";
import { createReader } from "./query.ts";

/**
 * Runs the migrations that are missing. `report` gets the progress of a long one. Throws `StoreUnusable` when a newer version of
 * the service wrote the database.
 */
export async function migrate(database: DatabaseSync, report: (progress: string) => void = () => {}): Promise<void> {
  const read = createReader(database);
  const db = queryDatabase<never>(async (query) => {
    // SQLite rolls back by itself on a full disk; a second rollback would hide the cause.
    if (query.sql === "rollback" && !database.isTransaction) return [];
    return read(query);
  });
  const migrator = new Migrator({ db, provider: { getMigrations: async () => MIGRATIONS } });
  const { error } = await migrator.migrateToLatest();
  await db.destroy();
  if (error !== undefined) throw refusalOf(error);
  try {
    countPositionsByWriter(database);
    moveAttempts(database, (moved) => report(`moved the attempts of ${moved} deliveries`));
    moveRows(database, (moved) => report(`moved ${moved} rows into their new tables`));
    moveNotes(database);
    moveThreadKeys(database, (moved) => report(`changed the keys of ${moved} threads`));
    makeIndexes(database, (made) => report(`made ${made} of ${Object.keys(SHORT_INDEXES).length} indexes`));
  } catch (problem) {
    throw refusalOf(problem);
  }
}

function refusalOf(error: unknown): StoreUnusable {
  const message = error instanceof Error ? error.message : String(error);
  if (message.includes("corrupted migrations")) {
    return new StoreUnusable(
      "the database was written by a newer version of Tightbeam; install that version, or restore a backup made with this one",
    );
  }
  return new StoreUnusable(`the database could not be brought up to date: ${message}`);
}
