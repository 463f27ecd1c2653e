/** Longer tests of PostgreSQL's queue of deliveries: 100,000 that processes end, and 3,000,000 that wait. */

import assert from "node:assert/strict";
import { type TestContext, test } from "node:test";
import type pg from "pg";
import { finishAll, readBuffers } from "../../../test/support/delivery-members.ts";
import { type DeliveryRows, insertDeliveries } from "../../../test/support/delivery-rows.ts";
import { postgresForFile } from "../../../test/support/postgres.ts";
import { makeTables } from "./make-tables.ts";
import { createPool } from "./pool.ts";
import { sqlOn } from "./sql.ts";
import { vacuumQueues } from "./vacuum.ts";

const MINUTE_MS = 60_000;

const postgres = postgresForFile(["fsync=off", "max_wal_size=8GB"]);

async function database(t: TestContext, rows: DeliveryRows): Promise<pg.Pool> {
  const { url, drop } = await postgres.create();
  const pool = createPool(url, 9);
  t.after(async () => {
    await pool.end();
    await drop();
  });
  await makeTables(pool);
  await insertDeliveries(pool, rows);
  return pool;
}

for (const members of [2, 8]) {
  test(`${members} processes end the 100,000 deliveries of the lanes that they own`, {
    timeout: 5 * MINUTE_MS,
  }, async (t) => {
    const count = 100_000;
    await finishAll(await database(t, { count, lanes: 10 }), { members, count, lanes: 10 });
  });
}

for (const lanes of [1, 100]) {
  test(`a read with 3,000,000 deliveries waiting in ${lanes} lanes reads hardly more pages than one with few`, {
    timeout: 10 * MINUTE_MS,
  }, async (t) => {
    const buffers: number[] = [];
    for (const count of [Math.max(10_000, 200 * lanes), 3_000_000]) {
      const pool = await database(t, { count, lanes, records: 128 * lanes });
      buffers.push(await readBuffers(pool));
      await vacuumQueues(sqlOn(pool, () => {}));
      buffers.push(await readBuffers(pool));
    }
    const [few = 0, fewVacuumed = 0, many = 0, manyVacuumed = 0] = buffers;
    t.diagnostic(`pages: ${few} and ${many}; after a vacuum ${fewVacuumed} and ${manyVacuumed}`);
    assert.ok(many <= 1.25 * few && manyVacuumed <= 1.25 * fewVacuumed, buffers.join(", "));
  });
}
