/** Tests of the queue of messages on PostgreSQL: what several stores on one database may do, and what a claim reads. */

import assert from "node:assert/strict";
import { type TestContext, test } from "node:test";
import fc from "fast-check";
import { LEASE_END, LEASE_MS, NOW, Stage } from "../../../test/conformance/store-stage.ts";
import { addDueMessages, raceForMessages } from "../../../test/support/message-race.ts";
import { preparedPostgresForFile } from "../../../test/support/service-database.ts";
import { type Message, pairOf } from "../../core/message.ts";
import type { ClaimedMessage, MessageClaim, Store } from "../store.ts";
import { lockLanes } from "./claim-messages.ts";
import { createPool } from "./pool.ts";
import { openPostgres } from "./store.ts";

const postgres = preparedPostgresForFile();

interface Deps {
  stage: Stage;
  /** The first is the store of the stage. */
  stores: [Store, Store, ...Store[]];
  pool: ReturnType<typeof createPool>;
}

/** Opens stores on a new database, each a member of its own, and closes them after the test. */
async function open(t: TestContext, count = 2): Promise<Deps> {
  const { url, drop } = await postgres.create();
  const stores = await Promise.all(
    Array.from({ length: count }, (_, index) => openPostgres(url, `member_${index + 1}`)),
  );
  const [first, second, ...others] = stores;
  assert.ok(first !== undefined && second !== undefined);
  const pool = createPool(url, 1);
  t.after(async () => {
    await Promise.all([...stores.map((store) => store.close()), pool.end()]);
    await drop();
  });
  return { stage: new Stage(first), stores: [first, second, ...others], pool };
}

const claimOf = (lane: string, permits: number, changes: Partial<MessageClaim> = {}): MessageClaim => ({
  lanes: [{ lane, permits }],
  now: NOW,
  leaseMs: LEASE_MS,
  ...changes,
});
const idsOf = (claimed: readonly ClaimedMessage[]) => claimed.map(({ message }) => message.id);
const to = (index: number) => `+1500555${String(index).padStart(4, "0")}`;

for (const count of [2, 8]) {
  test(`${count} stores that race for 1,000 messages send each once, and those of a pair in order`, async (t) => {
    const { stage, stores } = await open(t, count);
    const lane = await addDueMessages(stage, 1_000, 40);
    await raceForMessages(stores, lane, 1_000);
    assert.deepEqual((await stage.store.dueLanes("messages", NOW)).length, 0);
  });
}

test("a look says how long the server needed, and leaves out messages in hand until their leases end", async (t) => {
  const { stage, stores, pool } = await open(t);
  const { instanceId } = await stage.addMessage(await stage.addCustomer(), { dueAt: NOW });
  const look = async () => {
    const told: number[] = [];
    const startedAt = performance.now();
    const lanes = await stores[1].dueLanes("messages", NOW, (ms) => told.push(ms));
    assert.ok(told.length === 1 && told.every((ms) => ms > 0 && ms < performance.now() - startedAt), String(told));
    return lanes;
  };
  const due = [{ lane: instanceId, dueAt: NOW }];
  assert.deepEqual(await look(), due);
  const [claimed] = (await stores[0].claimMessages(claimOf(instanceId, 1))).claimed;
  assert.deepEqual(await look(), []);
  await pool.query("update due_messages set leased_until = statement_timestamp() - interval '1 ms'");
  assert.deepEqual(await look(), due, "its holder is gone");
  await stores[0].release([claimed?.lease ?? 0]);
  assert.deepEqual(await look(), due);
});

test("a store vacuums both queues, on one of its connections", async (t) => {
  const { stores, pool } = await open(t);
  const counts = async () => {
    const asked = "select relname, vacuum_count from pg_stat_user_tables where vacuum_count > 0 order by relname";
    return (await pool.query({ text: asked, rowMode: "array" })).rows;
  };
  const before = await counts();
  await stores[0].shared?.vacuumQueues();
  assert.deepEqual(
    [before, await counts()],
    [
      [],
      [
        ["due_deliveries", 1],
        ["due_messages", 1],
      ],
    ],
  );
});

test("a claim that waits for a lane too long leases nothing and says so, and the next one goes on", async (t) => {
  const { stage, stores, pool } = await open(t);
  const { id, instanceId } = await stage.addMessage(await stage.addCustomer(), { dueAt: NOW });
  const client = await pool.connect();
  await client.query("begin");
  await client.query(lockLanes([instanceId]));
  await assert.rejects(stores[0].claimMessages(claimOf(instanceId, 1)), /lock timeout/);
  await client.query("rollback");
  client.release();
  assert.deepEqual(idsOf((await stores[0].claimMessages(claimOf(instanceId, 1))).claimed), [id]);
});

test("a message that one store leases is another's after the end of the lease, which the first then cannot release", async (t) => {
  const { stage, stores } = await open(t);
  const [first, second] = stores;
  const { id, instanceId } = await stage.addMessage(await stage.addCustomer(), { dueAt: NOW });
  const [old] = (await first.claimMessages(claimOf(instanceId, 1, { leaseMs: 2_000 }))).claimed;
  assert.equal(old?.message.id, id);
  assert.deepEqual((await second.claimMessages(claimOf(instanceId, 1))).claimed, []);
  const until = Date.now() + 10_000;
  let taken: ClaimedMessage[] = [];
  while (taken.length === 0 && Date.now() < until) taken = (await second.claimMessages(claimOf(instanceId, 1))).claimed;
  assert.deepEqual(idsOf(taken), [id]);
  await first.release([old?.lease ?? 0]);
  assert.deepEqual((await first.claimMessages(claimOf(instanceId, 1))).claimed, []);
  assert.deepEqual(await first.leasedPairs(instanceId), await second.leasedPairs(instanceId));
});

test("a send attempt's lease does not end by the clock of another host while its member lives, and ends in time when it is gone", async (t) => {
  const { stage, stores } = await open(t);
  const [first, second] = stores;
  const customer = await stage.addCustomer();
  for (let index = 0; index < 4; index += 1) await stage.addMessage(customer, { dueAt: NOW, to: to(index) });
  const lane = stage.instanceId;
  const member = { id: "member_2", role: "all", url: null } as const;
  await second.beat({ member, leases: [], leaseMs: 30_000, deadAfterMs: 20_000 });
  const mine = (await first.claimMessages(claimOf(lane, 2))).claimed;
  const theirs = (await second.claimMessages(claimOf(lane, 2))).claimed;
  const pending = { status: "pending", dueAt: null, claimedUntil: LEASE_END } as const;
  for (const [one] of [mine, theirs])
    assert.equal(await stage.update("messages", one?.message as Message, pending), "ok");
  // The clock of this host is 100 s ahead.
  assert.equal(await first.releaseLeases(LEASE_END + 100_000, NOW), 1);
  assert.deepEqual(idsOf((await first.claimMessages(claimOf(lane, 9))).claimed), [mine[0]?.message.id]);
  await second.leave(member.id);
  assert.equal(await first.releaseLeases(LEASE_END, NOW), 0);
  assert.equal(await first.releaseLeases(LEASE_END + 1, NOW), 1);
  assert.deepEqual(idsOf((await first.claimMessages(claimOf(lane, 9))).claimed), [theirs[0]?.message.id]);
});

test("a store finds the attempts of others in a lane, and those whose lease was given back, until they end", async (t) => {
  const { stage, stores } = await open(t);
  const [first, second] = stores;
  const customer = await stage.addCustomer();
  for (let index = 0; index < 3; index += 1) await stage.addMessage(customer, { dueAt: NOW, to: to(index) });
  const lane = stage.instanceId;
  const { claimed } = await second.claimMessages(claimOf(lane, 2));
  const [attempted, waiting] = claimed.map(({ message }) => message);
  assert.ok(attempted !== undefined && waiting !== undefined);
  const openFor = async (store: Store) => (await store.shared?.listOpenAttempts(lane)) ?? [];
  assert.deepEqual(await openFor(first), [], "a lease is no attempt");
  assert.equal(
    await stage.update("messages", attempted, { status: "pending", dueAt: null, claimedUntil: LEASE_END }),
    "ok",
  );
  const { id, from, to: recipient } = attempted;
  const found = [{ id, from, to: recipient, claimedUntil: LEASE_END }];
  assert.deepEqual([await openFor(first), await openFor(second)], [found, []]);
  await second.release(claimed.map(({ lease }) => lease));
  assert.deepEqual([await openFor(first), await openFor(second)], [found, found]);
  assert.equal(await first.releaseLeases(LEASE_END + 1, NOW), 1);
  assert.deepEqual([await openFor(first), await openFor(second)], [[], []]);
});

test("a store ends what a dead member held, whatever its attempts were doing, and nothing of a living one", async (t) => {
  const { stage, stores, pool } = await open(t);
  const [first, second] = stores;
  const customer = await stage.addCustomer();
  for (let index = 0; index < 6; index += 1) await stage.addMessage(customer, { dueAt: NOW, to: to(index) });
  const lane = stage.instanceId;
  const pending = { status: "pending", dueAt: null, claimedUntil: LEASE_END } as const;
  const ids: string[][] = [];
  for (const [index, store] of [first, second].entries()) {
    const member = { id: `member_${index + 1}`, role: "all", url: null } as const;
    const leases = [{ lease: member.id, state: null }];
    await store.beat({ member, leases, leaseMs: 30_000, deadAfterMs: 20_000 });
    const { claimed } = await store.claimMessages(claimOf(lane, 2));
    ids.push(idsOf(claimed));
    assert.equal(await stage.update("messages", claimed[0]?.message as Message, pending), "ok");
  }
  await first.endMember("member_2", NOW);
  const free = idsOf((await first.claimMessages(claimOf(lane, 9))).claimed);
  const unleased = (await stage.store.db.selectFrom("messages").select("id").execute()).map(({ id }) => id);
  assert.deepEqual(free.toSorted(), unleased.filter((id) => !ids[0]?.includes(id)).toSorted());
  const { rows } = await pool.query("select owner from due_messages where is_held = 1");
  assert.deepEqual(rows, [{ owner: "member_1" }]);
  const member = { id: "member_3", role: "all", url: null } as const;
  const leases = ["member_1", "member_2"].map((lease) => ({ lease, state: null }));
  const after = await first.beat({ member, leases, leaseMs: 30_000, deadAfterMs: 20_000 });
  assert.deepEqual(after.members.map(({ id }) => id).toSorted(), ["member_1", "member_3"]);
  assert.deepEqual(after.leases.map(({ lease, owner, epoch }) => `${lease} ${owner} ${epoch}`).toSorted(), [
    "member_1 member_1 1",
    "member_2 member_3 2",
  ]);
});

test("a message is moved out of a lane or leased in it, whichever store is first, but not both", async (t) => {
  const { stage, stores } = await open(t);
  const [first, second] = stores;
  const customer = await stage.addCustomer();
  const moved = stage.newId("inst");
  const outcomes = new Set<string>();
  for (let round = 0; round < 40; round += 1) {
    const record = await stage.addMessage(customer, { dueAt: NOW, to: to(round) });
    const { id, version, instanceId: lane, from } = record;
    const [{ claimed }, { result }] = await Promise.all([
      first.claimMessages(claimOf(lane, 9)),
      second.commit([
        { op: "requireUnleased", lane, from, to: record.to },
        { op: "update", table: "messages", id, version, set: { instanceId: moved } },
      ]),
    ]);
    assert.deepEqual([claimed.length, result], claimed.length === 0 ? [0, "ok"] : [1, "unmet"]);
    outcomes.add(result);
  }
  t.diagnostic([...outcomes].join(", "));
});

test("one store at most leases messages of a pair while messages become due in front of the pair's others", async (t) => {
  const { stage, stores } = await open(t, 6);
  const [first, ...others] = stores;
  const customer = await stage.addCustomer();
  const lane = stage.instanceId;
  // Claims take longer the more they read.
  for (let index = 0; index < 60; index += 1) await stage.addMessage(customer, { dueAt: NOW + 1, to: to(index) });
  for (let round = 1; round <= 40; round += 1) {
    await stage.addMessage(customer, { dueAt: NOW, to: to(9_999) });
    const record = stage.message(customer, { dueAt: NOW - round, to: to(9_999) });
    const [, ...claims] = await Promise.all([
      first.commit([{ op: "insert", table: "messages", record }]),
      ...others.map((store) => store.claimMessages(claimOf(lane, 1))),
    ]);
    const holders = claims.filter(({ claimed }) => claimed.length > 0);
    assert.equal(holders.length, 1);
    for (const [index, { claimed }] of claims.entries())
      await others[index]?.release(claimed.map(({ lease }) => lease));
  }
});

test("a message that is cancelled while it is claimed leaves no lease behind", async (t) => {
  const { stage, stores } = await open(t);
  const [first, second] = stores;
  const customer = await stage.addCustomer();
  for (let round = 0; round < 40; round += 1) {
    const message = await stage.addMessage(customer, { dueAt: NOW });
    const cancel = { status: "cancelled", dueAt: null } as const;
    const [, { result }] = await Promise.all([
      first.claimMessages(claimOf(message.instanceId, 9)),
      second.commit([{ op: "update", table: "messages", id: message.id, version: 1, set: cancel }]),
    ]);
    assert.equal(result, "ok");
    assert.deepEqual(await first.leasedPairs(stage.instanceId), []);
  }
});

/** A message of the property below. */
interface Entry {
  message: Message;
  lease: number | null;
}

type Step =
  | { do: "accept"; recipient: number; dueInMs: number; status: "queued" | "scheduled" | "pending" }
  | { do: "claim"; permits: number; runMax: number; paused: boolean; waiting: boolean }
  | { do: "attempt" | "conclude" | "release"; index: number };

const step: fc.Arbitrary<Step> = fc.oneof(
  {
    weight: 5,
    arbitrary: fc.record({
      do: fc.constant("accept" as const),
      recipient: fc.nat(4),
      dueInMs: fc.integer({ min: -9, max: 3 }),
      status: fc.constantFrom("queued" as const, "queued" as const, "scheduled" as const, "pending" as const),
    }),
  },
  {
    weight: 4,
    arbitrary: fc.record({
      do: fc.constant("claim" as const),
      permits: fc.integer({ min: 1, max: 8 }),
      runMax: fc.integer({ min: 1, max: 3 }),
      paused: fc.boolean(),
      waiting: fc.boolean(),
    }),
  },
  {
    weight: 4,
    arbitrary: fc.record({
      do: fc.constantFrom("attempt" as const, "conclude" as const, "release" as const),
      index: fc.nat(30),
    }),
  },
);

const isLookup = ({ message }: Entry) => message.status === "pending" && message.dueAt !== null;

/** The messages that a claim must lease, in the order of their lane, by a naive search of all. */
function wantedOf(
  entries: readonly Entry[],
  { permits, runMax, paused, waits }: { permits: number; runMax: number; paused: boolean; waits: string | null },
): Entry[] {
  const leased = entries.filter((entry) => entry.lease !== null && !isLookup(entry));
  const busy = new Set(leased.map(({ message }) => message.to));
  const due = entries
    .filter(({ message, lease }) => lease === null && message.dueAt !== null && message.dueAt <= NOW)
    .filter((entry) => isLookup(entry) || !busy.has(entry.message.to))
    .toSorted((a, b) => (a.message.dueAt ?? 0) - (b.message.dueAt ?? 0) || (a.message.id < b.message.id ? -1 : 1));
  const timers = due.filter(({ message }) => message.status !== "queued");
  const waitingTimers = paused ? [] : timers.filter(({ message }) => message.to === waits);
  const [first] = waitingTimers.filter((entry) => !isLookup(entry));
  const awaited = waitingTimers.filter((entry) => isLookup(entry) || entry === first);
  const others = paused ? timers : due.filter(({ message }) => message.to !== waits);
  const runs = new Map<string, number>();
  const inRuns = others.filter((entry) => {
    const { message } = entry;
    if (isLookup(entry)) return true;
    const place = (runs.get(message.to) ?? 0) + 1;
    runs.set(message.to, place);
    return place <= runMax;
  });
  return [...awaited, ...inRuns].slice(0, permits);
}

test("for any history of messages, a claim leases the same as a naive search of all of them", async (t) => {
  const { stage, stores, pool } = await open(t);
  const customer = await stage.addCustomer();
  await fc.assert(
    fc.asyncProperty(fc.array(step, { minLength: 20, maxLength: 80, size: "max" }), async (steps) => {
      await pool.query("truncate messages, due_messages");
      const entries: Entry[] = [];
      const update = async (entry: Entry, set: Partial<Message>) => {
        assert.equal(await stage.update("messages", entry.message, set), "ok");
        entry.message = { ...entry.message, ...set, version: entry.message.version + 1 };
      };
      for (const [number, one] of steps.entries()) {
        if (one.do === "accept") {
          const { status } = one;
          const message = stage.message(customer, { status, to: to(one.recipient), dueAt: NOW + one.dueInMs });
          await stage.ok([{ op: "insert", table: "messages", record: message }]);
          entries.push({ message, lease: null });
        } else if (one.do === "claim") {
          const { permits, runMax, paused } = one;
          const waits = one.waiting ? to(0) : null;
          const wanted = wantedOf(entries, { permits, runMax, paused, waits });
          const waiting = waits === null ? [] : [{ from: "+15550000001", to: waits, except: [] }];
          const lanes = [{ lane: stage.instanceId, permits, runMax, paused }];
          // Any store may claim.
          const store = stores[number % 2] as Store;
          const { claimed } = await store.claimMessages({ lanes, now: NOW, leaseMs: LEASE_MS, waiting });
          assert.deepEqual(idsOf(claimed).toSorted(), wanted.map(({ message }) => message.id).toSorted());
          assert.deepEqual(
            claimed.map(({ message }) => message.to),
            wanted.map(({ message }) => message.to),
          );
          for (const run of Map.groupBy(claimed, ({ message }) => pairOf(message)).values())
            assert.deepEqual(idsOf(run), idsOf(run).toSorted(), "a run is in the order of acceptance");
          for (const entry of wanted)
            entry.lease = claimed.find(({ message }) => message.id === entry.message.id)?.lease ?? null;
        } else {
          const entry = entries[one.index % Math.max(entries.length, 1)];
          if (entry === undefined || entry.lease === null) continue;
          if (one.do === "attempt") {
            await update(entry, { status: "pending", dueAt: null, claimedUntil: LEASE_END });
            continue;
          }
          if (one.do === "conclude") await update(entry, { status: "sent", dueAt: null, claimedUntil: null });
          else for (const store of stores) await store.release([entry.lease]);
          entry.lease = null;
        }
      }
    }),
    { numRuns: 12 },
  );
});
