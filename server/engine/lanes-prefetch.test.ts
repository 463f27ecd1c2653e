/** The loop over lanes claims ahead of its permits, and gives back what it does not run. */

import assert from "node:assert/strict";
import { test } from "node:test";
import { Queue } from "../../test/support/lane-queue.ts";

test("a lane prefetches items, again once half of them have begun, and only if the store may have more", async (t) => {
  const queue = new Queue({ mayFreeOthers: () => false, prefetch: 20, permitsPerLane: () => 4 });
  await queue.start(t);
  await queue.wake("a", 30);
  assert.deepEqual(queue.claims, [[{ lane: "a", permits: 20 }]]);
  for (let ends = 0; ends < 6; ends += 1) await queue.finish("a", "good");
  assert.equal(queue.claims.length, 1);
  await queue.finish("a", "good");
  assert.equal(queue.claims.length, 2);
  while (queue.running.size > 0) await queue.finish("a", "good");
  assert.deepEqual([queue.claims.length, queue.ended.length], [2, 30]);
});

test("items that are pushed during a claim of their lane precede the claimed ones", async (t) => {
  let answer: () => void = () => {};
  const queue = new Queue({
    mayFreeOthers: () => false,
    prefetch: 20,
    claim: async (wanted) => {
      const claimed = queue.claim(wanted);
      await new Promise<void>((resolve) => {
        answer = resolve;
      });
      return claimed;
    },
  });
  await queue.start(t);
  queue.due.push(...queue.make("a", 1, "message 1"));
  queue.lanes.wake(["a"]);
  queue.lanes.push(queue.make("a", 1, "message 1"));
  await queue.turn();
  assert.deepEqual(queue.began, [2]);
  answer();
  await queue.turn();
  assert.deepEqual(queue.began, [2]);
  await queue.finish("a", "good");
  assert.deepEqual(queue.began, [2, 1]);
});

test("items whose lease is about to expire are released with the items behind them, and claimed again", async (t) => {
  const queue = new Queue({ mayFreeOthers: () => false, prefetch: 20, permitsPerLane: () => 1 });
  await queue.start(t);
  await queue.wake("a", 3);
  queue.isStale = () => queue.claims.length === 1;
  await queue.finish("a", "good");
  assert.deepEqual([queue.claims.length, queue.runningOf("a")], [2, [2]]);
});

test("a stop releases items that have not begun, and items that are pushed later", async () => {
  const queue = new Queue({ mayFreeOthers: () => false, prefetch: 20, permitsPerLane: () => 1 });
  await queue.start();
  await queue.wake("a", 3);
  const stopped = queue.lanes.stop();
  queue.lanes.push(queue.make("a", 1));
  await queue.finish("a", "stopped");
  await stopped;
  assert.deepEqual(queue.due.map(({ id }) => id).toSorted(), [1, 2, 3, 4]);
  assert.equal(queue.began.length, 1);
});

test("dropped items do not run", async (t) => {
  const queue = new Queue({ mayFreeOthers: () => false, prefetch: 20, permitsPerLane: () => 1 });
  await queue.start(t);
  await queue.wake("a", 4);
  queue.lanes.drop(({ id }) => id === 2 || id === 3);
  await queue.finish("a", "good");
  assert.deepEqual(queue.began, [1, 4]);
});

test("a lane prefetches no more than it runs in a given time, and nothing before its first run has ended", async (t) => {
  const queue = new Queue({ prefetch: 64, prefetchMs: 100, permitsPerLane: () => 4 });
  await queue.start(t);
  await queue.wake("a", 4);
  await queue.wake("a", 200);
  assert.deepEqual(queue.claims, [[{ lane: "a", permits: 4 }]]);
  await queue.clock.advance(200);
  await queue.finish("a", "good");
  const own = () => queue.claims.flat().map(({ permits }) => permits);
  assert.equal(own().at(-1), 20, "200 ms count a tenth: 4 permits run 20 items in 100 ms");
  for (let runs = 0; runs < 60; runs += 1) {
    await queue.clock.advance(600);
    await queue.finish("a", "good");
  }
  assert.equal(own().at(-1), 1, "and none is prefetched while a run takes longer than 400 ms");
});

test("items that are given back are claimed again, and those that run are not", async (t) => {
  const queue = new Queue({ mayFreeOthers: () => false, prefetch: 20, permitsPerLane: () => 1 });
  await queue.start(t);
  await queue.wake("a", 3);
  queue.lanes.giveBack("a");
  queue.lanes.giveBack("b");
  assert.deepEqual([queue.runningOf("a"), queue.due.map(({ id }) => id)], [[1], [2, 3]]);
  await queue.finish("a", "good");
  assert.deepEqual(queue.began, [1, 2]);
});
