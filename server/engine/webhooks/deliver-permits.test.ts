/** How many attempts an endpoint has at once, and what becomes of those that this machine could not make. */

import assert from "node:assert/strict";
import { test } from "node:test";
import {
  answered,
  BROKEN,
  configure,
  type DeliverStage,
  deliverStage,
  OK,
  unanswered,
} from "../../../test/support/deliver.ts";
import { STAYS } from "../../../test/support/stays.ts";
import { emitEvent, URL_A } from "../../../test/support/webhooks.ts";
import { setWebhook, updateWebhook } from "./configure.ts";

/** Makes so many events, of no message. */
async function emitMany(stage: DeliverStage, count: number): Promise<void> {
  for (let index = 0; index < count; index += 1) await emitEvent(stage);
  await stage.run();
}

/** Ends sendings one after the other until there are no more; answers the most that were open at once. */
async function answerAll(stage: DeliverStage, posted = OK): Promise<number> {
  let most = 0;
  for (let ended = 0; ended < stage.sent.length; ended += 1) {
    most = Math.max(most, stage.sent.length - ended);
    stage.sent[ended]?.end(posted);
    await stage.run();
  }
  return most;
}

test("an endpoint never has more attempts in flight than its maxInFlight, not even at the start", async (t) => {
  for (const maxInFlight of [1, 2, 7]) {
    const stage = await deliverStage(t);
    stage.answer = () => null;
    await setWebhook(stage.deps, stage.customer.id, { url: URL_A, events: ["*"], maxInFlight });
    await emitMany(stage, 30);
    assert.equal(await answerAll(stage), maxInFlight);
    assert.equal(stage.sent.length, 30);
  }
});

test("a changed maxInFlight applies from the next attempt on", async (t) => {
  const stage = await deliverStage(t);
  stage.answer = () => null;
  const { endpoint } = await setWebhook(stage.deps, stage.customer.id, { url: URL_A, events: ["*"] });
  await emitMany(stage, 4);
  await answerAll(stage);
  await updateWebhook(stage.deps, stage.customer.id, endpoint.id, { maxInFlight: 2 }, STAYS);
  await emitMany(stage, 6);
  assert.equal(stage.sent.length, 4 + 2);
  await updateWebhook(stage.deps, stage.customer.id, endpoint.id, { maxInFlight: 100 }, STAYS);
  await emitMany(stage, 6);
  assert.equal(stage.sent.length, 4 + 8, "what it had earned");
});

test("endpoints without maxInFlight have the number of the settings", async (t) => {
  const stage = await deliverStage(t, { settings: { webhookConcurrency: 3 } });
  stage.answer = () => null;
  await configure(stage);
  await emitMany(stage, 20);
  assert.equal(await answerAll(stage), 3);
});

test("a receiver that responds with 200 after more than 5 s keeps its four permits, and earns no more", async (t) => {
  for (const [durationMs, most] of [
    [25_000, 4],
    [5_001, 4],
    [5_000, 20],
  ] as const) {
    const stage = await deliverStage(t);
    stage.answer = () => null;
    await configure(stage);
    await emitMany(stage, 40);
    const open = await answerAll(stage, answered(200, { durationMs }));
    assert.ok(most === 4 ? open === 4 : open >= most, `${open} at once of answers after ${durationMs} ms`);
  }
});

test("while responses cannot be recorded, an endpoint gets at most its permits and 128 webhooks", async (t) => {
  const stage = await deliverStage(t);
  await configure(stage);
  const { store } = stage.deps;
  const finish = store.finishDeliveries.bind(store);
  const { promise: isWritable, resolve: goOn } = Promise.withResolvers<void>();
  store.finishDeliveries = async (outcomes) => {
    await isWritable;
    return finish(outcomes);
  };
  await emitMany(stage, 400);
  const { length } = stage.sent;
  assert.ok(length > 128 && length <= 128 + 64, `${length} webhooks that a kill would send again`);
  goOn();
  await stage.run();
  assert.equal(stage.sent.length, 400);
  assert.ok((await stage.deliveries()).every(({ status }) => status === "succeeded"));
});

test("a webhook that could not be sent for lack of open files is not counted, and is sent once there are some", async (t) => {
  const stage = await deliverStage(t);
  await configure(stage);
  stage.answers.push(BROKEN);
  await emitEvent(stage);
  await stage.run();
  stage.answer = () => unanswered("OUT_OF_FILES");
  await stage.pass(30_000);
  const waiting = await stage.delivery();
  assert.deepEqual([waiting.attemptCount, waiting.retryCount, waiting.status], [1, 1, "pending"]);
  assert.equal(stage.sent.length, 2, "and the loop pauses");
  assert.deepEqual(stage.observed.outOf, ["OUT_OF_FILES"]);
  assert.equal((await stage.attempts()).length, 1);
  assert.deepEqual(stage.observed.attempts, ["failed"], "no failure is counted");
  stage.answer = () => OK;
  await stage.clock.advance(500);
  assert.equal((await stage.delivery()).status, "succeeded");
  // That is said once a pause.
  assert.equal(stage.observed.faults.splice(0).length, 1);
});

test("a webhook for whose address no port is left waits a second, uncounted, and pauses no other endpoint", async (t) => {
  const stage = await deliverStage(t);
  await configure(stage);
  stage.answers.push(unanswered("OUT_OF_PORTS"));
  await emitEvent(stage);
  await stage.run();
  const waiting = await stage.delivery();
  assert.deepEqual([waiting.attemptCount, waiting.status], [0, "pending"]);
  assert.deepEqual(stage.observed.outOf, ["OUT_OF_PORTS"]);
  await stage.clock.advance(999);
  assert.equal(stage.sent.length, 1);
  await stage.clock.advance(1);
  assert.equal((await stage.delivery()).status, "succeeded");
  assert.equal((await stage.attempts()).length, 1);
});
