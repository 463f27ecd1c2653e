/** Items of one ordering key begin in their order, also while a claim, a push and a release of their lane cross. */

import assert from "node:assert/strict";
import { test } from "node:test";
import { Queue } from "../../test/support/lane-queue.ts";

test("items that are pushed during a claim of their lane follow the claimed ones", async (t) => {
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
  assert.deepEqual(queue.began, []);
  answer();
  await queue.turn();
  await queue.finish("a", "good");
  assert.deepEqual(queue.began, [1, 2]);
});

test("items that a claim in flight brings run after earlier ones that were released meanwhile", async (t) => {
  let answer: () => void = () => {};
  const queue = new Queue({
    mayFreeOthers: () => false,
    prefetch: 20,
    permitsPerLane: () => 1,
    claim: async (wanted) => {
      const claimed = queue.claim(wanted);
      await new Promise<void>((resolve) => {
        answer = resolve;
      });
      return claimed;
    },
  });
  await queue.start(t);
  queue.lanes.push(queue.make("a", 2, "message 1"));
  queue.due.push(...queue.make("a", 1, "message 1"));
  queue.lanes.wake(["a"]);
  await queue.turn();
  assert.equal(queue.claims.length, 1);
  queue.isStale = ({ id }) => id === 2 && queue.claims.length < 2;
  await queue.finish("a", "good");
  for (let claims = 0; claims < 3; claims += 1) {
    answer();
    await queue.turn();
  }
  while (queue.running.size > 0) await queue.finish("a", "good");
  assert.deepEqual(queue.began, [1, 2, 3]);
});

test("items that are pushed after earlier ones were released run after them", async (t) => {
  let answer: () => void = () => {};
  const queue = new Queue({
    mayFreeOthers: () => false,
    prefetch: 20,
    permitsPerLane: () => 1,
    release: (items) => {
      queue.due = [...queue.due, ...items].sort((a, b) => a.id - b.id);
    },
    claim: async (wanted) => {
      await new Promise<void>((resolve) => {
        answer = resolve;
      });
      return queue.claim(wanted.map((one) => ({ ...one, permits: 1 })));
    },
  });
  await queue.start(t);
  queue.lanes.push(queue.make("a", 3, "message 1"));
  await queue.turn();
  queue.isStale = ({ id }) => id === 2 && queue.due.length === 0;
  await queue.finish("a", "good");
  queue.lanes.push(queue.make("a", 1, "message 1"));
  for (let claims = 0; claims < 5; claims += 1) {
    answer();
    await queue.turn();
    if (queue.running.size > 0) await queue.finish("a", "good");
  }
  assert.deepEqual(queue.began, [1, 2, 3, 4]);
});
