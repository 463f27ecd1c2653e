/** Tests that ends of attempts read the pages of their deliveries only, also if the server keeps one plan for all of them. */

import assert from "node:assert/strict";
import { type TestContext, test } from "node:test";
import pg from "pg";
import { Stage } from "../../../test/conformance/store-stage.ts";
import { preparedPostgresForFile } from "../../../test/support/service-database.ts";
import type { EncodedOutcome } from "../jobs/jobs.ts";
import { LAYOUT } from "../rows.ts";
import { endsOf } from "./outcomes.ts";
import { createPool } from "./pool.ts";
import type { SqlParameter } from "./sql.ts";
import { openPostgres } from "./store.ts";

const postgres = preparedPostgresForFile();

/** Deliveries of a day: far more than their pages that an end reads. */
const DELIVERIES = 50_000;
/** Ends of attempts of a group. */
const ENDED = 60;

/** Fills a partition with due deliveries, all copies of one. */
async function fill(pool: pg.Pool, id: string): Promise<void> {
  const columns = LAYOUT.deliveries.map(({ column }) => `"${column}"`).join(", ");
  const selected = LAYOUT.deliveries.map(({ column }) =>
    column === "id" ? "left(d.id, 16) || lpad(i::text, 16, '0')" : `d."${column}"`,
  );
  await pool.query(
    `insert into deliveries (${columns}) select ${selected.join(", ")}
     from deliveries d, generate_series(1, ${DELIVERIES}) i where d.id = $1`,
    [id],
  );
  await pool.query(`insert into due_deliveries (id, lane, due_at, row)
    select id, lane, due_at, rowid from deliveries where id <> '${id}'`);
}

function literal(value: SqlParameter): string {
  if (typeof value === "string") return pg.escapeLiteral(value);
  if (typeof value === "number") return String(value);
  if (!Array.isArray(value)) throw new Error("an end of attempts has texts, lists of texts and a number");
  return `array[${value.map((one) => literal(one)).join(", ")}]`;
}

/** A database with due deliveries, and a pool of one connection to it. */
async function open(t: TestContext): Promise<pg.Pool> {
  const { url, drop } = await postgres.create();
  const store = await openPostgres(url, "member_1");
  const pool = createPool(url, 1);
  t.after(async () => {
    await Promise.all([store.close(), pool.end()]);
    await drop();
  });
  const stage = new Stage(store);
  const customer = await stage.addCustomer();
  await stage.addEndpoint(customer);
  const { deliveries } = await stage.addEvent(customer);
  await fill(pool, deliveries[0]?.id ?? "");
  return pool;
}

/** The statement that ends attempts of due deliveries, some of an order, and its parameters as SQL. */
async function statementOf(pool: pg.Pool, order: string, offset: number) {
  const { rows } = await pool.query<{ id: string; row: number; version: number }>(
    `select d.id, d.version, q.row from deliveries d join due_deliveries q using (id) where q.row > 1
     order by ${order} limit ${ENDED} offset ${offset}`,
  );
  const values = ["https://example.com", "succeeded", 1, "[]", 0, null, 0, null];
  const outcomes = rows.map(({ row, id, version }): EncodedOutcome => [row, id, version, values]);
  const [found] = endsOf(outcomes, 1);
  assert.ok(found !== undefined);
  return { text: found.text, parameters: found.parameters.map(literal).join(", ") };
}

/** Executes the statement that was prepared as `ends`. Returns the pages that it read and its rows. */
async function execute(pool: pg.Pool, parameters: string): Promise<{ pages: number; rows: number }> {
  const { rows } = await pool.query(`explain (analyze, buffers, format json) execute ends (${parameters})`);
  const [{ Plan: found }] = rows[0]["QUERY PLAN"];
  return { pages: found["Shared Hit Blocks"] + found["Shared Read Blocks"], rows: found["Actual Rows"] };
}

const prepare = (pool: pg.Pool, text: string) => pool.query(`prepare ends (text, text, text, text[]) as ${text}`);

test("ends of attempts read hardly more pages by a plan for any of them than by one for themselves", async (t) => {
  const pool = await open(t);
  let measured = 0;
  const pagesRead = async (order: string, plan: string) => {
    // Ends that are rolled back fill their pages: each measure has deliveries of its own.
    const { text, parameters } = await statementOf(pool, order, measured * ENDED);
    measured += 1;
    await pool.query(`begin; set local plan_cache_mode = ${plan}`);
    await prepare(pool, text);
    const { pages, rows } = await execute(pool, parameters);
    assert.equal(rows, ENDED);
    await pool.query("rollback; deallocate ends");
    return pages;
  };
  for (const analyzed of [false, true]) {
    if (analyzed) await pool.query("analyze");
    // The newest deliveries, and retries of a whole day.
    for (const order of ["d.id desc", "md5(d.id)"]) {
      const own = await pagesRead(order, "force_custom_plan");
      const any = await pagesRead(order, "force_generic_plan");
      // Each end may cost a few pages more, and no plan may read the partition.
      assert.ok(
        any <= own + 5 * ENDED,
        `${any} pages by a plan for any, ${own} by one for them (${order}, ${analyzed})`,
      );
    }
  }
});
