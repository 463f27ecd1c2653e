/** A lane whose peer cannot be reached: its work waits in the store, and one item a second probes the peer. */

import assert from "node:assert/strict";
import { type TestContext, test } from "node:test";
import { Queue } from "../../test/support/lane-queue.ts";

/** A lane with items that all fail without a connection, after the attempts that open its breaker. */
async function unreachedQueue(t: TestContext, items: number): Promise<Queue> {
  const queue = new Queue({ mayFreeOthers: () => false, prefetch: 128, permitsPerLane: () => 16 });
  queue.ending = () => "unreached";
  await queue.start(t);
  await queue.wake("dead", items);
  return queue;
}

test("after ten attempts without a connection a lane tries its oldest item once a second, and claims nothing else", async (t) => {
  const queue = await unreachedQueue(t, 5_000);
  const first = queue.began.length;
  assert.ok(first >= 10 && first <= 10 + 4, `${first} attempts before its breaker opened`);
  assert.equal(queue.due.length, 5_000 - first, "the others are not claimed");
  const claims = queue.claims.length;
  await queue.clock.advance(60_000);
  assert.equal(queue.began.length, first + 60);
  assert.equal(queue.claims.length, claims + 60);
  assert.ok(queue.claims.slice(claims).every(([only]) => only?.permits === 1));
  assert.deepEqual(
    queue.began.slice(first),
    queue.began.slice(first).toSorted((a, b) => a - b),
    "the oldest first",
  );
  assert.equal(queue.due.length, 5_000 - first - 60);
  assert.equal(queue.lanes.lagMs(), 0, "what waits for a peer does not lag");
});

test("items that are pushed to a lane whose peer is not reached go back to the store", async (t) => {
  const queue = await unreachedQueue(t, 100);
  const [began, due] = [queue.began.length, queue.due.length];
  queue.lanes.push(queue.make("dead", 20));
  await queue.turn();
  assert.deepEqual([queue.began.length, queue.due.length], [began, due + 20]);
});

test("a lane whose peer is not reached delays no other lane", async (t) => {
  const queue = await unreachedQueue(t, 100);
  queue.ending = ({ lane }) => (lane === "dead" ? "unreached" : "good");
  await queue.wake("well", 50);
  assert.equal(queue.due.filter(({ lane }) => lane === "well").length, 0);
});

test("once its peer is reached, each connection doubles the items of a lane in flight, up to what it had earned", async (t) => {
  const queue = await unreachedQueue(t, 500);
  queue.ending = () => null;
  await queue.clock.advance(1_000);
  const running: number[] = [];
  for (let round = 0; round < 6; round += 1) {
    running.push(queue.running.size);
    await queue.finish("dead", "bad");
  }
  assert.deepEqual(running, [1, 2, 4, 4, 4, 4]);
  for (let round = 0; round < 20; round += 1) await queue.finish("dead", "good");
  assert.equal(queue.running.size, 16, "and then earns as before");
});

test("a peer that accepts no connection within its time is probed alike, with one permit until a run succeeds", async (t) => {
  const queue = await unreachedQueue(t, 100);
  queue.ending = () => "dark";
  await queue.clock.advance(10_000);
  queue.ending = () => null;
  await queue.clock.advance(1_000);
  for (let round = 0; round < 5; round += 1) await queue.finish("dead", "bad");
  assert.equal(queue.running.size, 1);
});

test("a lane whose peer changed is tried at once, with up to ten attempts again", async (t) => {
  const queue = await unreachedQueue(t, 100);
  queue.lanes.peerChanged("dead");
  const before = queue.began.length;
  await queue.turn();
  const tried = queue.began.length - before;
  assert.ok(tried >= 10 && tried <= 14, `${tried} attempts`);
});

test("a stop while a peer is not reached leaves no timer and no lease behind", async () => {
  const queue = new Queue({ mayFreeOthers: () => false, prefetch: 128 });
  queue.ending = () => "unreached";
  await queue.start();
  await queue.wake("dead", 100);
  const began = queue.began.length;
  await queue.lanes.stop();
  await queue.clock.advance(10_000);
  assert.deepEqual([queue.began.length, queue.due.length, queue.clock.pending], [began, 100 - began, 0]);
});
