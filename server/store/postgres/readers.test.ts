/** Tests that no list keeps a connection to PostgreSQL for longer than its time, and that values come back as rows have them. */

import assert from "node:assert/strict";
import { test } from "node:test";
import { sharedPostgresForFile } from "../../../test/support/postgres.ts";
import { StoreUnavailable } from "../store.ts";
import { createPool } from "./pool.ts";
import { openReads, readList } from "./readers.ts";

const postgres = sharedPostgresForFile();

/** A limit that no read here meets: the server also ends a connection that is idle in a transaction for so long. */
const LONG_MS = 60_000;

const run = <Rows>(read: () => Promise<Rows>) => read();

test("a list that takes too long ends, and its connection serves the next one without its limit", async () => {
  const { url, drop } = await postgres.create();
  const pool = createPool(url, 1);
  try {
    const pid = async () => (await pool.query("select pg_backend_pid() as pid")).rows[0].pid;
    const first = await pid();
    await assert.rejects(readList(pool, { sql: "select pg_sleep(60)", parameters: [] }, 1_000), StoreUnavailable);
    assert.equal(await pid(), first);
    const { rows } = await pool.query("show statement_timeout");
    assert.deepEqual(rows, [{ statement_timeout: "0" }]);
    await assert.rejects(readList(pool, { sql: "select no_such_column", parameters: [] }, LONG_MS), /no_such_column/);
    assert.deepEqual(await readList(pool, { sql: "select 1 as one", parameters: [] }, LONG_MS), [{ one: 1 }]);
    await assert.rejects(readList(pool, { sql: "create table t ()", parameters: [] }, LONG_MS), /read-only/);
  } finally {
    await pool.end();
    await drop();
  }
});

test("a list whose connection is lost fails, and the next one gets another connection", async () => {
  const { url, drop } = await postgres.create();
  const [pool, other] = [createPool(url, 1), createPool(url, 1)];
  try {
    const { rows } = await pool.query("select pg_backend_pid() as pid");
    const lost = readList(pool, { sql: "select pg_sleep(60)", parameters: [] }, LONG_MS);
    const rejected = assert.rejects(lost);
    await other.query("select pg_terminate_backend($1)", [rows[0].pid]);
    await rejected;
    assert.deepEqual(await readList(pool, { sql: "select 1 as one", parameters: [] }, LONG_MS), [{ one: 1 }]);
  } finally {
    await Promise.all([pool.end(), other.end()]);
    await drop();
  }
});

test("a read of one record does not wait for lists, however many there are", async () => {
  const { url, drop } = await postgres.create();
  const reads = openReads(url, run);
  try {
    const lists = [...reads.lists, ...reads.lists].map((list) => list({ sql: "select pg_sleep(0.5)", parameters: [] }));
    let ended = false;
    void Promise.race(lists).then(() => (ended = true));
    assert.deepEqual(await reads.read({ sql: "select 1 as one", parameters: [] }), [{ one: 1 }]);
    assert.equal(ended, false);
    await Promise.all(lists);
  } finally {
    await reads.close();
    await drop();
  }
});

test("numbers come back as numbers, flags too, and bytes as bytes", async () => {
  const { url, drop } = await postgres.create();
  const reads = openReads(url, run);
  try {
    const sql = `select 8640000000000000::bigint as "number", 1::smallint as flag, '\\x00ff'::bytea as bytes, 'x'::text as text, null::bytea as none`;
    const row = { number: 8.64e15, flag: 1, bytes: new Uint8Array([0, 255]), text: "x", none: null };
    assert.deepEqual(await reads.read({ sql, parameters: [] }), [row]);
  } finally {
    await reads.close();
    await drop();
  }
});
