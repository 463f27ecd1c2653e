/** The database of a test's service: the embedded one, or one on PostgreSQL, which `TB_TEST_ENGINE=postgres` makes the default. */

import { existsSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { DatabaseSync } from "node:sqlite";
import { before } from "node:test";
import pg from "pg";
import { openPostgres } from "../../server/store/postgres/store.ts";
import { openSqliteInProcess } from "../../server/store/sqlite/store.ts";
import { cleanedDatabases } from "./cleaned-databases.ts";
import { createDatabase, type FileServer, type PostgresServer, sharedPostgres, type TestDatabase } from "./postgres.ts";

type SqlText = string | number | null;

/** A database of a service. */
export interface ServiceDatabase {
  /** Null: the embedded database. */
  url: string | null;
  sql(text: string, values: readonly SqlText[]): Promise<Record<string, unknown>[]>;
  drop(): Promise<void>;
}

/** A server, and what makes migrated databases without rows on it. */
export interface PreparedPostgres {
  server: PostgresServer;
  create(): Promise<TestDatabase>;
  /** Makes a database that no test has used before. */
  copy(): Promise<TestDatabase>;
  /** The URL by which a service reaches a database, instead of the server's own. */
  through?: (url: string) => string;
}

/** Whether services of tests are on PostgreSQL. */
export const isOnPostgres = process.env.TB_TEST_ENGINE === "postgres";

/** Value of `skip` for a test of the embedded database's file. */
export const SKIP_ON_POSTGRES = isOnPostgres ? "it reads or breaks the file of the embedded database" : false;

/** The server of this process, which ends with it. */
let prepared: Promise<PreparedPostgres> | null = null;

/** Prepares databases of a server, which is the shared one unless given. The test stops it. */
export async function preparePostgres(server?: PostgresServer): Promise<PreparedPostgres> {
  const started = server ?? (await sharedPostgres());
  const empty = await createDatabase(started);
  await (await openPostgres(empty.url, "member_0")).close();
  const copy = () => createDatabase(started, empty);
  return { server: started, create: cleanedDatabases({ create: copy }), copy };
}

/** Prepares databases of the shared server once for this process. The server ends with the run, or with this process. */
export function sharedPreparedPostgres(): Promise<PreparedPostgres> {
  prepared ??= preparePostgres();
  return prepared;
}

/**
 * The shared server for the tests of a file whose databases have the tables of the service and no rows. They are copies of one database
 * whose tables this process makes once: to make them again for each test would be most of the test.
 */
export function preparedPostgresForFile(): FileServer {
  let ready: PreparedPostgres;
  before(async () => {
    ready = await sharedPreparedPostgres();
  });
  return {
    get server() {
      return ready.server;
    },
    create: () => ready.copy(),
  };
}

/** The bytes of a database file without rows: to make the tables again for each service would be most of its start. */
let emptyFile: Buffer | null = null;

/** Puts a migrated database into a data directory that has none. */
async function prepareSqlite(dataDir: string): Promise<void> {
  const path = join(dataDir, "tightbeam.db");
  if (existsSync(path)) return;
  emptyFile ??= await migratedFile();
  writeFileSync(path, emptyFile, { mode: 0o600 });
}

async function migratedFile(): Promise<Buffer> {
  const directory = mkdtempSync(join(tmpdir(), "tightbeam-empty-"));
  const path = join(directory, "tightbeam.db");
  await (await openSqliteInProcess(path)).close();
  const bytes = readFileSync(path);
  rmSync(directory, { recursive: true });
  return bytes;
}

/** The database of a service on `dataDir`: a new one of `postgres`, or the embedded one. */
export async function serviceDatabase(dataDir: string, postgres: PreparedPostgres | null): Promise<ServiceDatabase> {
  if (postgres === null && !isOnPostgres) {
    await prepareSqlite(dataDir);
    return { url: null, sql: async (...asked) => askSqlite(dataDir, ...asked), drop: async () => {} };
  }
  const { create, through } = postgres ?? (await sharedPreparedPostgres());
  const { url, drop } = await create();
  return { url: through?.(url) ?? url, drop, sql: (...asked) => askPostgres(url, ...asked) };
}

function askSqlite(dataDir: string, text: string, values: readonly SqlText[]): Record<string, unknown>[] {
  const database = new DatabaseSync(join(dataDir, "tightbeam.db"));
  try {
    return database.prepare(text).all(...values);
  } finally {
    database.close();
  }
}

async function askPostgres(url: string, text: string, values: readonly SqlText[]): Promise<Record<string, unknown>[]> {
  const client = new pg.Client({ connectionString: url });
  await client.connect();
  try {
    let number = 0;
    const numbered = text.replaceAll("?", () => {
      number += 1;
      return `$${number}`;
    });
    return (await client.query(numbered, [...values])).rows;
  } finally {
    await client.end();
  }
}
