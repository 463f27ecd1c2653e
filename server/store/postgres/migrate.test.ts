/** Tests that the migrations of PostgreSQL make the tables that rows are encoded for. */

import { test } from "node:test";
import { isLockAwaited, sharedPostgresForFile } from "../../../test/support/postgres.ts";
import { until } from "../../../test/support/wait.ts";
import { LAYOUT } from "../rows.ts";
import { TABLES } from "../schema.ts";
import { migrate } from "./migrate.ts";
import { createPool } from "./pool.ts";

const TYPES = { text: "text", json: "text", number: "bigint", flag: "smallint", bytes: "bytea" } as const;

const postgres = sharedPostgresForFile();

test("a migrated database has every column of every table, and a second migration changes nothing", async (t) => {
  const { url, drop } = await postgres.create();
  const pool = createPool(url, 2);
  try {
    await migrate(pool);
    await migrate(pool);
    for (const [name, columns] of Object.entries(LAYOUT)) {
      const table = TABLES[name as keyof typeof TABLES].name;
      const { rows } = await pool.query<{
        column_name: string;
        data_type: string;
        is_nullable: string;
        collation_name: string;
      }>(
        `select column_name, data_type, is_nullable, collation_name from information_schema.columns where table_name = $1`,
        [table],
      );
      const found = new Map(rows.map((row) => [row.column_name, row]));
      for (const { column, kind, isNullable } of columns) {
        const row = found.get(column);
        t.assert.equal(row?.data_type, TYPES[kind], `${table}.${column}`);
        t.assert.equal(row?.is_nullable, isNullable ? "YES" : "NO", `${table}.${column}`);
        if (TYPES[kind] === "text") t.assert.equal(row?.collation_name, "C", `${table}.${column}`);
      }
    }
  } finally {
    await pool.end();
    await drop();
  }
});

/** The number of Kysely's own lock of migrations. */
const KYSELY_LOCK = "3853314791062309107";

test("a start migrates the database also if a pooler's connection has kept Kysely's lock of migrations", {
  timeout: 60_000,
}, async (t) => {
  const { url, drop } = await postgres.create();
  const [pool, other] = [createPool(url, 2), createPool(url, 1)];
  try {
    await other.query(`select pg_advisory_lock(${KYSELY_LOCK})`);
    await migrate(pool);
    await migrate(pool);
    const { rows } = await pool.query(
      `select count(*) from pg_locks l join pg_database d on d.oid = l.database
       where l.locktype = 'advisory' and d.datname = current_database()`,
    );
    t.assert.equal(rows[0]?.count, 1);
  } finally {
    await Promise.all([other.end(), pool.end()]);
    await drop();
  }
});

test("a start that finds another process migrating says so, waits for its end, and migrates nothing again", {
  timeout: 60_000,
}, async (t) => {
  const { url, drop } = await postgres.create();
  const [pool, other] = [createPool(url, 2), createPool(url, 1)];
  const client = await other.connect();
  try {
    await client.query("begin; select pg_advisory_xact_lock(7236914583)");
    const reports: string[] = [];
    const migrating = migrate(pool, (progress) => reports.push(progress));
    await until(() => isLockAwaited(client), { what: "a wait for the lock" });
    t.assert.equal(reports.length, 1);
    await client.query("commit");
    await migrating;
    await client.query("begin; select pg_advisory_xact_lock(7236914583)");
    await migrate(pool, (progress) => reports.push(progress));
    t.assert.equal(reports.length, 1, "nothing is missing: no lock is asked for");
    await client.query("rollback");
  } finally {
    client.release();
    await Promise.all([other.end(), pool.end()]);
    await drop();
  }
});
