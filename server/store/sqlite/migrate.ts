/** Migrates a database file to the tables of this version, before any thread opens it. */

import type { DatabaseSync } from "node:sqlite";
import { type MigrationResultSet, Migrator } from "kysely/migration";
import { MIGRATIONS } from "../migrations/list.ts";
import { StoreUnusable } from "../store.ts";
import { queryDatabase } from "./driver.ts";
import { makeIndexes } from "./make-indexes.ts";
import { moveAttempts } from "./move-attempts.ts";
import { moveNotes } from "./move-notes.ts";
import { countPositionsByWriter, moveRows } from "./move-rows.ts";
import { moveThreadKeys } from "./move-thread-keys.ts";
import { createReader } from "./query.ts";

/** Progress is reported at most once in this time, in real milliseconds. */
const REPORT_EVERY_MS = 5_000;

/**
 * Runs the migrations that are missing. `report` gets the progress of a long one. A process that is stopped in between goes on at
 * its next start. Throws `StoreUnusable` when a newer version of the service wrote the database.
 */
export async function migrate(
  database: DatabaseSync,
  report: (progress: string) => void = () => {},
  reportEveryMs = REPORT_EVERY_MS,
): Promise<void> {
  await withMigrator(database, (migrator) => migrator.migrateToLatest());
  const say = throttled(report, reportEveryMs);
  try {
    countPositionsByWriter(database);
    moveAttempts(database, (moved) => say(`moved the attempts of ${moved} deliveries`));
    moveRows(database, (moved) => say(`moved ${moved} rows into their new tables`));
    moveNotes(database);
    moveThreadKeys(database, (moved) => say(`changed the keys of ${moved} threads`));
    makeIndexes(database, (made) => say(`made ${made} indexes`));
  } catch (problem) {
    throw refusalOf(problem);
  }
}

/** Brings an empty database to the tables of an earlier migration, as a new database of that version had them. */
export async function migrateTo(database: DatabaseSync, schema: string): Promise<void> {
  await withMigrator(database, (migrator) => migrator.migrateTo(schema));
}

async function withMigrator(
  database: DatabaseSync,
  run: (migrator: Migrator) => Promise<MigrationResultSet>,
): Promise<void> {
  const read = createReader(database);
  const db = queryDatabase<never>(async (query) => {
    // SQLite rolls back by itself on a full disk; a second rollback would hide the cause.
    if (query.sql === "rollback" && !database.isTransaction) return [];
    return read(query);
  });
  const { error } = await run(new Migrator({ db, provider: { getMigrations: async () => MIGRATIONS } }));
  await db.destroy();
  if (error !== undefined) throw refusalOf(error);
}

/** Passes a report on if `everyMs` are over since the last one, or since the beginning. */
function throttled(report: (progress: string) => void, everyMs: number): (progress: string) => void {
  let reportedAt = performance.now();
  return (progress) => {
    const now = performance.now();
    if (now - reportedAt < everyMs) return;
    reportedAt = now;
    report(progress);
  };
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
