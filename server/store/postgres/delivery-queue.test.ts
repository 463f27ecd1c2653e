/** Tests of PostgreSQL's queue of deliveries: what the owner of a lane reads and is pushed while other processes put deliveries there. */

import assert from "node:assert/strict";
import { type TestContext, test } from "node:test";
import type pg from "pg";
import { finishAll, idOf, Member, placeOf, readBuffers } from "../../../test/support/delivery-members.ts";
import { type DeliveryRows, DUE_AT, insertDeliveries, laneName } from "../../../test/support/delivery-rows.ts";
import { sharedPostgresForFile } from "../../../test/support/postgres.ts";
import { until } from "../../../test/support/wait.ts";
import { readRecords } from "./due-reads.ts";
import { makeTables } from "./make-tables.ts";
import { cancelDeliveries } from "./outcomes.ts";
import { createPool } from "./pool.ts";
import type { Sql } from "./sql.ts";
import { vacuumQueues } from "./vacuum.ts";

const postgres = sharedPostgresForFile(async (url) => {
  const pool = createPool(url, 1);
  await makeTables(pool);
  await pool.end();
});

async function database(t: TestContext, rows: DeliveryRows): Promise<pg.Pool> {
  const { url, drop } = await postgres.create();
  const pool = createPool(url, 9);
  t.after(async () => {
    await pool.end();
    await drop();
  });
  await insertDeliveries(pool, rows);
  await settle(pool);
  return pool;
}

/**
 * Waits until no SQL transaction is in progress on the server that is as old as those that have put the deliveries, such as one of another
 * test: a read would go back to them.
 */
async function settle(pool: pg.Pool): Promise<void> {
  const isSettled =
    "select coalesce(max(changed_in::text::numeric), 0) < pg_snapshot_xmin(pg_current_snapshot())::text::numeric as is_settled from due_deliveries";
  await until(async () => (await pool.query(isSettled)).rows[0].is_settled);
}

/** A transaction of another process that moves a delivery to the front of the queue, and has not ended. */
async function moveToFront(pool: pg.Pool, id: string) {
  const client = await pool.connect();
  await client.query("begin");
  await client.query("update deliveries set due_at = $2 where id = $1", [id, DUE_AT - 1]);
  await client.query(
    "update due_deliveries set due_at = $2, put_by = 7, changed_in = pg_current_xact_id() where id = $1",
    [id, DUE_AT - 1],
  );
  return {
    async commit() {
      await client.query("commit");
      client.release();
      await settle(pool);
    },
  };
}

for (const members of [1, 8]) {
  test(`${members} processes end all deliveries of the lanes that they own`, async (t) => {
    const count = 10_000;
    await finishAll(await database(t, { count, lanes: 16 }), { members, count, lanes: 16 });
  });
}

test("a read has the deliveries behind its place, oldest first, and says whether there are more", async (t) => {
  const pool = await database(t, { count: 20, lanes: 2 });
  const member = new Member(pool, "one");
  const first = await member.read([{ lane: laneName(0), limit: 3 }]);
  assert.deepEqual([first.rows.length, first.more], [3, [laneName(0)]]);
  const next = await member.read([{ lane: laneName(0), limit: 9, after: placeOf(first.rows[2] ?? assert.fail()) }]);
  assert.deepEqual([next.rows.length, next.more], [7, []]);
  const ids = [...first.rows, ...next.rows].map(idOf);
  assert.deepEqual(ids, ids.toSorted());
  assert.equal(new Set(ids).size, 10);
});

test("a read goes back to a delivery that a transaction in progress has put before its place, and to nothing else", async (t) => {
  const pool = await database(t, { count: 6, lanes: 1 });
  const member = new Member(pool, "one");
  const rows = await member.readOne(laneName(0), 9);
  const [last] = rows.slice(-1);
  const place = placeOf(last ?? assert.fail());
  assert.deepEqual(await member.readOne(laneName(0), 9, place), []);
  const moved = await moveToFront(pool, idOf(rows[4] ?? assert.fail()));
  assert.deepEqual(await member.readOne(laneName(0), 9, place), [], "it is not committed");
  await moved.commit();
  const again = await member.readOne(laneName(0), 9, place);
  assert.equal(idOf(again[0] ?? assert.fail()), idOf(rows[4] ?? assert.fail()), "its new place is the first");
  assert.deepEqual(await member.readOne(laneName(0), 9, place), [], "it was found once");
});

test("a read that leaves out all for want of room finds them again, also before its place", async (t) => {
  const pool = await database(t, { count: 6, lanes: 1 });
  const member = new Member(pool, "one");
  const rows = await member.readOne(laneName(0), 9);
  const place = placeOf(rows[5] ?? assert.fail());
  await (await moveToFront(pool, idOf(rows[5] ?? assert.fail()))).commit();
  const none = await member.read([{ lane: laneName(0), limit: 9, after: place }], 0);
  assert.deepEqual(none, { rows: [], more: [laneName(0)] });
  assert.equal((await member.readOne(laneName(0), 9, place)).length, 6);
});

test("a read does not go back to what its own process has put: that was told to the holder", async (t) => {
  const pool = await database(t, { count: 6, lanes: 1 });
  const [own, other] = [new Member(pool, "own"), new Member(pool, "other")];
  const rows = await own.readOne(laneName(0), 9);
  const place = placeOf(rows[5] ?? assert.fail());
  await own.finish(rows.slice(0, 1), DUE_AT - 1);
  await settle(pool);
  assert.deepEqual(await own.readOne(laneName(0), 9, place), []);
  await other.finish(rows.slice(1, 2), DUE_AT - 1);
  const again = await own.readOne(laneName(0), 9, place);
  assert.deepEqual(
    new Set(again.slice(0, 2).map(idOf)),
    new Set(rows.slice(0, 2).map(idOf)),
    "the end of another process",
  );
});

test("more deliveries of others than a read looks through are all found", async (t) => {
  const pool = await database(t, { count: 2, lanes: 1 });
  const member = new Member(pool, "one");
  const rows = await member.readOne(laneName(0), 9);
  const place = placeOf(rows[1] ?? assert.fail());
  await pool.query("delete from due_deliveries");
  await pool.query("delete from deliveries");
  await insertDeliveries(pool, { count: 300, lanes: 1 });
  await pool.query("update deliveries set due_at = $1", [DUE_AT - 1]);
  await pool.query("update due_deliveries set due_at = $1", [DUE_AT - 1]);
  assert.equal((await member.readOne(laneName(0), 400, place)).length, 300);
});

test("a read removes a row of the queue whose delivery is gone, and no other", async (t) => {
  const pool = await database(t, { count: 3, lanes: 1, records: 2 });
  const member = new Member(pool, "one");
  assert.equal((await member.readOne(laneName(0), 9)).length, 2);
  assert.equal((await pool.query("select id from due_deliveries")).rowCount, 2);
});

test("a delivery that has another due time than its place was found with is left out", async (t) => {
  const pool = await database(t, { count: 2, lanes: 1 });
  const member = new Member(pool, "one");
  const places = (await member.readOne(laneName(0), 9)).map((row) => ({ id: idOf(row), ...placeOf(row) }));
  await (await moveToFront(pool, places[0]?.id ?? "")).commit();
  assert.deepEqual((await readRecords(member.sql, places)).map(idOf), [places[1]?.id]);
});

test("an end is written whoever owns the lane, and takes the delivery out of the queue", async (t) => {
  const pool = await database(t, { count: 2, lanes: 1 });
  const [late, next] = [new Member(pool, "late"), new Member(pool, "next")];
  const rows = await late.readOne(laneName(0), 9);
  assert.equal((await next.readOne(laneName(0), 9)).length, 2);
  assert.deepEqual(await late.finish(rows.slice(0, 1)), ["ok"]);
  assert.equal((await pool.query("select from due_deliveries")).rowCount, 1);
  const [again] = await next.finish(rows.slice(0, 1));
  assert.ok(Array.isArray(again), "the end of another attempt is decided again");
});

test("a read does not wait for a delivery that another transaction has locked", async (t) => {
  const pool = await database(t, { count: 8, lanes: 2 });
  const client = await pool.connect();
  await client.query("begin");
  await client.query("select from due_deliveries for update");
  assert.equal((await new Member(pool, "one").readOne(laneName(0), 9)).length, 4);
  await client.query("rollback");
  client.release();
});

test("deliveries to an endpoint in quarantine are not read, and its lane is not due", async (t) => {
  const pool = await database(t, { count: 4, lanes: 2 });
  const member = new Member(pool, "one");
  await pool.query(
    `insert into quarantined ("table", id, since, parked, reason) values ('endpoints', $1, 0, 0, 'it is broken')`,
    [laneName(0)],
  );
  const { rows, more } = await member.read([0, 1].map((lane) => ({ lane: laneName(lane), limit: 9 })));
  assert.deepEqual([rows.length, more], [2, []]);
  await pool.query("delete from quarantined");
  assert.equal((await member.readOne(laneName(0), 9)).length, 2, "nothing of it counts as seen");
});

test("a read of many lanes reads 4,096 deliveries at most, and names the lanes that it left out", async (t) => {
  const pool = await database(t, { count: 12_000, lanes: 3 });
  const lanes = [0, 1, 2].map((lane) => ({ lane: laneName(lane), limit: 4_000 }));
  const { rows, more } = await new Member(pool, "one").read(lanes);
  assert.deepEqual([rows.length, more.toSorted()], [4_000, lanes.map(({ lane }) => lane)]);
});

test("cancelling takes deliveries in hand too, and their attempts are decided again", async (t) => {
  const pool = await database(t, { count: 10, lanes: 1 });
  const member = new Member(pool, "one");
  const held = await member.readOne(laneName(0), 1);
  for (const [limit, count] of [
    [4, 4],
    [9, 6],
    [9, 0],
  ] as const)
    assert.equal((await cancelDeliveries(member.sql, laneName(0), limit)).count, count);
  assert.equal((await pool.query("select from due_deliveries")).rowCount, 0);
  const [fresh] = await member.finish(held);
  assert.ok(Array.isArray(fresh) && fresh.includes("cancelled"));
});

test("a lane whose first thousand deliveries are in hand costs a read no more than one without", async (t) => {
  const pool = await database(t, { count: 3_000, lanes: 1 });
  const member = new Member(pool, "one");
  const before = await readBuffers(pool);
  const [last] = (await member.readOne(laneName(0), 1_000)).slice(-1);
  const after = await readBuffers(pool, placeOf(last ?? assert.fail()));
  assert.ok(after <= 1.2 * before, `${after} buffers, ${before} before`);
});

test("the queue has room for new rows after a vacuum, in place of dead ones", async (t) => {
  const pool = await database(t, { count: 2_000, lanes: 1 });
  const member = new Member(pool, "one");
  const size = async () => (await pool.query("select pg_relation_size('due_deliveries') as size")).rows[0].size;
  await member.finish(await member.readOne(laneName(0), 2_000));
  const before = await size();
  await vacuumQueues(member.sql);
  await pool.query("truncate deliveries");
  await insertDeliveries(pool, { count: 2_000, lanes: 1 });
  assert.equal(await size(), before);
});

test("a page that another process takes out of the queue during its read does not count as seen", async (t) => {
  const pool = await database(t, { count: 6, lanes: 1 });
  const member = new Member(pool, "one");
  const rows = await member.readOne(laneName(0), 9);
  const place = placeOf(rows[5] ?? assert.fail());
  for (const row of rows.slice(0, 2)) await (await moveToFront(pool, idOf(row))).commit();
  let isFirst = true;
  const sql: Sql = {
    ...member.sql,
    async values(text, parameters) {
      const found = await member.sql.values(text, parameters);
      if (isFirst) await pool.query("update deliveries set due_at = null where id = $1", [found[0]?.[1]]);
      isFirst = false;
      return found;
    },
  };
  const read = { lanes: [{ lane: laneName(0), limit: 1, after: place }], now: DUE_AT * 2, bytesMax: 1_000 };
  assert.deepEqual(await member.queue.read(sql, read), { rows: [], more: [laneName(0)] });
  const again = await member.readOne(laneName(0), 9, place);
  assert.equal(again.length, 5, "from the second one on");
});

test("a transaction of another program that stays open has no read go back more than once", async (t) => {
  const pool = await database(t, { count: 1, lanes: 1 });
  const client = await pool.connect();
  await client.query("begin; select pg_current_xact_id()");
  const member = new Member(pool, "one");
  await member.readOne(laneName(0), 9);
  await pool.query("delete from due_deliveries; delete from deliveries");
  await insertDeliveries(pool, { count: 6, lanes: 1 });
  const end = { dueAt: DUE_AT + 9, row: 9 };
  assert.equal((await member.readOne(laneName(0), 9, end)).length, 6, "they were put since the last read");
  assert.deepEqual(await member.readOne(laneName(0), 9, end), []);
  await client.query("rollback");
  client.release();
});

test("deliveries of a commit that ends after the loss of its connection are found, although the lane was read meanwhile", async (t) => {
  const pool = await database(t, { count: 3, lanes: 1 });
  const member = new Member(pool, "one");
  const rows = await member.readOne(laneName(0), 9);
  const place = placeOf(rows[2] ?? assert.fail());
  const [first] = rows;
  const client = await pool.connect();
  await client.query("begin");
  await client.query("update deliveries set due_at = $2 where id = $1", [idOf(first ?? assert.fail()), DUE_AT - 1]);
  await client.query(
    "update due_deliveries set due_at = $2, put_by = $3, changed_in = pg_current_xact_id() where id = $1",
    [idOf(first ?? assert.fail()), DUE_AT - 1, member.queue.putBy],
  );
  member.queue.forget();
  assert.equal((await member.readOne(laneName(0), 9)).length, 3);
  await client.query("commit");
  client.release();
  const [found] = await member.readOne(laneName(0), 9, place);
  assert.equal(idOf(found ?? assert.fail()), idOf(first ?? assert.fail()));
});

test("a server that counts its transactions from an earlier one has every lane read from its front", async (t) => {
  const pool = await database(t, { count: 3, lanes: 1 });
  const member = new Member(pool, "one");
  member.queue.hold(true);
  const ahead: Sql = {
    ...member.sql,
    async values(text, parameters) {
      const found = await member.sql.values(text, parameters);
      return found.map((row) =>
        row.map((value, column) => (column === 4 && text.includes("wanted") ? "9000000:9000000:" : value)),
      );
    },
  };
  const lanes = [{ lane: laneName(0), limit: 9, after: { dueAt: DUE_AT + 9, row: 9 } }];
  await member.queue.read(ahead, { lanes, now: DUE_AT * 2, bytesMax: 1_000 });
  assert.deepEqual(member.queue.takePushed(), []);
  await member.read(lanes);
  assert.deepEqual(member.queue.takePushed(), [["all"]]);
});
