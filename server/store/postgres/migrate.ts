/** Migrates a PostgreSQL database to the tables of this version. */

import { Kysely, PostgresDialect } from "kysely";
import { Migrator } from "kysely/migration";
import type pg from "pg";
import { StoreUnusable } from "../store.ts";
import { MIGRATIONS } from "./migrations/list.ts";
import { createPool } from "./pool.ts";

/** Connections of a migration, whose statements have no limit: a large table takes its time, and others wait for the end. */
const MIGRATING = { connectionsMax: 2, queryMsMax: 0 };

/** Migrates the database at `url` by connections of its own. Throws as `migrate` does. */
export async function migrateDatabase(url: string): Promise<void> {
  const pool = createPool(url, MIGRATING.connectionsMax, MIGRATING.queryMsMax);
  try {
    await migrate(pool);
  } finally {
    await pool.end();
  }
}

/**
 * Runs the migrations that are missing, in one transaction, while other processes that start wait. Throws `StoreUnusable` when
 * a newer version of the service wrote the database.
 */
export async function migrate(pool: pg.Pool): Promise<void> {
  const db = new Kysely<never>({
    dialect: new PostgresDialect({ pool: { options: {}, connect: () => pool.connect(), end: async () => {} } }),
  });
  const migrator = new Migrator({ db, provider: { getMigrations: async () => MIGRATIONS } });
  const { error } = await migrator.migrateToLatest();
  await db.destroy();
  if (error !== undefined) throw refusalOf(error);
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
