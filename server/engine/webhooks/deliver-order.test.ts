/** The first attempts of one message's events begin in the order of the events, also while the loop claims others of their lane. */

import assert from "node:assert/strict";
import { test } from "node:test";
import { configure, deliverStage, OK } from "../../../test/support/deliver.ts";
import { until } from "../../../test/support/wait.ts";
import { emitEvent } from "../../../test/support/webhooks.ts";
import { retryByHand } from "../../core/delivery.ts";
import { makeEvent } from "../../core/event.ts";
import type { MessageId } from "../../core/id.ts";
import { StoreUnavailable } from "../../store/store.ts";

test("an event that went to the loop with its commit precedes the next one, which a claim finds on disk", async (t) => {
  const stage = await deliverStage(t);
  const { deps, customer, clock } = stage;
  await configure(stage);
  await emitEvent(stage);
  await stage.run();
  const delivery = await stage.delivery();
  const { id, lane, version } = delivery;
  const messageId: MessageId = deps.newId("msg");
  const eventOf = (sequence: number) => {
    const [createdAt, correlationId] = [clock.now(), "req_1"];
    const eventId = deps.newId("evt");
    const head = { id: eventId, customerId: customer.id, messageId, sequence, correlationId, createdAt } as const;
    return makeEvent({ ...head, type: "message.sent" }, { sequence });
  };
  const [first, second] = [eventOf(1), eventOf(2)];
  const emit = (event: typeof first) => deps.store.commit([{ op: "event", event, callbackUrl: null }]);
  const committed = await emit(first).then(() => {
    // An attempt by hand of another delivery lets the lane fall behind, so that the second event stays on disk.
    const set = retryByHand(delivery, clock.now());
    const retried = deps.store.commit([{ op: "update", table: "deliveries", id, version, set }]);
    const emitted = emit(second);
    stage.lanes.wake([lane]);
    return Promise.all([retried, emitted]);
  });
  assert.deepEqual(committed[1], { result: "ok", lanes: [lane] });
  await stage.run();
  const sent = stage.sent.map(({ body }) => (JSON.parse(String(body)) as { id: string }).id);
  assert.deepEqual(
    sent.filter((one) => one === first.id || one === second.id),
    [first.id, second.id],
  );
});

test("a delivery that is made after a reset, and that the loop drops with the deleted ones, does not wait for its lease", async (t) => {
  const stage = await deliverStage(t, { settings: { webhookConcurrency: 1 } });
  await configure(stage);
  stage.answers.push(null);
  await emitEvent(stage);
  await emitEvent(stage);
  await stage.run();
  assert.equal(stage.sent.length, 1, "the second one waits for a permit");
  await stage.lanes.drop(stage.customer.id);
  stage.sent[0]?.end(OK);
  await stage.run();
  assert.equal(stage.sent.length, 2);
});

test("a new delivery that reaches the loop late is attempted once, however long its receiver takes", async (t) => {
  const stage = await deliverStage(t);
  const { clock, deps } = stage;
  await configure(stage);
  await emitEvent(stage);
  await stage.run();
  await stage.lanes.stop();
  const { store } = deps;
  const hold = store.hold.bind(store);
  store.hold = (holder) => hold((changes) => void clock.after(12_000, () => holder(changes)));
  stage.lanes.start();
  await clock.advance(1_000);
  stage.answers.push(null);
  await emitEvent(stage);
  await clock.advance(12_000);
  assert.equal(stage.sent.length, 2);
  // 46 s after the commit, and 34 s after the request began.
  await clock.advance(34_000);
  await store.releaseLeases(clock.real(), clock.now());
  await stage.run();
  assert.equal(stage.sent.length, 2, "its lease lasts");
  stage.sent[1]?.end(OK);
  await stage.run();
  const statuses = (await stage.deliveries()).map(({ status }) => status);
  assert.deepEqual([statuses, stage.sent.length], [["succeeded", "succeeded"], 2]);
});

for (const [address, more] of [
  ["its endpoint", {}],
  ["its callbackUrl", { callbackUrl: "https://c.example.com/hooks" }],
] as const)
  test(`an event whose receiver cannot be read goes to ${address} before the next one, and does not wait for its lease`, async (t) => {
    const stage = await deliverStage(t);
    const { deps, clock, lanes, observed, sent } = stage;
    const { store } = deps;
    if (!("callbackUrl" in more)) await configure(stage);
    await emitEvent(stage, more);
    await stage.run();
    assert.equal(sent.length, 1);
    // The reply of a commit is lost with the connection: caches are dropped, and the next read fails too.
    lanes.changed([
      { table: "endpoints", id: null },
      { table: "customers", id: null },
    ]);
    const { db } = store;
    const setDb = (value: typeof db) => Object.defineProperty(store, "db", { value });
    let isAway = true;
    const away = (): never => {
      isAway = false;
      setDb(db);
      throw new StoreUnavailable("the database is away");
    };
    setDb(new Proxy(db, { get: away }));
    const messageId: MessageId = deps.newId("msg");
    const events: string[] = [];
    for (let sequence = 1; sequence <= 3; sequence += 1)
      events.push(await emitEvent(stage, { messageId, sequence, ...more }));
    await until(() => !isAway, { what: "a read of the receiver" });
    await clock.advance(1_500);
    const ids = sent.slice(1).map(({ body }) => (JSON.parse(String(body)) as { id: string }).id);
    assert.deepEqual(ids, events);
    assert.ok(observed.faults.length > 0);
    observed.faults.length = 0;
  });
