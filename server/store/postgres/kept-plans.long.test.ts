/** Tests that each statement of the queues reads what it handles, and not the queue, also if it was planned while the queue was empty. */

import assert from "node:assert/strict";
import { test } from "node:test";
import { DUE_AT, insertDeliveries } from "../../../test/support/delivery-rows.ts";
import { checkKeptPlans } from "../../../test/support/kept-plans.ts";
import { postgresForFile } from "../../../test/support/postgres.ts";
import { readsOf } from "../../../test/support/table-reads.ts";
import { queryDatabase } from "./driver.ts";
import { dueLanesQuery } from "./due-lanes.ts";
import { makeTables } from "./make-tables.ts";
import { createPool } from "./pool.ts";
import { readLook } from "./readers.ts";

/** Its own server: while a transaction of any database is open, the entries of deleted rows are read again. */
const postgres = postgresForFile(["fsync=off", "autovacuum=off"]);

test("each statement of the queues reads a few pages a row, also by a plan for a queue that was empty", async (t) => {
  await checkKeptPlans(t, await postgres.create(), { rows: 8_000, uses: 2, mode: "force_generic_plan" });
});

test("a look reads a few pages a lane of 50,000 due deliveries, also if as many were gone at the last analysis", async (t) => {
  const { url, drop } = await postgres.create();
  const pool = createPool(url, 1);
  t.after(async () => {
    await pool.end();
    await drop();
  });
  await makeTables(pool);
  const rows = { count: 50_000, lanes: 4, records: 1 };
  await insertDeliveries(pool, rows);
  await pool.query("delete from due_deliveries; delete from deliveries");
  await pool.query("vacuum (truncate false, analyze) due_deliveries");
  await insertDeliveries(pool, rows);
  const db = queryDatabase((query) => readLook(pool, query));
  const look = async () => {
    const found = await dueLanesQuery("deliveries", DUE_AT + 86_400_000).execute(db);
    assert.equal(found.rows.length, rows.lanes);
  };
  await look();
  const { pages } = await readsOf(pool, look);
  assert.ok(pages <= 10 * (rows.lanes + 1), `${pages} pages`);
});

/** Queues of 50,000 rows. */
const MANY_ROWS = 50_000;
/** By itself the server plans five uses of a name each, and statements get new names at 2 and 8 uses. */
const USES = 14;

test("each statement of the queues reads a few pages a row by a plan that the server kept", async (t) => {
  await checkKeptPlans(t, await postgres.create(), { rows: MANY_ROWS, uses: USES, mode: "auto" });
});

test("each statement of the queues reads a few pages a row by a plan for a queue that had no pages", async (t) => {
  const planning = { rows: MANY_ROWS, uses: 2, mode: "force_generic_plan", isTruncated: true } as const;
  await checkKeptPlans(t, await postgres.create(), planning);
});
