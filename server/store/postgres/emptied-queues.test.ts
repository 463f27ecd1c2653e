/** Tests that the rows of a queue that was emptied are read once, and not by each look and claim until the next vacuum. */

import assert from "node:assert/strict";
import { test } from "node:test";
import { LEASE_MS, NOW, Stage } from "../../../test/conformance/store-stage.ts";
import { FRONT } from "../../../test/support/due.ts";
import { emptyQueues, fillQueues, fillRecords, laneOf } from "../../../test/support/filled-queues.ts";
import { postgresForFile } from "../../../test/support/postgres.ts";
import { readsOf } from "../../../test/support/table-reads.ts";
import { queryDatabase } from "./driver.ts";
import { timedDueLanesQuery } from "./due-lanes.ts";
import { Partitions } from "./partitions.ts";
import { createPool } from "./pool.ts";
import { readLook } from "./readers.ts";
import { openPostgres } from "./store.ts";
import { PostgresWriter } from "./writer.ts";

/** Its own server: while a transaction of any database is open, the entries of deleted rows are read again. */
const postgres = postgresForFile(["fsync=off", "autovacuum=off"]);

const ROWS = 10_000;

test(`looks and claims read the ${ROWS} deleted rows of a queue once, also without a vacuum`, async (t) => {
  const { url, drop } = await postgres.create();
  const store = await openPostgres(url, "member_1");
  const stage = new Stage(store);
  const customer = await stage.addCustomer();
  await stage.addEndpoint(customer);
  const { id: message } = await stage.addMessage(customer);
  const { deliveries } = await stage.addEvent(customer);
  await store.close();
  const [admin, pool] = [createPool(url, 1), createPool(url, 1)];
  t.after(async () => {
    await Promise.all([admin.end(), pool.end()]);
    await drop();
  });
  const writer = new PostgresWriter(pool, "member_2", new Partitions(pool, null));
  const db = queryDatabase((query) => readLook(pool, query));
  const terms = { now: NOW, leaseMs: LEASE_MS };
  const claims = [
    ["claimMessages", { lanes: [{ lane: stage.instanceId, permits: 16 }], ...terms }],
    ["dueDeliveries", { lanes: [{ lane: laneOf(0), after: FRONT, limit: 16 }], now: NOW, bytesMax: 1 }],
  ] as const;
  const work = async () => {
    for (const queue of ["messages", "deliveries"] as const) await timedDueLanesQuery(queue, NOW).execute(db);
    // They begin at the starts of their lanes.
    writer.noteRestart();
    for (const claim of claims) await writer.runGroup([[...claim]]);
  };
  await fillRecords(admin, { message, delivery: deliveries[0]?.id ?? "" }, ROWS);
  await fillQueues(admin, ROWS);
  // Messages are leased before they are deleted.
  await admin.query(
    "update due_messages set lease = 1, owner = 'member_2', leased_until = clock_timestamp(), changed_in = default",
  );
  await emptyQueues(admin);
  await admin.query("select pg_stat_force_next_flush()");
  const first = await readsOf(pool, work, "due_%");
  assert.ok(first.rows > 2 * ROWS, `${first.rows} rows: the deleted ones are there`);
  const { rows } = await readsOf(pool, work, "due_%");
  assert.ok(rows <= 100, `${rows} rows of empty queues`);
});
