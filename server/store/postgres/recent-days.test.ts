/** Lists of events on PostgreSQL ask the last days first, and plan no partition of the others, unless the page is not full. */

import assert from "node:assert/strict";
import { test } from "node:test";
import type pg from "pg";
import { sharedPostgresForFile } from "../../../test/support/postgres.ts";
import { type CustomerId, firstIdAt } from "../../core/id.ts";
import { listEvents, newestPosition, pageOfEvents } from "../events.ts";
import { DAY_MS, FIRST_DAY, firstPositionOf } from "../positions.ts";
import { queryDatabase } from "./driver.ts";
import { makeTables } from "./make-tables.ts";
import { addPartition } from "./partitions.ts";
import { createPool } from "./pool.ts";
import { sqlOn } from "./sql.ts";

const databases = sharedPostgresForFile();
const DAYS = 30;
/** The last days that are asked first, and those that are added ahead. */
const PLANNED_MAX = 4;
const [BUSY, SILENT] = ["cust_busy0001", "cust_silent0001"] as CustomerId[];

/** 30 days with 40 events of one customer, and one event of another on the first day. */
async function fill(pool: pg.Pool): Promise<void> {
  const sql = sqlOn(pool, () => {});
  for (let day = FIRST_DAY; day < FIRST_DAY + DAYS + 2; day += 1) await addPartition(sql, "events", day, 1);
  const insert = `insert into events (position, id, customer_id, type, sequence, correlation_id, created_at, bytes)
    select $1::bigint + i, $2 || to_char(i, 'fm000'), $3, 'message.queued', 1, 'cor_1', 0, '{}' from generate_series(1, $4) i`;
  for (let day = FIRST_DAY; day < FIRST_DAY + DAYS; day += 1)
    await sql.values(insert, [firstPositionOf(day), firstIdAt("evt", day * DAY_MS), BUSY ?? "", 40]);
  await sql.values(insert, [
    firstPositionOf(FIRST_DAY) + 100,
    firstIdAt("evt", FIRST_DAY * DAY_MS + 1),
    SILENT ?? "",
    1,
  ]);
  await sql.values("select setval('event_positions', max(position)) from events");
}

test("a first page and the newest position of a busy customer plan the last days alone; others find everything", async (t) => {
  const { url, drop } = await databases.create();
  t.after(drop);
  const pool = createPool(url, 1);
  t.after(() => pool.end());
  await makeTables(pool);
  await fill(pool);
  const planned = new Set<string>();
  const db = queryDatabase(async ({ sql, parameters }) => {
    const { rows } = await pool.query(`explain (format text) ${sql}`, parameters);
    for (const row of rows) {
      const [, name] = /on (events_\w+)/.exec(String(row["QUERY PLAN"])) ?? [];
      if (name !== undefined) planned.add(name);
    }
    return (await pool.query(sql, parameters)).rows;
  });
  const newest = { order: "newest", from: null, limit: 50 } as const;
  const reads = [
    async () => (await pageOfEvents(db, BUSY as CustomerId, {}, newest)).records.length,
    async () => (await listEvents(db, BUSY as CustomerId, {}, newest)).length,
    async () => Number((await newestPosition(db, BUSY as CustomerId)) === firstPositionOf(FIRST_DAY + DAYS - 1) + 40),
  ];
  for (const [index, read] of reads.entries()) {
    planned.clear();
    assert.equal(await read(), index < 2 ? 50 : 1);
    assert.ok(planned.size > 0 && planned.size <= PLANNED_MAX, [...planned].join(" "));
  }
  assert.equal((await pageOfEvents(db, BUSY as CustomerId, {}, { ...newest, limit: 2_000 })).records.length, DAYS * 40);
  assert.equal((await pageOfEvents(db, SILENT as CustomerId, {}, newest)).records.length, 1);
  assert.equal((await listEvents(db, SILENT as CustomerId, {}, newest)).length, 1);
  assert.equal(await newestPosition(db, SILENT as CustomerId), firstPositionOf(FIRST_DAY) + 101);
});
