/** Migrates a PostgreSQL database to the tables of this version. */

import { Kysely, PostgresAdapter, PostgresDialect, sql, type Transaction } from "kysely";
import { Migrator } from "kysely/migration";
import type pg from "pg";
import { StoreUnusable } from "../store.ts";
import { MIGRATIONS } from "./migrations/list.ts";
import { createPool } from "./pool.ts";

/** Connections of a migration, whose statements have no limit: a large table takes its time, and others wait for the end. */
const MIGRATING = { connectionsMax: 2, queryMsMax: 0 };

/** The advisory lock of the transaction in which a process migrates. Kysely's own lock has another number, and holds nobody up. */
const MIGRATION_LOCK = 7_236_914_583;
/** How often a process reports that it waits for the migrations of another one, in milliseconds. */
const REPORT_EVERY_MS = 10_000;
/** How long a suspended process keeps the lock before the server ends its migration, in milliseconds. */
const SUSPENDED_MS_MAX = 10_000;

/** Gets a sentence without a point for the log. */
export type MigrationLog = (progress: string) => void;

/** Migrates the database at `url` by connections of its own. Throws as `migrate` does. */
export async function migrateDatabase(url: string, report: MigrationLog): Promise<void> {
  const pool = createPool(url, MIGRATING.connectionsMax, MIGRATING.queryMsMax);
  try {
    await migrate(pool, report);
  } finally {
    await pool.end();
  }
}

/**
 * Runs the migrations that are missing, in one transaction. If none is missing, takes no lock. If another process migrates the
 * database, waits for its end and reports the wait. Throws `StoreUnusable` when a newer version of the service wrote the database.
 */
export async function migrate(pool: pg.Pool, report: MigrationLog = () => {}): Promise<void> {
  if (await isUpToDate(pool)) return;
  const db = new Kysely<never>({
    dialect: new MigrationDialect({ pool: { options: {}, connect: () => pool.connect(), end: async () => {} } }),
  });
  try {
    await db.transaction().execute(async (transaction) => {
      await lockMigrations(transaction, report);
      const migrator = new Migrator({ db: transaction, provider: { getMigrations: async () => MIGRATIONS } });
      const { error } = await migrator.migrateToLatest();
      if (error !== undefined) throw error;
    });
  } catch (error) {
    throw refusalOf(error);
  } finally {
    await db.destroy();
  }
}

/** Whether the database has all migrations of this version and no other. */
async function isUpToDate(pool: pg.Pool): Promise<boolean> {
  const { rows: tables } = await pool.query("select to_regclass('kysely_migration') as name");
  if (tables[0]?.name === null) return false;
  const { rows } = await pool.query<{ name: string }>("select name from kysely_migration");
  const names = new Set(rows.map(({ name }) => name));
  return names.size === Object.keys(MIGRATIONS).length && Object.keys(MIGRATIONS).every((name) => names.has(name));
}

/** Waits until no other process migrates the database, and keeps others out until the end of the transaction. */
async function lockMigrations(transaction: Transaction<never>, report: MigrationLog): Promise<void> {
  // A limit of the server's own configuration would end a long migration or a wait for one.
  for (const limit of ["statement_timeout", "lock_timeout"])
    await sql.raw(`set local ${limit} = 0`).execute(transaction);
  await sql.raw(`set local idle_in_transaction_session_timeout = ${SUSPENDED_MS_MAX}`).execute(transaction);
  const tried = sql<{ got: boolean }>`select pg_try_advisory_xact_lock(${sql.lit(MIGRATION_LOCK)}) as got`;
  if ((await tried.execute(transaction)).rows[0]?.got === true) return;
  const waiting = () => report("another process migrates the database; this one waits until it has ended");
  waiting();
  const repeating = setInterval(waiting, REPORT_EVERY_MS);
  try {
    await sql`select pg_advisory_xact_lock(${sql.lit(MIGRATION_LOCK)})`.execute(transaction);
  } finally {
    clearInterval(repeating);
  }
}

/**
 * PostgreSQL without Kysely's lock of migrations, which a session holds: behind a pooler, the session that has to give it back may be
 * another one than the session that took it. `lockMigrations` replaces it.
 */
class MigrationDialect extends PostgresDialect {
  override createAdapter(): PostgresAdapter {
    return new LocklessAdapter();
  }
}

class LocklessAdapter extends PostgresAdapter {
  override async acquireMigrationLock(): Promise<void> {}
  override async releaseMigrationLock(): Promise<void> {}
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
