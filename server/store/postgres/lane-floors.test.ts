/** Tests of the floors of lanes: how often a claim begins at the start, and what claims read beside an old snapshot. */

import assert from "node:assert/strict";
import { type TestContext, test } from "node:test";
import fc from "fast-check";
import pg from "pg";
import { LEASE_MS, NOW, Stage } from "../../../test/conformance/store-stage.ts";
import { Member } from "../../../test/support/delivery-members.ts";
import { DUE_AT, insertDeliveries, laneName } from "../../../test/support/delivery-rows.ts";
import { FRONT } from "../../../test/support/due.ts";
import { postgresForFile } from "../../../test/support/postgres.ts";
import { readsOf } from "../../../test/support/table-reads.ts";
import type { LanePlace } from "../due-deliveries.ts";
import { LaneFloors } from "./lane-floors.ts";
import { MessageQueue } from "./message-queue.ts";
import { createPool } from "./pool.ts";
import { sqlOn } from "./sql.ts";
import { openPostgres } from "./store.ts";
import { vacuumQueues } from "./vacuum.ts";
import { WriterConnections } from "./writer-connections.ts";

const postgres = postgresForFile(["fsync=off", "autovacuum=off"], async (url) => {
  await (await openPostgres(url, "member_0")).close();
});

/** Rows that are inserted, leased and deleted while a snapshot is open. */
const DEAD = 30_000;

test("for any claims, those from the start take a small part of the time, and each lane gets its turn after 2 s at most", () => {
  // A longer claim from the start would need a longer pause than 2 s.
  const claim = fc.record({ lane: fc.nat(2), afterMs: fc.nat(500), tookMs: fc.nat(100) });
  fc.assert(
    fc.property(fc.array(claim, { minLength: 50, maxLength: 300 }), (claims) => {
      const floors = new LaneFloors();
      const known = new Set<string>();
      let [now, fullMs, longestMs] = [0, 0, 0];
      for (const { lane: number, afterMs, tookMs } of claims) {
        const lane = String(number);
        now += afterMs;
        const startedAt = now;
        const isFull = floors.isFullDue(lane, now);
        assert.equal(isFull || known.has(lane), true, "the first claim of a lane begins at its start");
        now += tookMs;
        if (isFull) {
          floors.fullEnded(startedAt, now);
          if (known.has(lane)) fullMs += tookMs;
          longestMs = Math.max(longestMs, tookMs);
        }
        floors.keep(lane, { dueAt: now, since: "1" }, isFull ? startedAt : null);
        known.add(lane);
        if (isFull) assert.equal(floors.isFullDue(lane, now), false);
      }
      assert.ok(fullMs <= now / 20 + longestMs, `${fullMs} of ${now} ms`);
      assert.ok([...known].every((lane) => floors.isFullDue(lane, now + Math.max(1_000, 20 * longestMs))));
      // The connection of a claim stood still.
      floors.fullEnded(now - 60_000, now);
      assert.ok([...known].every((lane) => floors.isFullDue(lane, now + 2_000)));
      floors.forget();
      assert.ok([...known].every((lane) => floors.of(lane) === null && floors.isFullDue(lane, now)));
    }),
    { numRuns: 200 },
  );
});

interface Deps {
  stage: Stage;
  /** One connection, whose reads are counted. */
  pool: pg.Pool;
  /** Opens a snapshot, before which no row that is deleted later can be removed. */
  holdSnapshot(): Promise<void>;
  /** Ends the snapshot, and removes the deleted rows. */
  vacuum(): Promise<void>;
  /** Pages of a queue and its indexes that some work reads. */
  pagesOf(queue: string, work: () => Promise<unknown>): Promise<number>;
}

async function open(t: TestContext): Promise<Deps> {
  const { url, drop } = await postgres.create();
  const store = await openPostgres(url, "member_1");
  const pool = createPool(url, 1);
  const holder = new pg.Client({ connectionString: url });
  t.after(async () => {
    await Promise.all([store.close(), pool.end(), holder.end()]);
    await drop();
  });
  await holder.connect();
  return {
    stage: new Stage(store),
    pool,
    async holdSnapshot() {
      await holder.query("begin isolation level repeatable read");
      await holder.query("select count(*) from messages");
    },
    async vacuum() {
      await holder.query("commit");
      await vacuumQueues(sqlOn(pool, () => {}));
    },
    pagesOf: async (queue, work) => (await readsOf(pool, work, queue)).pages,
  };
}

test(`a claim of messages reads as few pages beside a snapshot that keeps ${DEAD} deleted messages of its pairs`, async (t) => {
  const { stage, pool, holdSnapshot, vacuum, pagesOf } = await open(t);
  const customer = await stage.addCustomer();
  let now = 0;
  const connections = new WriterConnections(pool, () => {});
  const queue = new MessageQueue("member_1", () => now);
  const lane = stage.instanceId;
  const claim = async () => {
    const { rows } = await queue.claim(connections, { lanes: [{ lane, permits: 16 }], now: NOW, leaseMs: LEASE_MS });
    assert.equal(rows.length, 7, "a message of each pair");
  };
  const add = async () => {
    await pool.query("delete from due_messages");
    for (let to = 0; to < 7; to += 1) await stage.addMessage(customer, { dueAt: NOW - 1, to: `+1600555010${to}` });
  };
  await add();
  await claim();
  await holdSnapshot();
  await pool.query("delete from due_messages");
  await pool.query(`insert into due_messages (id, lane, "from", "to", due_at, is_queued)
    select 'msg_' || i, '${lane}', '+15550000001', '+1600555010' || i % 7, ${NOW} - 2, 1 from generate_series(1, ${DEAD}) i`);
  await pool.query(
    "update due_messages set lease = 1, owner = 'member_1', leased_until = clock_timestamp(), changed_in = default",
  );
  await pool.query("delete from due_messages");
  now += 2_000;
  await add();
  const full = await pagesOf("due_messages", claim);
  await add();
  const beside = await pagesOf("due_messages", claim);
  await vacuum();
  await add();
  const without = await pagesOf("due_messages", claim);
  t.diagnostic(`${full} pages from the start of the lane, ${beside} from its floor, ${without} without deleted rows`);
  assert.ok(full > 5 * without, `${full} pages from the start: the deleted rows are there`);
  assert.ok(beside <= 2 * without, `${beside} pages, ${without} without deleted rows`);
});

test(`a read of deliveries reads as few pages beside a snapshot that keeps ${DEAD} deleted deliveries`, async (t) => {
  const { pool, holdSnapshot, vacuum, pagesOf } = await open(t);
  const member = new Member(pool, "member_1");
  let place: LanePlace = FRONT;
  const read = async () => assert.equal((await member.readOne(laneName(0), 16, place)).length, 7);
  const add = async () => {
    await pool.query("truncate deliveries");
    await pool.query("delete from due_deliveries");
    await insertDeliveries(pool, { count: 7, lanes: 1 });
  };
  await add();
  await read();
  await holdSnapshot();
  await pool.query("delete from due_deliveries");
  await pool.query(`insert into due_deliveries (row, id, lane, due_at, put_by)
    select i, 'dlv_' || i, '${laneName(0)}', ${DUE_AT} - 2, ${member.queue.putBy} from generate_series(1, ${DEAD}) i`);
  await pool.query("delete from due_deliveries");
  await add();
  const full = await pagesOf("due_deliveries", read);
  place = { dueAt: DUE_AT - 1, row: 0 };
  await add();
  const beside = await pagesOf("due_deliveries", read);
  await vacuum();
  await add();
  const without = await pagesOf("due_deliveries", read);
  t.diagnostic(`${full} pages from the front of the lane, ${beside} from a place, ${without} without deleted rows`);
  assert.ok(full > 5 * without, `${full} pages from the front: the deleted rows are there`);
  assert.ok(beside <= 2 * without, `${beside} pages, ${without} without deleted rows`);
});
