/** The loop of a process that acquires lanes of deliveries, gives them up and loses them. */

import assert from "node:assert/strict";
import { test } from "node:test";
import { configure, deliverStage, OK } from "../../../test/support/deliver.ts";
import { emitEvent } from "../../../test/support/webhooks.ts";
import { shardOf } from "../../core/shard.ts";

test("a loop begins nothing of a lane that it does not own, and goes on from the front once it does", async (t) => {
  const stage = await deliverStage(t);
  await configure(stage);
  stage.ownsLane = () => false;
  const first = await emitEvent(stage);
  await stage.run();
  assert.equal(stage.sent.length, 0);
  stage.ownsLane = () => true;
  stage.lanes.lanesChanged();
  await stage.run();
  assert.equal(stage.sent.length, 1);
  assert.equal((await stage.delivery()).eventId, first);
});

test("deliveries that wait for a permit when their lane is lost are given up, and read again when it is back", async (t) => {
  const stage = await deliverStage(t, { settings: { webhookConcurrency: 1 } });
  await configure(stage);
  stage.answers.push(null);
  for (let count = 0; count < 3; count += 1) await emitEvent(stage);
  await stage.run();
  assert.equal(stage.sent.length, 1, "the others wait for the first one");
  stage.ownsLane = () => false;
  stage.lanes.lanesChanged();
  stage.sent[0]?.end(OK);
  await stage.run();
  assert.equal(stage.sent.length, 1);
  const recorded = (await stage.deliveries()).filter(({ attempts }) => attempts.length === 1);
  assert.equal(recorded.length, 1, "an attempt that was made is recorded by a former owner too");
  stage.ownsLane = () => true;
  stage.lanes.lanesChanged();
  await stage.run();
  assert.equal(stage.sent.length, 3, "each of the others once");
});

test("a lane that ends by its time is left although nobody tells", async (t) => {
  const stage = await deliverStage(t, { settings: { webhookConcurrency: 1 } });
  await configure(stage);
  stage.answers.push(null);
  for (let count = 0; count < 2; count += 1) await emitEvent(stage);
  await stage.run();
  stage.ownsLane = () => false;
  stage.sent[0]?.end(OK);
  await stage.run();
  assert.equal(stage.sent.length, 1);
});

test("a retry by hand is not tried by a process that does not own its lane", async (t) => {
  const stage = await deliverStage(t);
  await configure(stage);
  await emitEvent(stage);
  await stage.run();
  const { id, lane } = await stage.delivery();
  stage.ownsLane = () => false;
  stage.lanes.wake([lane], [id]);
  await stage.run();
  assert.equal(stage.sent.length, 1);
});

test("a new owner waits for the shard of an attempt until 5 s after the former one has given it up", async (t) => {
  const stage = await deliverStage(t);
  await configure(stage);
  stage.answers.push(null);
  await emitEvent(stage);
  await stage.run();
  const { lane } = await stage.delivery();
  await stage.clock.advance(20_000);
  stage.lanes.lanesChanged();
  await stage.clock.advance(4_999);
  assert.deepEqual(stage.lanes.shardsInUse(), new Set([shardOf(lane)]));
  await stage.clock.advance(1);
  assert.deepEqual(stage.lanes.shardsInUse(), new Set());
  stage.sent[0]?.end(OK);
  await stage.run();
});

test("a delivery whose receiver was read while its lane was lost and came back is read again before it is posted", async (t) => {
  const stage = await deliverStage(t);
  await configure(stage);
  await emitEvent(stage);
  let moves = 0;
  const claims: number[] = [];
  const { store } = stage.deps;
  const read = store.dueDeliveries.bind(store);
  store.dueDeliveries = async (asked) => {
    const answer = await read(asked);
    claims.push(answer.found.length);
    return answer;
  };
  stage.isCurrent = () => {
    // While the receiver is read.
    if (moves === 0) {
      moves += 1;
      queueMicrotask(() => stage.lanes.lanesChanged());
    }
    return false;
  };
  await stage.run();
  assert.equal(stage.sent.length, 1);
  assert.ok(claims.filter((found) => found > 0).length >= 1, "it was read again");
});
