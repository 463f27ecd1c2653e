/** Tests that looks and releases read few pages of a queue that was empty when the server analyzed it or planned them. */

import assert from "node:assert/strict";
import { type TestContext, test } from "node:test";
import pg from "pg";
import { Member } from "../../../test/support/delivery-members.ts";
import { DUE_AT, insertDeliveries, laneName } from "../../../test/support/delivery-rows.ts";
import { sharedPostgresForFile } from "../../../test/support/postgres.ts";
import { releaseDeliveries } from "./delivery-queue.ts";
import { queryDatabase } from "./driver.ts";
import { dueLanesQuery } from "./due-lanes.ts";
import { migrate } from "./migrate.ts";
import { PLAN_FOR_ANY } from "./named-statements.ts";
import { createPool } from "./pool.ts";
import { readLook } from "./readers.ts";
import type { SqlParameter } from "./sql.ts";

const postgres = sharedPostgresForFile();

/** Deliveries that come into the empty queue. */
const DELIVERIES = 50_000;
const LANES = 4;
const RELEASED = 60;

/** A pool of one connection to a database whose queue is empty, vacuumed and analyzed. */
async function open(t: TestContext): Promise<pg.Pool> {
  const { url, drop } = await postgres.create();
  const pool = createPool(url, 1);
  t.after(async () => {
    await pool.end();
    await drop();
  });
  await migrate(pool);
  // The pages of an emptied table stay if somebody reads it during the vacuum: the server expects no rows in them.
  await fill(pool);
  await pool.query("delete from due_deliveries; delete from deliveries");
  await pool.query("vacuum (truncate false, analyze) due_deliveries");
  return pool;
}

const fill = (pool: pg.Pool) => insertDeliveries(pool, { count: DELIVERIES, lanes: LANES, records: RELEASED });

/** Pages that a statement read, by its explanation. */
function pagesOf(rows: readonly unknown[]): number {
  const [{ "QUERY PLAN": explained }] = rows as [{ "QUERY PLAN": [{ Plan: Record<string, number> }] }];
  const { Plan: plan } = explained[0];
  return Number(plan["Shared Hit Blocks"]) + Number(plan["Shared Read Blocks"]);
}

test("a look reads a few pages a lane of 50,000 due deliveries, also if the queue was empty at its last analysis", async (t) => {
  const pool = await open(t);
  await fill(pool);
  const { sql, parameters } = dueLanesQuery("deliveries", DUE_AT + 86_400_000).compile(queryDatabase(async () => []));
  const explain = `explain (analyze, buffers, format json) ${sql}`;
  assert.equal((await readLook(pool, { sql, parameters: parameters as never })).length, LANES);
  const pages = pagesOf(await readLook(pool, { sql: explain, parameters: parameters as never }));
  assert.ok(pages <= 10 * (LANES + 1), `${pages} pages`);
});

test("a release reads the rows of its leases of 50,000 due deliveries, also if it was planned on an empty queue", async (t) => {
  const pool = await open(t);
  const member = new Member(pool, "one");
  let text = "";
  let given: readonly SqlParameter[] = [];
  const connections = {
    async alone(_: readonly string[], statement: { text: string; parameters: readonly SqlParameter[] }) {
      ({ text, parameters: given } = statement);
      return [];
    },
  };
  const release = (leases: number[]) => releaseDeliveries(connections, member.leases, leases);
  await pool.query(PLAN_FOR_ANY.map((one) => one.replace(" local", "")).join("; "));
  member.leases.add({ id: "dlv_0", lane: "wh_0", customerId: "cust_1", size: 1 }, 1, 45_000);
  await release([1]);
  await pool.query(`prepare release (text[], bigint[]) as ${text}`);
  const execute = async () => {
    const [ids, leases] = given as [string[], number[]];
    const { rows } = await pool.query(
      `explain (analyze, buffers, format json) execute release (array[${ids.map((id) => pg.escapeLiteral(id))}], array[${leases}])`,
    );
    return pagesOf(rows);
  };
  await execute();
  await fill(pool);
  const leased = await member.claim(laneName(0), RELEASED / LANES);
  assert.equal(leased.length, RELEASED / LANES);
  await release(leased.map(([lease]) => lease));
  const pages = await execute();
  // Each row is found by the index of ids, and gets new entries in three indexes.
  assert.ok(pages <= 30 * leased.length, `${pages} pages for ${leased.length} leases`);
  const { rows } = await pool.query("select count(*)::int as leased from due_deliveries where lease is not null");
  assert.deepEqual(rows, [{ leased: 0 }]);
});
