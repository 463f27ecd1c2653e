/** Deliveries in hand meet a stop, a death of the process, and changes from outside, with an attempt out or before it. */

import assert from "node:assert/strict";
import { describe, type TestContext, test } from "node:test";
import { BROKEN, configure, type DeliverStage, deliverStage, OK, unanswered } from "../../../test/support/deliver.ts";
import { emitEvent } from "../../../test/support/webhooks.ts";
import { retryByHand } from "../../core/delivery.ts";
import type { PostResult } from "../../outgoing/post.ts";
import { StoreUnavailable } from "../../store/store.ts";

/** The pause of a lane after an attempt that could not be made, in milliseconds. */
const UNTRIED_PAUSE_MS = 1_000;

/** A stage with one delivery, which was tried with the first of these answers; null leaves the answer to the test. */
async function tried(t: TestContext, ...answers: (PostResult | null)[]): Promise<DeliverStage> {
  const stage = await deliverStage(t);
  stage.answers.push(...answers);
  await configure(stage);
  await emitEvent(stage);
  await stage.run();
  return stage;
}

describe("a process that stops or dies", () => {
  test("releases an interrupted attempt uncounted, which is due as before", async (t) => {
    const stage = await tried(t, BROKEN, unanswered("STOPPED"));
    const before = await stage.delivery();
    await stage.lanes.stop();
    stage.clock.shift(30_000);
    const dueAt = stage.clock.now();
    stage.lanes.start();
    await stage.run();
    await stage.clock.advance(UNTRIED_PAUSE_MS);
    await stage.run();
    const [, second, third] = stage.sent;
    assert.ok(second !== undefined && third !== undefined, "it is tried again if the service goes on");
    const after = await stage.delivery();
    assert.deepEqual([before.retryCount, after.retryCount, after.attemptCount], [1, 1, 2]);
    assert.equal(third.at, dueAt + UNTRIED_PAUSE_MS);
    assert.equal((await stage.attempts()).length, 2);
  });

  test("leaves its deliveries due, and the next process repeats the attempt without a response, uncounted", async (t) => {
    const stage = await tried(t, null);
    stage.next().start();
    await stage.run();
    assert.equal(stage.sent.length, 2);
    const delivery = await stage.delivery();
    assert.deepEqual([delivery.status, delivery.attemptCount], ["succeeded", 1]);
  });

  test("two processes that have one delivery in hand record what both of them posted", async (t) => {
    const stage = await tried(t, null, null);
    await stage.clock.advance(1_000);
    stage.next().start();
    await stage.run();
    assert.equal(stage.sent.length, 2);
    stage.sent[1]?.end(OK);
    await stage.run();
    assert.deepEqual([(await stage.delivery()).status, (await stage.attempts()).length], ["succeeded", 1]);
    stage.sent[0]?.end(BROKEN);
    await stage.run();
    assert.deepEqual([(await stage.delivery()).status, (await stage.attempts()).length], ["succeeded", 2]);
    assert.equal(stage.sent.length, 2);
  });
});

test("an end of an attempt counts once although the reply to it is lost and it is written again", async (t) => {
  const stage = await deliverStage(t);
  stage.answers.push(BROKEN);
  await configure(stage);
  const { store } = stage.deps;
  const finish = store.finishDeliveries.bind(store);
  let isLost = true;
  store.finishDeliveries = async (outcomes) => {
    const results = await finish(outcomes);
    if (!isLost) return results;
    isLost = false;
    throw new StoreUnavailable("the reply is lost");
  };
  await emitEvent(stage);
  await stage.run();
  await stage.clock.advance(2_000);
  assert.equal(isLost, false);
  const delivery = await stage.delivery();
  assert.deepEqual([delivery.attemptCount, delivery.retryCount, delivery.attempts.length], [1, 1, 1]);
  assert.equal(stage.sent.length, 1);
  await stage.pass(40_000);
  assert.deepEqual([stage.sent.length, (await stage.delivery()).status], [2, "succeeded"]);
});

test("a retry by hand of another process during an attempt follows the attempt, which is recorded", async (t) => {
  const stage = await tried(t, null);
  const { id, version } = await stage.delivery();
  const set = retryByHand(await stage.delivery(), stage.clock.now());
  await stage.deps.store.commit([{ op: "update", table: "deliveries", id, version, set }]);
  await stage.run();
  assert.equal(stage.sent.length, 1, "it is in hand");
  stage.sent[0]?.end(BROKEN);
  await stage.run();
  const { status, attempts, retryCount } = await stage.delivery();
  assert.deepEqual([status, attempts.length, retryCount, stage.sent.length], ["succeeded", 2, 1, 2]);
});

test("a delivery that is cancelled while its attempt is out keeps the attempt, and a success makes it succeeded", async (t) => {
  for (const [answer, status] of [
    [BROKEN, "cancelled"],
    [OK, "succeeded"],
  ] as const) {
    const stage = await tried(t, null);
    const { id, version } = await stage.delivery();
    const set = { status: "cancelled", dueAt: null } as const;
    await stage.deps.store.commit([{ op: "update", table: "deliveries", id, version, set }]);
    stage.sent[0]?.end(answer);
    await stage.run();
    const ended = await stage.delivery();
    assert.deepEqual([ended.status, ended.attempts.length, ended.dueAt], [status, 1, null]);
    assert.equal(stage.sent.length, 1);
  }
});

test("a delivery that is cancelled before its attempt begins is not posted", async (t) => {
  const stage = await deliverStage(t, { settings: { webhookConcurrency: 1 } });
  stage.answers.push(null);
  await configure(stage);
  await emitEvent(stage);
  await emitEvent(stage);
  await stage.run();
  assert.equal(stage.sent.length, 1);
  const waiting = (await stage.deliveries()).find(({ eventId }) => !stage.sent[0]?.body.includes(eventId));
  assert.ok(waiting !== undefined);
  const set = { status: "cancelled", dueAt: null } as const;
  await stage.deps.store.commit([{ op: "update", table: "deliveries", id: waiting.id, version: 1, set }]);
  await stage.deps.store.arrived();
  stage.sent[0]?.end(OK);
  await stage.run();
  assert.equal(stage.sent.length, 1);
});
