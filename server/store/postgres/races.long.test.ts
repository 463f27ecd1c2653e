/** Tests of several stores on one PostgreSQL database that change the same records at once. */

import assert from "node:assert/strict";
import { mock, type TestContext, test } from "node:test";
import { setTimeout } from "node:timers/promises";
import { sql } from "kysely";
import pg from "pg";
import { idempotencyOf, Stage } from "../../../test/conformance/store-stage.ts";
import { preparedPostgresForFile } from "../../../test/support/service-database.ts";
import type { CustomerId } from "../../core/id.ts";
import { noUsage } from "../../core/usage.ts";
import type { CommitResult, Operation, Store, Transaction } from "../store.ts";
import { compareDueRows } from "./due-check.ts";
import { createPool } from "./pool.ts";
import { sqlOn } from "./sql.ts";
import { openPostgres } from "./store.ts";

const STORES = 8;
const ROUNDS = 40;
/** Transactions of a store in a round: they are one group. */
const AT_ONCE = 6;
const RECORDS = 5;

const postgres = preparedPostgresForFile();

async function openStores(t: TestContext): Promise<{ stores: Store[]; url: string }> {
  const { url, drop } = await postgres.create();
  const stores: Store[] = [];
  for (let index = 0; index < STORES; index += 1) stores.push(await openPostgres(url, `member_${index}`));
  t.after(async () => {
    await Promise.all(stores.map((store) => store.close()));
    await drop();
  });
  return { stores, url };
}

/** The queues have exactly the rows of the records that are due. */
async function assertQueues(url: string): Promise<void> {
  const pool = createPool(url, 1);
  try {
    const compared = await compareDueRows(
      sqlOn(pool, () => {}),
      () => performance.now(),
      60_000,
    );
    for (const { table, missing, wrong } of compared)
      assert.deepEqual({ table, missing, wrong }, { table, missing: 0, wrong: 0 });
  } finally {
    await pool.end();
  }
}

/** Numbers that look random, the same ones in every run. */
function numbers(seed: number): (limit: number) => number {
  let state = seed;
  return (limit) => {
    state = (Math.imul(state, 1_664_525) + 1_013_904_223) >>> 0;
    return Math.floor((state / 2 ** 32) * limit);
  };
}

test("racing stores commit each transaction completely or not at all, and never wait for each other in a circle", async (t) => {
  const { stores, url } = await openStores(t);
  const [first = assert.fail()] = stores;
  const stage = new Stage(first);
  const customers = await Promise.all([stage.addCustomer(), stage.addCustomer()]);
  for (const customer of customers) await stage.addEndpoint(customer);
  const records = await Promise.all(Array.from({ length: RECORDS }, () => stage.addMessage(customers[0])));
  const versions = new Map(records.map(({ id }) => [id, 1]));
  const taken = new Map<string, number>();
  const counts = { ok: 0, conflict: 0, duplicate: 0, unmet: 0 };
  const inserted = new Set<string>();
  const refused = new Set<string>();
  let events = 0;

  const run = async (store: Store, pick: (limit: number) => number): Promise<void> => {
    const changed = [pick(RECORDS), pick(RECORDS)].map((index) => records[index] ?? assert.fail());
    const keys = [`key ${pick(400)}`, `key ${pick(400)}`];
    const message = stage.message(customers[pick(2)] ?? customers[0]);
    const transaction: Operation[] = [
      { op: "insertUnique", table: "idempotency", record: idempotencyOf(keys[0] ?? "", { result: message.id }) },
      { op: "insert", table: "messages", record: message },
      { op: "event", event: stage.event(message), callbackUrl: null },
    ];
    if (pick(2) === 0 && keys[0] !== keys[1])
      transaction.push({ op: "insertUnique", table: "idempotency", record: idempotencyOf(keys[1] ?? "") });
    const updated = pick(3) === 0 ? new Set(changed) : new Set(changed.slice(0, pick(2)));
    for (const { id } of updated)
      transaction.push({
        op: "update",
        table: "messages",
        id,
        version: versions.get(id) ?? 0,
        set: { text: message.id },
      });
    const { result } = await store.commit(transaction);
    counts[result] += 1;
    if (result !== "ok") return void refused.add(message.id);
    inserted.add(message.id);
    events += 1;
    for (const { id } of updated) versions.set(id, (versions.get(id) ?? 0) + 1);
    for (const operation of transaction)
      if (operation.op === "insertUnique" && "key" in operation.record)
        taken.set(operation.record.key, (taken.get(operation.record.key) ?? 0) + 1);
  };
  await Promise.all(
    stores.map(async (store, index) => {
      const pick = numbers(index + 1);
      for (let round = 0; round < ROUNDS; round += 1)
        await Promise.all(Array.from({ length: AT_ONCE }, () => run(store, pick)));
    }),
  );

  t.diagnostic(JSON.stringify(counts));
  for (const result of ["ok", "conflict", "duplicate"] as const) assert.ok(counts[result] > 20, result);
  for (const { id } of records) assert.equal((await stage.one("messages", id)).version, versions.get(id));
  assert.ok(
    [...taken.values()].every((times) => times === 1),
    "each key was taken once",
  );
  const keys = (await stage.all("idempotency")).map(({ key }) => key);
  assert.deepEqual(new Set(keys), new Set(taken.keys()));
  const found = new Set((await stage.all("messages")).map(({ id }) => id as string));
  assert.deepEqual(
    [...inserted].filter((id) => !found.has(id)),
    [],
  );
  assert.deepEqual(
    [...refused].filter((id) => found.has(id)),
    [],
  );
  assert.equal((await stage.all("events")).length, events);
  assert.equal((await stage.all("deliveries")).length, events);
  await assertQueues(url);
  const { rows } = await sql<{
    deadlocks: number;
  }>`select deadlocks from pg_stat_database where datname = current_database()`.execute(first.db);
  assert.equal(Number(rows[0]?.deadlocks), 0);
});

test("a reader of a customer's events by position misses none that racing stores commit", async (t) => {
  const { stores } = await openStores(t);
  const stage = new Stage(stores[0] ?? assert.fail());
  const customer = await stage.addCustomer();
  let isOver = false;
  const commits = Promise.all(
    stores.map(async (store) => {
      for (let round = 0; round < ROUNDS; round += 1) {
        const event = (): Transaction => [{ op: "event", event: stage.event(customer), callbackUrl: null }];
        const results = await Promise.all([store.commit(event()), store.commit(event())]);
        assert.ok(results.every(({ result }) => result === "ok"));
      }
    }),
  ).finally(() => {
    isOver = true;
  });
  const seen: number[] = [];
  for (let isLast = false; !isLast; ) {
    isLast = isOver;
    const { rows } = await sql<{ position: number }>`select position from events
      where customer_id = ${customer.id} and position > ${seen.at(-1) ?? 0} order by position`.execute(stage.store.db);
    seen.push(...rows.map(({ position }) => Number(position)));
  }
  await commits;
  assert.equal(seen.length, STORES * ROUNDS * 2);
});

test("deliveries follow the endpoints as another store has just left them", async (t) => {
  const [changing = assert.fail(), emitting = assert.fail()] = (await openStores(t)).stores;
  const stage = new Stage(changing);
  const customer = await stage.addCustomer();
  const endpoint = await stage.addEndpoint(customer);
  for (let version = 1; version <= 20; version += 1) {
    const isActive = version % 2 === 0;
    assert.equal(await stage.update("endpoints", { id: endpoint.id, version }, { active: isActive }), "ok");
    const event = stage.event(customer);
    const committed: CommitResult = await emitting.commit([{ op: "event", event, callbackUrl: null }]);
    assert.equal(committed.result, "ok");
    assert.equal((await stage.deliveriesOf(event.id)).length, isActive ? 1 : 0);
  }
});

test("a process that stops inside a SQL transaction holds up the others for some seconds, and its transaction is repeated", async (t) => {
  const [stopping = assert.fail(), other = assert.fail()] = (await openStores(t)).stores;
  const stage = new Stage(stopping);
  const customer = await stage.addCustomer();
  const stoppedMs = 13_000;
  let stopped: Promise<unknown> | null = null;
  const query = pg.Client.prototype.query as unknown as (this: pg.Client, ...parameters: unknown[]) => unknown;
  mock.method(pg.Client.prototype, "query", function (this: pg.Client, ...parameters: unknown[]) {
    if (parameters[0] !== "commit" || stopped !== null) return query.apply(this, parameters);
    stopped = setTimeout(stoppedMs);
    return stopped.then(() => query.apply(this, parameters));
  });
  t.after(() => mock.restoreAll());
  const [late, kept] = [stage.event(customer), stage.event(customer)];
  const repeated = stopping.commit([{ op: "event", event: late, callbackUrl: null }]);
  while (stopped === null) await setTimeout(10);
  const startedAt = performance.now();
  assert.equal((await other.commit([{ op: "event", event: kept, callbackUrl: null }])).result, "ok");
  assert.ok(performance.now() - startedAt < stoppedMs);
  assert.equal((await repeated).result, "ok");
  assert.deepEqual((await stage.all("events")).map(({ id }) => id).sort(), [kept.id, late.id].sort());
  assert.equal(
    (await stopping.commit([{ op: "event", event: stage.event(customer), callbackUrl: null }])).result,
    "ok",
  );
});

test("a job that fails takes no transaction with it that shares its SQL transaction", async (t) => {
  const { url, drop } = await postgres.create();
  const store = await openPostgres(url, "member_1");
  t.after(async () => {
    await store.close();
    await drop();
  });
  const half = { subject: "cust_1" as CustomerId, at: 0, ...noUsage(), requests: 0.5 };
  const put = { op: "put", table: "settings", record: { name: "word", value: "1" } } as const;
  const [counted, committed] = await Promise.allSettled([
    store.addUsage({ owner: "member_1", number: 1, hours: [half] }, 0),
    store.commit([put]),
  ]);
  assert.match(String(counted.status === "rejected" && counted.reason), /bigint/);
  assert.deepEqual(committed, { status: "fulfilled", value: { result: "ok", lanes: [] } });
});
