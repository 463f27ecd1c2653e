/** The counters of usage: nothing counted is lost or counted twice, and they stay bounded. */

import assert from "node:assert/strict";
import { test } from "node:test";
import { commitAll, testContext, testKey } from "../../../test/support/context.ts";
import type { UsageHour } from "../../core/usage.ts";
import { findKey } from "../../store/keys.ts";
import { StoreFull, StoreUnavailable } from "../../store/store.ts";
import { revokeKey } from "./keys.ts";
import { UsageCounters } from "./usage.ts";

async function start(t: { after(end: () => Promise<void>): void }) {
  const test = await testContext();
  t.after(() => test.close());
  const written: UsageHour[][] = [];
  const fails = { next: 0, repliesLost: 0 };
  const store = Object.create(test.deps.store) as typeof test.deps.store;
  store.addUsage = async (batch, now) => {
    if (fails.next > 0) {
      fails.next -= 1;
      throw new StoreFull("full");
    }
    await test.deps.store.addUsage(batch, now);
    if (fails.repliesLost > 0) {
      fails.repliesLost -= 1;
      throw new StoreUnavailable("lost");
    }
    written.push(structuredClone([...batch.hours]));
  };
  store.commit = (transaction) => test.deps.store.commit(transaction);
  const counters = new UsageCounters({ store, clock: test.clock, fault: test.deps.observer.fault, owner: "test" });
  return { ...test, counters, written, fails };
}

test("counts of one hour are added up and written each second, and only what is new", async (t) => {
  const { counters, clock, written, customer, apiKey } = await start(t);
  counters.start();
  counters.count([apiKey.id, customer.id], "requests");
  counters.count([apiKey.id], "requests", 2);
  counters.count([apiKey.id], "segments", 3);
  await clock.advance(1_000);
  const got = written.flat().map(({ subject, at, requests, segments }) => [subject, at, requests, segments]);
  assert.deepEqual(got, [
    [apiKey.id, Date.UTC(2026, 0, 1), 3, 3],
    [customer.id, Date.UTC(2026, 0, 1), 1, 0],
  ]);
  await clock.advance(3_600_000);
  assert.equal(written.length, 1);
  counters.count([apiKey.id], "requests");
  await clock.advance(1_000);
  assert.deepEqual(
    written[1]?.map(({ at, requests }) => [at, requests]),
    [[Date.UTC(2026, 0, 1, 1), 1]],
  );
  await counters.stop();
  assert.equal(clock.pending, 0);
});

test("a write that fails keeps the counts for the next one, and is reported once", async (t) => {
  const { counters, clock, written, fails, apiKey, observed } = await start(t);
  counters.start();
  fails.next = 3;
  for (let second = 0; second < 3; second += 1) {
    counters.count([apiKey.id], "requests");
    await clock.advance(1_000);
  }
  assert.equal(written.length, 0);
  await clock.advance(1_000);
  await counters.flush();
  assert.deepEqual(
    written.map((hours) => hours.map(({ requests }) => requests)),
    [[1], [2]],
    "what failed is written again as it was",
  );
  assert.deepEqual(
    observed.faults.map(({ where }) => where),
    ["usage"],
  );
  await counters.stop();
});

test("counts whose write was not answered are counted once", async (t) => {
  const { counters, clock, fails, apiKey, deps } = await start(t);
  const stored = async () => {
    const usage = await deps.store.db.selectFrom("usage").select("requests").execute();
    return usage.map(({ requests }) => requests);
  };
  counters.start();
  fails.repliesLost = 2;
  counters.count([apiKey.id], "requests", 5);
  await clock.advance(1_000);
  assert.deepEqual(await stored(), [5]);
  counters.count([apiKey.id], "requests", 2);
  for (let second = 0; second < 3; second += 1) await clock.advance(1_000);
  assert.deepEqual(await stored(), [7]);
  await counters.stop();
});

test("stopping writes what is left", async (t) => {
  const { counters, written, apiKey, deps } = await start(t);
  counters.start();
  counters.count([apiKey.id], "messagesSent");
  counters.used(apiKey.id);
  await counters.stop();
  assert.equal(written.flat().length, 1);
  assert.equal((await findKey(deps.store.db, apiKey.id))?.lastUsedAt, deps.clock.now());
});

test("lastUsedAt of a key is written within a second of its first use, then at most once a minute", async (t) => {
  const { counters, clock, deps, apiKey } = await start(t);
  counters.start();
  const read = async () => (await findKey(deps.store.db, apiKey.id))?.lastUsedAt;
  const versions = new Set<number | undefined>();
  counters.used(apiKey.id);
  const firstAt = clock.now();
  for (let second = 0; second < 30; second += 1) {
    await clock.advance(1_000);
    counters.used(apiKey.id);
    versions.add((await findKey(deps.store.db, apiKey.id))?.version);
  }
  assert.equal(await read(), firstAt);
  assert.equal(versions.size, 1);
  const lastAt = clock.now();
  await clock.advance(40_000);
  assert.equal(await read(), lastAt);
  await counters.stop();
});

test("writing lastUsedAt undoes no change of the key, and no change fails for it", async (t) => {
  const { counters, deps } = await start(t);
  const keys = Array.from({ length: 20 }, () => testKey(deps, null).apiKey);
  await commitAll(
    deps,
    keys.map((record) => ({ op: "insert", table: "keys", record })),
  );
  for (const { id } of keys) counters.used(id);
  await Promise.all([counters.flush(), ...keys.map(({ id }) => revokeKey(deps, id))]);
  await counters.flush();
  for (const { id } of keys) {
    const stored = await findKey(deps.store.db, id);
    assert.ok(stored !== null && stored.revokedAt !== null && stored.lastUsedAt !== null);
  }
  await counters.stop();
});
