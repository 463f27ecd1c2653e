/** Has the statements of the queues planned for an empty queue, and checks what they read of a full one by these plans. */

import assert from "node:assert/strict";
import type { TestContext } from "node:test";
import type pg from "pg";
import { DAY_MS } from "../../server/store/positions.ts";
import { addPartition, Partitions } from "../../server/store/postgres/partitions.ts";
import { createPool } from "../../server/store/postgres/pool.ts";
import { sqlOn } from "../../server/store/postgres/sql.ts";
import { openPostgres } from "../../server/store/postgres/store.ts";
import { PostgresWriter } from "../../server/store/postgres/writer.ts";
import { Stage } from "../conformance/store-stage.ts";
import { deliveryStatements } from "./delivery-statements.ts";
import { emptyQueues, fillQueues, fillRecords } from "./filled-queues.ts";
import type { TestDatabase } from "./postgres.ts";
import type { Ground, QueueStatement } from "./queue-ground.ts";
import { messageStatements } from "./queue-statements.ts";
import { readsOf, type TableReads } from "./table-reads.ts";

/** Rows that each queue had before it was emptied. Their pages may stay, and the server expects no rows in them. */
const ROWS_BEFORE = 500;
/** Days of deliveries without any. A statement that names no days looks in each. */
const DAYS = 12;
/** The most that a statement reads for a row that it handles: pages, rows with entries of indexes, and scans of indexes. */
const READS_MAX: TableReads = { pages: 30, rows: 8, scans: 8 };
/** The most that it reads besides: for lanes, and entries of deleted rows. */
const FREE_READS: TableReads = { pages: 50, rows: 600, scans: 20 };

/** How the server plans, and for what. */
export interface Planning {
  /** Rows of each queue when it is full. */
  rows: number;
  /** Uses of each statement on an empty queue. */
  uses: number;
  /** `plan_cache_mode`: by `force_generic_plan` the second use makes the plan that is kept. */
  mode: "auto" | "force_generic_plan";
  /** Whether the empty queues have no pages. */
  isTruncated?: boolean;
}

/** Runs each statement on empty queues, and again on full ones. Fails with those that read more than they handle. */
export async function checkKeptPlans(t: TestContext, database: TestDatabase, planning: Planning): Promise<void> {
  const { ground, admin } = await open(t, database, planning);
  const statements = [...messageStatements(ground), ...deliveryStatements(ground)];
  for (let use = 0; use < planning.uses; use += 1)
    for (const { prepare, run } of statements) {
      await prepare?.();
      await run();
    }
  await emptyQueues(admin);
  await fillQueues(admin, planning.rows);
  // Otherwise these reads would be reported while a statement is counted.
  await admin.query("select pg_stat_force_next_flush()");
  const bad: string[] = [];
  for (const statement of statements) {
    const said = await excessOf(ground.pool, statement);
    if (said !== null) bad.push(said);
  }
  assert.deepEqual(bad, []);
}

/** A sentence about the reads of a statement, if they are too many; null otherwise. */
async function excessOf(pool: pg.Pool, { name, prepare, run, pagesMax }: QueueStatement): Promise<string | null> {
  await prepare?.();
  let handled = 0;
  const reads = await readsOf(pool, async () => {
    handled = await run();
  });
  const max = { ...READS_MAX, ...(pagesMax === undefined ? {} : { pages: pagesMax }) };
  const isMore = (["pages", "rows", "scans"] as const).some(
    (kind) => reads[kind] > FREE_READS[kind] + max[kind] * handled,
  );
  return handled > 0 && !isMore ? null : `${name}, for ${handled} rows: ${JSON.stringify(reads)}`;
}

/** A database whose queues are empty, vacuumed and analyzed. `admin` plans nothing for the writer. */
async function open(
  t: TestContext,
  { name, url, drop }: TestDatabase,
  { rows, mode, isTruncated = false }: Planning,
): Promise<{ ground: Ground; admin: pg.Pool }> {
  const store = await openPostgres(url, "member_1");
  const stage = new Stage(store);
  const customer = await stage.addCustomer();
  await stage.addEndpoint(customer);
  const template = await stage.addMessage(customer);
  const { deliveries } = await stage.addEvent(template);
  await store.close();
  const admin = createPool(url, 1);
  const firstDay = Math.floor(Date.now() / DAY_MS) + 40;
  await admin.query(`alter database ${name} set plan_cache_mode = ${mode}`);
  const pool = createPool(url, 1);
  t.after(async () => {
    await Promise.all([admin.end(), pool.end()]);
    await drop();
  });
  for (let day = 0; day < DAYS; day += 1)
    await addPartition(
      sqlOn(admin, () => {}),
      "deliveries",
      firstDay + day,
      1,
    );
  await emptyQueues(admin);
  await fillRecords(admin, { message: template.id, delivery: deliveries[0]?.id ?? "" }, rows);
  await fillQueues(admin, ROWS_BEFORE);
  await emptyQueues(admin);
  await admin.query(`vacuum (truncate ${isTruncated}, analyze)`);
  const owner = "member_2";
  const writer = new PostgresWriter(pool, owner, new Partitions(pool, null));
  return { ground: { pool, writer, owner, stage, template }, admin };
}
