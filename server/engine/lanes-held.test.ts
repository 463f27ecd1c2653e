/** A lane whose peer asked it to wait: its work is in the store until then, loses nothing, and does not lag. */

import assert from "node:assert/strict";
import { type TestContext, test } from "node:test";
import { Queue } from "../../test/support/lane-queue.ts";

const HOLD_MS = 60_000;

/** A lane with four runs in flight, and a hold that begins now. */
async function heldQueue(t: TestContext, items = 100): Promise<Queue> {
  const queue = new Queue({ mayFreeOthers: () => false, prefetch: 128 });
  await queue.start(t);
  await queue.wake("busy", items);
  queue.lanes.hold("busy", queue.clock.now() + HOLD_MS);
  await queue.turn();
  return queue;
}

test("a lane begins and claims nothing until the end of its hold, and then goes on with all its permits", async (t) => {
  const queue = await heldQueue(t);
  const began = queue.began.length;
  assert.equal(queue.due.length, 100 - began, "what it had claimed is in the store");
  for (let count = 0; count < began; count += 1) await queue.finish("busy", "good");
  const claims = queue.claims.length;
  await queue.clock.advance(HOLD_MS - 1);
  assert.deepEqual([queue.began.length, queue.claims.length], [began, claims]);
  assert.equal(queue.lanes.lagMs(), 0, "what waits for its peer does not lag");
  await queue.clock.advance(1_000);
  assert.equal(queue.running.size, 2 * began, "each good run earned a permit");
  assert.ok(queue.lanes.lagMs() < 1_500, "and lags since the end of the hold at most");
});

test("the clock that drives retries ends a hold: a step of the sandbox's clock does", async (t) => {
  const queue = await heldQueue(t);
  const began = queue.began.length;
  for (let count = 0; count < began; count += 1) await queue.finish("busy", "bad");
  queue.clock.shift(HOLD_MS);
  await queue.clock.advance(1_000);
  assert.equal(queue.running.size, began);
});

test("items that are pushed during a hold go back to the store, and no other lane waits", async (t) => {
  const queue = await heldQueue(t);
  const due = queue.due.length;
  queue.lanes.push(queue.make("busy", 20));
  await queue.turn();
  assert.equal(queue.due.length, due + 20);
  await queue.wake("well", 4);
  assert.equal(queue.runningOf("well").length, 4);
});

test("items of a claim that was in progress when the hold began go back to the store", async (t) => {
  const queue = new Queue({ mayFreeOthers: () => false, prefetch: 128 });
  await queue.start(t);
  queue.add("busy", 100);
  queue.lanes.wake(["busy"]);
  queue.lanes.hold("busy", queue.clock.now() + HOLD_MS);
  await queue.turn();
  assert.deepEqual([queue.began.length, queue.due.length], [0, 100]);
});

test("the longer of two holds counts, and a changed peer ends it", async (t) => {
  const queue = await heldQueue(t);
  queue.lanes.hold("busy", queue.clock.now() + 1_000);
  const began = queue.began.length;
  for (let count = 0; count < began; count += 1) await queue.finish("busy", "bad");
  await queue.clock.advance(HOLD_MS / 2);
  assert.equal(queue.running.size, 0);
  queue.lanes.peerChanged("busy");
  await queue.turn();
  assert.equal(queue.running.size, began);
});
