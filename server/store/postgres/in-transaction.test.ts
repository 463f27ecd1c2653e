/** Tests SQL transactions beside the writer: their locks outlive a suspended process by 2 s at most. */

import assert from "node:assert/strict";
import { test } from "node:test";
import { sharedPostgresForFile } from "../../../test/support/postgres.ts";
import { inTransaction } from "./in-transaction.ts";
import { createPool } from "./pool.ts";

const postgres = sharedPostgresForFile();

test("the server ends an SQL transaction whose process does nothing for 2 s, and no other of the connection", async () => {
  const { url, drop } = await postgres.create();
  const pool = createPool(url, 1);
  const shown = "show idle_in_transaction_session_timeout";
  try {
    assert.deepEqual(await inTransaction(pool, (sql) => sql.values(shown)), [["2s"]]);
    assert.deepEqual((await pool.query({ text: shown, rowMode: "array" })).rows, [["0"]]);
  } finally {
    await pool.end();
    await drop();
  }
});
