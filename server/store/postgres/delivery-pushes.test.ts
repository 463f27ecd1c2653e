/** Tests of the pushes of PostgreSQL's queue of deliveries: a new delivery never passes what another process has put into its lane. */

import assert from "node:assert/strict";
import { test } from "node:test";
import { success } from "../../../test/conformance/store-outcomes.ts";
import { DueStage, NOW, Stage } from "../../../test/conformance/store-stage.ts";
import { FRONT } from "../../../test/support/due.ts";
import { preparedPostgresForFile } from "../../../test/support/service-database.ts";
import { until } from "../../../test/support/wait.ts";
import type { Delivery } from "../../core/delivery.ts";
import type { Event } from "../../core/event.ts";
import type { DueDelivery } from "../due-deliveries.ts";
import { DeliveryQueue } from "./delivery-queue.ts";
import { createPool } from "./pool.ts";
import type { Sql } from "./sql.ts";
import { openPostgres } from "./store.ts";

const postgres = preparedPostgresForFile();

const eventsOf = (due: readonly DueDelivery[]) => due.map(({ delivery }) => delivery.eventId);

test("the owner of a lane has each delivery once and in order, while three processes commit events of it", async (t) => {
  const { url, drop } = await postgres.create();
  const stores = await Promise.all([1, 2, 3].map((number) => openPostgres(url, `member ${number}`)));
  t.after(async () => {
    for (const store of stores) await store.close();
    await drop();
  });
  const [own = assert.fail()] = stores;
  const stage = new Stage(own);
  const customer = await stage.addCustomer();
  const { id: lane } = await stage.addEndpoint(customer);
  const due = new DueStage(own);
  const events = Array.from({ length: 600 }, () => stage.event(customer));
  const taken: DueDelivery[] = [];
  let pushed = 0;
  let attempts = 0;
  const attempt = async () => {
    attempts += 1;
    pushed += due.pushed.length;
    const { items } = await due.claim([{ lane, permits: 16 }]);
    taken.push(...items);
    for (const { result } of await due.finish(items.map((item) => success(item)))) assert.equal(result, "ok");
  };
  let isOver = false;
  const last = events.findLastIndex((_, place) => place % 3 === 0);
  const commits = stores.map(async (store, index) => {
    for (const [place, event] of events.entries())
      if (place % 3 === index && place !== last) await store.commit([{ op: "event", event, callbackUrl: null }]);
  });
  /** The owner's last event finds the lane read to its end. */
  const commitLast = async () => {
    await Promise.all(commits);
    await until(() => taken.length === events.length - 1);
    const before = attempts;
    // The attempt after the next one has begun: the next one has read the lane.
    await until(() => attempts > before + 2);
    await own.commit([{ op: "event", event: events[last] ?? assert.fail(), callbackUrl: null }]);
  };
  const reading = (async () => {
    while (!isOver || taken.length < events.length) await attempt();
  })();
  await commitLast();
  isOver = true;
  await reading;
  due.end();
  assert.equal(new Set(eventsOf(taken)).size, events.length);
  assert.equal(taken.length, events.length, "none is in hand twice");
  assert.ok(pushed > 0 && pushed < events.length, `${pushed} were pushed with their commit`);
  // Events of one process are one after the other.
  const places = new Map(events.map(({ id }, place) => [id as string, place]));
  for (const index of [0, 1, 2]) {
    const own = eventsOf(taken)
      .map((id) => places.get(id) ?? -1)
      .filter((place) => place % 3 === index);
    assert.deepEqual(
      own,
      own.toSorted((one, other) => one - other),
      `an event of process ${index} overtook others`,
    );
  }
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
  assert.deepEqual(eventsOf(stage.due.pushed), [first.event.id]);
  assert.deepEqual(eventsOf(await stage.holdDeliveries(endpoint.id, 9)), [first.event.id, event.id, last.event.id]);
  assert.deepEqual((await stage.addEvent(customer)).lanes, [], "the lane has caught up");
});

test("a lane that was not seen for long has its new deliveries read, and not pushed", async () => {
  const queue = new DeliveryQueue("one");
  queue.hold(true);
  const sql = {
    values: async (_: string, [wanted]: [string]) =>
      JSON.parse(wanted).map(({ n }: { n: number }) => [n, null, null, null, "1:9:", false]),
  } as unknown as Sql;
  const read = (from: number, count: number) => {
    const lanes = Array.from({ length: count }, (_, index) => ({
      lane: `lane ${from + index}`,
      after: FRONT,
      limit: 1,
    }));
    return queue.read(sql, { lanes, now: 1, bytesMax: 1 });
  };
  for (let from = 0; from < 32_768; from += 4_096) await read(from, 4_096);
  const delivery = { lane: "lane 5", createdAt: 5, id: "dlv_1" } as unknown as Delivery;
  const push = () => {
    const kept = new Set<string>();
    queue.add(delivery, [], { bytes: "{}", correlationId: "cor_1" } as Event, kept);
    queue.apply();
    return [queue.takePushed().map(([kind]) => kind), [...kept]];
  };
  /** How many lanes a look asks for. */
  const look = async () => {
    let asked = 0;
    const values = async (_: string, [lanes]: [string]) => {
      asked = JSON.parse(lanes).length;
      return [["lane 5", 0, "1:9:"]];
    };
    await queue.look({ values } as unknown as Sql, ["lane 5"]);
    return asked;
  };
  assert.deepEqual([await look(), push()], [1, [["new"], []]]);
  queue.credit({ arrived: 1, bytes: 2, behind: ["lane 7"] });
  await read(32_768, 1);
  assert.deepEqual([await look(), push()], [0, [["due"], ["lane 5"]]]);
});

test("a new delivery is not pushed while one of another process, whose clock is ahead, is about to be due", async (t) => {
  const { url, drop } = await postgres.create();
  const [api, worker] = [await openPostgres(url, "api"), await openPostgres(url, "worker")];
  t.after(async () => {
    for (const store of [api, worker]) await store.close();
    await drop();
  });
  const stage = new Stage(worker);
  const customer = await stage.addCustomer();
  const { id: lane } = await stage.addEndpoint(customer);
  await stage.claimDeliveries(lane, 1);
  const ahead = stage.event(customer, { createdAt: NOW + 8 });
  await api.commit([{ op: "event", event: ahead, callbackUrl: null }]);
  assert.deepEqual(await stage.claimDeliveries(lane, 5, NOW + 3), []);
  const own = await stage.addEvent(customer, { createdAt: NOW + 20 });
  assert.deepEqual(own.lanes, [lane]);
  const found = await stage.claimDeliveries(lane, 5, NOW + 20);
  assert.deepEqual(
    found.map(({ eventId }) => eventId),
    [ahead.id, own.event.id],
  );
});

test("the first new delivery of a lane after its owner has changed is not pushed to the former one", async (t) => {
  const { url, drop } = await postgres.create();
  const store = await openPostgres(url, "worker");
  t.after(async () => {
    await store.close();
    await drop();
  });
  const stage = new Stage(store);
  const customer = await stage.addCustomer();
  const { id: lane } = await stage.addEndpoint(customer);
  await stage.claimDeliveries(lane, 1);
  assert.deepEqual((await stage.addEvent(customer)).lanes, []);
  stage.due.queue.forget();
  await store.arrived();
  assert.deepEqual((await stage.addEvent(customer)).lanes, [lane], "its owner is woken");
});

test("a lane that was read in quarantine has its new deliveries read too", async (t) => {
  const { url, drop } = await postgres.create();
  const store = await openPostgres(url, "worker");
  const pool = createPool(url, 1);
  t.after(async () => {
    await Promise.all([store.close(), pool.end()]);
    await drop();
  });
  const stage = new Stage(store);
  const customer = await stage.addCustomer();
  const { id: lane } = await stage.addEndpoint(customer);
  await stage.claimDeliveries(lane, 1);
  const first = await stage.addEvent(customer);
  await store.arrived();
  stage.due.giveUp(stage.due.pushed.splice(0));
  await pool.query(
    `insert into quarantined ("table", id, since, parked, reason) values ('endpoints', $1, 0, 0, 'it is broken')`,
    [lane],
  );
  assert.deepEqual(await stage.claimDeliveries(lane, 5), []);
  assert.deepEqual(stage.due.pushed, []);
  await pool.query("delete from quarantined");
  const next = await stage.addEvent(customer);
  assert.deepEqual(next.lanes, [lane]);
  const found = await stage.claimDeliveries(lane, 5);
  assert.deepEqual(
    found.map(({ eventId }) => eventId),
    [first.event.id, next.event.id],
  );
});
