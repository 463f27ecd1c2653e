/** Tests that each statement of the queues reads what it handles, and not the queue, also if it was planned while the queue was empty. */

import assert from "node:assert/strict";
import { test } from "node:test";
import type pg from "pg";
import { DUE_AT, insertDeliveries } from "../../../test/support/delivery-rows.ts";
import { checkKeptPlans } from "../../../test/support/kept-plans.ts";
import { postgresForFile } from "../../../test/support/postgres.ts";
import { readsOf } from "../../../test/support/table-reads.ts";
import type { Queue } from "../store.ts";
import { queryDatabase } from "./driver.ts";
import { timedDueLanesQuery } from "./due-lanes.ts";
import { makeTables } from "./make-tables.ts";
import { createPool } from "./pool.ts";
import { readLook } from "./readers.ts";

/** Its own server: while a transaction of any database is open, the entries of deleted rows are read again. */
const postgres = postgresForFile(["fsync=off", "autovacuum=off"]);

test("each statement of the queues reads a few pages a row, also by a plan for a queue that was empty", async (t) => {
  await checkKeptPlans(t, await postgres.create(), { rows: 8_000, uses: 2, mode: "force_generic_plan" });
});

/** Each row is due before it. */
const LOOKED_UNTIL = DUE_AT + 86_400_000;
/** Rows of each queue that a look reads, and the lanes that they are in. */
const LOOKED_AT = { count: 200_000, lanes: 4, records: 1 };

/** Fills both queues. No row has a record. */
async function fill(pool: pg.Pool): Promise<void> {
  await insertDeliveries(pool, LOOKED_AT);
  await pool.query(
    `insert into due_messages (id, lane, "from", "to", due_at, is_queued)
     select 'msg_' || lpad(i::text, 32, '0'), 'inst_' || i % $3, '+15550000001', '+1600' || lpad(i::text, 7, '0'), $1 + i, 1
     from generate_series(1, $2::bigint) i`,
    [DUE_AT, LOOKED_AT.count, LOOKED_AT.lanes],
  );
}

for (const truncate of [false, true]) {
  const pages = truncate ? "had no pages" : "had the pages of as many that were gone";
  test(`a look reads a few pages a lane of 200,000 due rows, also if each queue was empty and ${pages} at the last analysis`, async (t) => {
    const { url, drop } = await postgres.create();
    const pool = createPool(url, 1);
    t.after(async () => {
      await pool.end();
      await drop();
    });
    await makeTables(pool);
    await fill(pool);
    await pool.query("delete from due_messages; delete from due_deliveries; delete from deliveries");
    await pool.query(`vacuum (truncate ${truncate}, analyze) due_messages, due_deliveries`);
    const db = queryDatabase((query) => readLook(pool, query));
    const lanesOf = async (queue: Queue) => {
      const { rows } = await timedDueLanesQuery(queue, LOOKED_UNTIL).execute(db);
      return rows.flatMap(({ lane }) => (lane === null ? [] : [lane]));
    };
    for (const queue of ["messages", "deliveries"] as const) assert.deepEqual(await lanesOf(queue), []);
    await fill(pool);
    for (const queue of ["messages", "deliveries"] as const) {
      const look = async () => {
        assert.equal((await lanesOf(queue)).length, LOOKED_AT.lanes);
      };
      await look();
      const read = await readsOf(pool, look);
      assert.ok(read.pages <= 10 * (LOOKED_AT.lanes + 1), `${queue}: ${read.pages} pages`);
    }
  });
}

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
