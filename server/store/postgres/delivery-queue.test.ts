/** Tests of PostgreSQL's queue of deliveries: what several processes on one database see of its leases. */

import assert from "node:assert/strict";
import { type TestContext, test } from "node:test";
import type pg from "pg";
import { Stage } from "../../../test/conformance/store-stage.ts";
import { claimBuffers, idOf, LEASE_MS, Member, NOW, raceFor } from "../../../test/support/delivery-members.ts";
import { type DeliveryRows, insertDeliveries, laneName } from "../../../test/support/delivery-rows.ts";
import { readDue } from "../../../test/support/due.ts";
import { sharedPostgresForFile } from "../../../test/support/postgres.ts";
import type { DeliveryOutcome, DueDelivery } from "../due-deliveries.ts";
import type { Store } from "../store.ts";
import { releaseDeliveries, releaseOwners } from "./delivery-queue.ts";
import { makeTables } from "./make-tables.ts";
import { beat } from "./member-leases.ts";
import { cancelDeliveries } from "./outcomes.ts";
import { createPool } from "./pool.ts";
import { openPostgres } from "./store.ts";
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
  return pool;
}

for (const members of [2, 8]) {
  test(`${members} processes that race claim each delivery once, and lose none`, async (t) => {
    const count = 10_000;
    await raceFor(await database(t, { count, lanes: 4 }), { members, count, lanes: 4 });
  });
}

test("the next process claims a lane when the leases of the one before have ended, oldest first", async (t) => {
  const pool = await database(t, { count: 20, lanes: 2 });
  const [dead, alive] = [new Member(pool, "dead"), new Member(pool, "alive")];
  const lost = await dead.claim(laneName(0), 3);
  assert.deepEqual(await alive.claim(laneName(0), 9), [], "they would overtake what is leased");
  assert.equal((await alive.claim(laneName(1), 1)).length, 1, "another lane is not affected");
  assert.equal((await dead.claim(laneName(0), 1)).length, 1, "its own leases are no hindrance");
  await pool.query("update due_deliveries set leased_until = clock_timestamp() where lane = $1 and lease is not null", [
    laneName(0),
  ]);
  const next = await alive.claim(laneName(0), 7);
  assert.deepEqual(next.slice(0, 3).map(idOf), lost.map(idOf));
  assert.equal(next.length, 7);
  assert.deepEqual(
    await alive.finish(next),
    next.map(() => "ok"),
  );
  const late = await dead.finish(lost);
  assert.deepEqual(
    late.map((values) => Array.isArray(values)),
    lost.map(() => true),
    "an end after that is decided again",
  );
});

test("the beat that finds a process dead gives back its deliveries", async (t) => {
  const pool = await database(t, { count: 6, lanes: 1 });
  const [dead, alive] = [new Member(pool, "dead"), new Member(pool, "alive")];
  const beatOf = (id: string, deadAfterMs: number) =>
    beat(alive.sql, { member: { id, role: "all", url: null }, leases: [], leaseMs: 30_000, deadAfterMs });
  await beatOf("dead", 60_000);
  const lost = await dead.claim(laneName(0), 2);
  await beatOf("alive", 60_000);
  assert.deepEqual(await alive.claim(laneName(0), 9), []);
  await new Promise((resolve) => setTimeout(resolve, 20));
  await beatOf("alive", 10);
  const next = await alive.claim(laneName(0), 9);
  assert.equal(next.length, 6);
  assert.deepEqual(next.slice(0, 2).map(idOf), lost.map(idOf));
  await beatOf("other", 60_000);
  assert.deepEqual(
    await alive.finish(next),
    next.map(() => "ok"),
    "other leases stand",
  );
});

test("a claim removes a row of the queue whose delivery is gone, and no other", async (t) => {
  const pool = await database(t, { count: 3, lanes: 1, records: 2 });
  const member = new Member(pool, "one");
  assert.equal((await member.claim(laneName(0), 9)).length, 2);
  const { rows } = await pool.query("select id from due_deliveries where lease is not null order by id");
  assert.equal(rows.length, 2);
  assert.equal((await pool.query("select id from due_deliveries")).rowCount, 2);
});

test("a release gives back the leases of its process only, and their order", async (t) => {
  const pool = await database(t, { count: 6, lanes: 2 });
  const [one, other] = [new Member(pool, "one"), new Member(pool, "other")];
  const [own, foreign] = [await one.claim(laneName(0), 2), await other.claim(laneName(1), 2)];
  await releaseDeliveries(
    { alone: (_, { text, parameters }) => one.sql.values(text, parameters) },
    one.leases,
    [...own, ...foreign].map(idOf),
  );
  assert.equal(one.leases.count, 0);
  const again = await other.claim(laneName(0), 9);
  assert.deepEqual(again.slice(0, 2).map(idOf), own.map(idOf));
  assert.equal(again.length, 3);
  assert.deepEqual(await one.claim(laneName(1), 9), []);
  await releaseOwners(other.sql, other.leases, ["other"]);
  assert.equal((await one.claim(laneName(1), 9)).length, 3);
});

test("an end is written whoever has the delivery in hand, and takes it out of the queue", async (t) => {
  const pool = await database(t, { count: 1, lanes: 1 });
  const [late, next] = [new Member(pool, "late"), new Member(pool, "next")];
  const rows = await late.claim(laneName(0), 1);
  await pool.query("update due_deliveries set leased_until = clock_timestamp()");
  assert.equal((await next.claim(laneName(0), 1)).length, 1);
  assert.deepEqual(await late.finish(rows), ["ok"]);
  assert.equal((await pool.query("select from due_deliveries")).rowCount, 0);
});

test("a claim does not wait for a delivery that another transaction has locked, and leases none behind it in its lane", async (t) => {
  const pool = await database(t, { count: 8, lanes: 2 });
  const member = new Member(pool, "one");
  const client = await pool.connect();
  await client.query("begin");
  // An offset beside `for update` would lock the rows that it skips too.
  const second = "select row from due_deliveries where lane = $1 order by row offset 1 limit 1";
  await client.query(`select from due_deliveries where row = (${second}) for update`, [laneName(0)]);
  assert.equal((await member.claim(laneName(0), 9)).length, 1);
  assert.equal((await member.claim(laneName(0), 9)).length, 0);
  assert.equal((await member.claim(laneName(1), 9)).length, 4);
  await client.query("rollback");
  client.release();
  assert.equal((await member.claim(laneName(0), 9)).length, 3);
});

test("deliveries to an endpoint in quarantine are not claimed, and its lane is not due", async (t) => {
  const pool = await database(t, { count: 4, lanes: 2 });
  const member = new Member(pool, "one");
  await pool.query(
    `insert into quarantined ("table", id, since, parked, reason) values ('endpoints', $1, 0, 0, 'it is broken')`,
    [laneName(0)],
  );
  const { rows } = await member.read([0, 1].map((lane) => ({ lane: laneName(lane), limit: 9 })));
  assert.deepEqual(rows.length, 2);
  assert.equal((await member.claim(laneName(0), 9)).length, 0);
});

test("a process claims no more than 16,384 deliveries, and gives back what it has no room for", async (t) => {
  const pool = await database(t, { count: 20_000, lanes: 1 });
  const member = new Member(pool, "one");
  const lanes = [{ lane: laneName(0), limit: 20_000 }];
  const { rows, more } = await member.read(lanes);
  // One customer gets 80 % of all.
  assert.ok(rows.length > 13_000 && rows.length < 13_200, `${rows.length}`);
  assert.deepEqual(more, []);
  const { rows: leased } = await pool.query("select count(*) from due_deliveries where lease is not null");
  assert.deepEqual(leased, [{ count: rows.length }]);
  assert.deepEqual(await member.read(lanes), { rows: [], more: [] });
});

test("cancelling takes deliveries in hand too, and their attempts are decided again", async (t) => {
  const pool = await database(t, { count: 10, lanes: 1 });
  const member = new Member(pool, "one");
  const held = await member.claim(laneName(0), 1);
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

test("a lane whose first thousand deliveries are leased costs a claim no more than one without", async (t) => {
  const pool = await database(t, { count: 3_000, lanes: 1 });
  const one = new Member(pool, "one");
  const before = await claimBuffers(pool, "one");
  assert.equal((await one.claim(laneName(0), 1_000)).length, 1_000);
  await vacuumQueues(one.sql);
  const after = await claimBuffers(pool, "one");
  assert.ok(after <= 1.2 * before, `${after} buffers, ${before} before`);
  assert.equal((await one.claim(laneName(0), 128)).length, 128);
});

test("the queue has room for new rows after a vacuum, in place of dead ones", async (t) => {
  const pool = await database(t, { count: 2_000, lanes: 1 });
  const member = new Member(pool, "one");
  const size = async () => (await pool.query("select pg_relation_size('due_deliveries') as size")).rows[0].size;
  await member.finish(await member.claim(laneName(0), 2_000));
  const before = await size();
  await vacuumQueues(member.sql);
  await pool.query("truncate deliveries");
  await insertDeliveries(pool, { count: 2_000, lanes: 1 });
  assert.equal(await size(), before);
});

test("stores that race on one database push and read each new delivery once, and the attempts of all are on disk", async (t) => {
  const { url, drop } = await postgres.create();
  const stores = await Promise.all([1, 2, 3].map((number) => openPostgres(url, `member ${number}`)));
  t.after(async () => {
    for (const store of stores) await store.close();
    await drop();
  });
  const stage = new Stage(stores[0] ?? assert.fail());
  const customer = await stage.addCustomer();
  const endpoint = await stage.addEndpoint(customer);
  const taken = new Map<string, number>();
  let pushed = 0;
  const attempt = async (store: Store, due: readonly DueDelivery[]) => {
    for (const { delivery } of due) taken.set(delivery.id, (taken.get(delivery.id) ?? 0) + 1);
    const outcomes = due.map(({ delivery, row }): DeliveryOutcome => {
      const set = { ...delivery, status: "succeeded" as const, attemptCount: 1, dueAt: null };
      return { id: delivery.id, row, version: delivery.version, set };
    });
    for (const { result } of await store.finishDeliveries(outcomes)) assert.equal(result, "ok");
  };
  const running: Promise<void>[] = [];
  for (const store of stores) {
    store.hold({
      inHandMs: LEASE_MS,
      push(changes) {
        const due = changes.flatMap((change) => (change.kind === "new" ? [change.due] : []));
        pushed += due.length;
        running.push(attempt(store, due));
      },
    });
    await store.arrived();
  }
  const events = Array.from({ length: 600 }, () => stage.event(customer));
  const isOver = () => taken.size === events.length;
  const reading = stores.map(async (store) => {
    for (const startedAt = Date.now(); !isOver() && Date.now() - startedAt < 60_000; )
      await attempt(store, await readDue(store, [endpoint.id], NOW));
  });
  await Promise.all(
    events.map((event, index) => stores[index % 3]?.commit([{ op: "event", event, callbackUrl: null }])),
  );
  await Promise.all(reading);
  await Promise.all(running);
  assert.equal(taken.size, events.length);
  assert.ok([...taken.values()].every((count) => count === 1));
  assert.ok(pushed > 0, `${pushed} were pushed with their commit`);
  assert.ok((await stage.all("deliveries")).every(({ status }) => status === "succeeded"));
  for (const store of stores) assert.deepEqual(await store.dueLanes("deliveries", Number.MAX_SAFE_INTEGER), []);
});

test("a new delivery of one process stays behind what another has left on disk", async (t) => {
  const { url, drop } = await postgres.create();
  const [api, worker] = [await openPostgres(url, "api"), await openPostgres(url, "worker")];
  t.after(async () => {
    for (const store of [api, worker]) await store.close();
    await drop();
  });
  const stage = new Stage(worker);
  const customer = await stage.addCustomer();
  const endpoint = await stage.addEndpoint(customer);
  assert.deepEqual(await stage.claimDeliveries(endpoint.id, 1), []);
  const first = await stage.addEvent(customer);
  assert.deepEqual(first.lanes, [], "it is pushed with its commit");
  // Nobody at the other process holds deliveries.
  const event = stage.event(customer);
  assert.deepEqual(await api.commit([{ op: "event", event, callbackUrl: null }]), {
    result: "ok",
    lanes: [endpoint.id],
  });
  const last = await stage.addEvent(customer);
  assert.deepEqual(last.lanes, [endpoint.id]);
  const eventsOf = (due: readonly DueDelivery[]) => due.map(({ delivery }) => delivery.eventId);
  assert.deepEqual(eventsOf(stage.due.pushed), [first.event.id]);
  assert.deepEqual(eventsOf(await stage.holdDeliveries(endpoint.id, 9)), [first.event.id, event.id, last.event.id]);
});
