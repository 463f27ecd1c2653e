/** Tests that one process makes the tables of PostgreSQL, and that tables of another version are refused. */

import { test } from "node:test";
import { isLockAwaited, sharedPostgresForFile } from "../../../test/support/postgres.ts";
import { until } from "../../../test/support/wait.ts";
import { makeTables } from "./make-tables.ts";
import { createPool } from "./pool.ts";
import { POSTGRES_SCHEMA } from "./schema.ts";

const postgres = sharedPostgresForFile();

test("an empty database gets the tables, and a second start changes nothing", async (t) => {
  const { url, drop } = await postgres.create();
  const pool = createPool(url, 2);
  try {
    await makeTables(pool);
    await makeTables(pool);
    const { rows } = await pool.query("select id from schema_id");
    t.assert.deepEqual(rows, [{ id: POSTGRES_SCHEMA.id }]);
  } finally {
    await pool.end();
    await drop();
  }
});

test("a start uses another connection for each that a pooler kept and the server has ended", async (t) => {
  const { url, drop } = await postgres.create();
  const pool = createPool(url, 2);
  try {
    let ended = 3;
    const query = (...given: Parameters<typeof pool.query>) => {
      if (ended === 0) return pool.query(...given);
      ended -= 1;
      return Promise.reject(Object.assign(new Error("terminating connection"), { code: "57P01" }));
    };
    await makeTables({ query, connect: () => pool.connect() } as unknown as typeof pool);
    const { rows } = await pool.query("select id from schema_id");
    t.assert.deepEqual(rows, [{ id: POSTGRES_SCHEMA.id }]);
  } finally {
    await pool.end();
    await drop();
  }
});

/** Databases that this version did not make. */
const OTHERS: readonly [what: string, sql: string][] = [
  ["another version made", "create table schema_id (id text); insert into schema_id values ('0123')"],
  ["a version from before there were ids made", "create table customers (id text)"],
];

for (const [what, sql] of OTHERS) {
  test(`a database that ${what} is refused in one line, and not changed`, async (t) => {
    const { url, drop } = await postgres.create();
    const pool = createPool(url, 2);
    try {
      await pool.query(sql);
      await t.assert.rejects(makeTables(pool), /another version of Tightbeam: .*empty database$/);
      const { rows } = await pool.query("select count(*) from pg_tables where schemaname = current_schema()");
      t.assert.equal(rows[0]?.count, 1);
    } finally {
      await pool.end();
      await drop();
    }
  });
}

test("a start that finds another process making the tables says so, waits for its end, and makes nothing again", {
  timeout: 60_000,
}, async (t) => {
  const { url, drop } = await postgres.create();
  const [pool, other] = [createPool(url, 2), createPool(url, 1)];
  const client = await other.connect();
  try {
    await client.query("begin; select pg_advisory_xact_lock(7236914583)");
    const reports: string[] = [];
    const making = makeTables(pool, (progress) => reports.push(progress));
    await until(() => isLockAwaited(client), { what: "a wait for the lock" });
    t.assert.equal(reports.length, 1);
    await client.query("commit");
    await making;
    await client.query("begin; select pg_advisory_xact_lock(7236914583)");
    await makeTables(pool, (progress) => reports.push(progress));
    t.assert.equal(reports.length, 1, "nothing is missing: no lock is asked for");
    await client.query("rollback");
  } finally {
    client.release();
    await Promise.all([other.end(), pool.end()]);
    await drop();
  }
});
