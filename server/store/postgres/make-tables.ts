/** Makes the tables of a PostgreSQL database. */

import type pg from "pg";
import { otherSchema } from "../schema-sql.ts";
import { StoreUnusable } from "../store.ts";
import { TABLES } from "../tables.ts";
import { createPool } from "./pool.ts";
import { POSTGRES_SCHEMA } from "./schema.ts";

/** The advisory lock of the transaction in which a process makes the tables. */
const TABLES_LOCK = 7_236_914_583;
/** How often a process reports that it waits for the tables of another one, in milliseconds. */
const REPORT_EVERY_MS = 10_000;
/** How long a suspended process keeps the lock before the server ends its transaction, in milliseconds. */
const SUSPENDED_MS_MAX = 10_000;
/** SQLSTATEs of a connection that the server has ended, as PostgreSQL and PgBouncer report them. */
const ENDED = new Set(["57P01", "08P01"]);
/** How many uses of ended connections the start tries before it gives up. */
const TRIES_MAX = 5;
/** Tables by which the service recognises a database of Tightbeam. */
const NAMES = Object.values(TABLES).map(({ name }) => name);

/** Gets a sentence without a point for the log. */
export type TablesLog = (progress: string) => void;

/** Makes the tables of the database at `url` by a connection of its own. Throws as `makeTables` does. */
export async function makeTablesAt(url: string, report: TablesLog): Promise<void> {
  const pool = createPool(url, 1, 0);
  try {
    await makeTables(pool, report);
  } finally {
    await pool.end();
  }
}

/**
 * Makes the tables in a database that has none, in one transaction. Takes no lock if the tables are there. If another process
 * is making them, waits until it has ended, and reports the wait. Throws `StoreUnusable` if the database has other tables.
 */
export async function makeTables(pool: pg.Pool, report: TablesLog = () => {}): Promise<void> {
  if (await hasTablesNow(pool)) return;
  const client = await pool.connect();
  try {
    await client.query("begin");
    await lock(client, report);
    if (!(await hasTables(client))) {
      await client.query(POSTGRES_SCHEMA.sql);
      await client.query(`create table schema_id (id text collate "C" not null)`);
      await client.query("insert into schema_id (id) values ($1)", [POSTGRES_SCHEMA.id]);
    }
    await client.query("commit");
    client.release();
  } catch (error) {
    client.release(true);
    if (error instanceof StoreUnusable) throw error;
    throw new StoreUnusable(`the tables of the database could not be made: ${(error as Error).message}`);
  }
}

/**
 * `hasTables` in spite of connections that a pooler keeps although the server has ended
 * them, for example before a restart. Each of them fails at its next use, and is replaced.
 */
async function hasTablesNow(pool: pg.Pool): Promise<boolean> {
  for (let tries = 1; ; tries += 1) {
    try {
      return await hasTables(pool);
    } catch (error) {
      if (tries === TRIES_MAX || !(error instanceof Error && "code" in error && ENDED.has(String(error.code))))
        throw error;
    }
  }
}

/** Whether the database has the tables of this version. Throws `StoreUnusable` if it has those of another one. */
export async function hasTables(database: Pick<pg.ClientBase, "query">): Promise<boolean> {
  const { rows } = await database.query<{ id: string | null; tables: boolean }>(
    `select to_regclass('schema_id')::text as id,
       exists (select 1 from pg_tables where schemaname = current_schema() and tablename = any($1)) as tables`,
    [NAMES],
  );
  if (rows[0]?.id === null) {
    if (rows[0].tables) throw otherSchema("the database");
    return false;
  }
  const { rows: ids } = await database.query<{ id: string }>("select id from schema_id");
  if (ids[0]?.id !== POSTGRES_SCHEMA.id) throw otherSchema("the database");
  return true;
}

/** Waits until no other process makes the tables, and keeps others out until the end of the transaction. */
async function lock(client: pg.ClientBase, report: TablesLog): Promise<void> {
  // A time limit in the server's own configuration would end the wait for the lock.
  for (const limit of ["statement_timeout", "lock_timeout"]) await client.query(`set local ${limit} = 0`);
  await client.query(`set local idle_in_transaction_session_timeout = ${SUSPENDED_MS_MAX}`);
  const { rows } = await client.query<{ got: boolean }>(`select pg_try_advisory_xact_lock(${TABLES_LOCK}) as got`);
  if (rows[0]?.got === true) return;
  const waiting = () => report("another process makes the tables; this one waits until it has ended");
  waiting();
  const repeating = setInterval(waiting, REPORT_EVERY_MS);
  try {
    await client.query(`select pg_advisory_xact_lock(${TABLES_LOCK})`);
  } finally {
    clearInterval(repeating);
  }
}
