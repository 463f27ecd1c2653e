/** Lag: the age of work that waits for this process, and not for a peer, a pause, or an account that is down. */

import assert from "node:assert/strict";
import { test } from "node:test";
import { Queue } from "../../test/support/lane-queue.ts";

test("work behind runs that do not wait for a peer lags since it was due, until it begins", async (t) => {
  const queue = new Queue();
  await queue.start(t);
  assert.equal(queue.lanes.lagMs(), 0);
  await queue.wake("a", 5);
  await queue.clock.advance(150);
  assert.equal(queue.lanes.lagMs(), 150);
  await queue.finish("a", "good");
  assert.equal(queue.lanes.lagMs(), 0);
  assert.equal(queue.lanes.ended, 1);
});

test("work behind a slow peer does not lag, nor does work behind a peer that hangs from the first run on", async (t) => {
  const queue = new Queue();
  queue.asksPeer = () => true;
  await queue.start(t);
  await queue.wake("slow", 50);
  await queue.clock.advance(5_000);
  assert.equal(queue.lanes.lagMs(), 0, "nothing has ended yet");
  for (let round = 0; round < 10; round += 1) {
    await queue.finish("slow", "bad");
    await queue.clock.advance(300);
    assert.equal(queue.lanes.lagMs(), 0);
  }
  queue.asksPeer = () => false;
  await queue.wake("own", 5);
  await queue.clock.advance(200);
  assert.equal(queue.lanes.lagMs(), 200, "the work of another lane does");
});

test("a peer that is no slower than a few turns of a busy event loop is not what its lane waits for", async (t) => {
  const queue = new Queue();
  queue.asksPeer = () => true;
  queue.clock.busyMs = 50;
  queue.dueAt = queue.clock.now();
  await queue.start(t);
  await queue.wake("fast", 50);
  for (let round = 0; round < 4; round += 1) {
    await queue.clock.advance(100);
    for (const _ of queue.runningOf("fast")) await queue.finish("fast", "bad");
  }
  assert.equal(queue.lanes.lagMs(), 400);
  queue.clock.busyMs = 1;
  assert.equal(queue.lanes.lagMs(), 0, "the same peer keeps an idle process waiting");
  queue.clock.busyMs = 50;
  await queue.clock.advance(60);
  assert.equal(queue.lanes.lagMs(), 60, "and what waited for the peer lags from then on");
});

test("the work of an account that is down, of a paused lane and of a paused loop does not lag, and starts anew afterwards", async (t) => {
  const queue = new Queue();
  await queue.start(t);
  await queue.wake("a", 5);
  queue.takesMore = () => false;
  queue.lanes.wake(["a"]);
  await queue.clock.advance(1_150);
  assert.equal(queue.lanes.lagMs(), 0);
  await queue.clock.advance(190);
  queue.takesMore = () => true;
  queue.lanes.wake(["a"]);
  await queue.clock.advance(70);
  assert.equal(queue.lanes.lagMs(), 70, "counted from the instant at which it was up");
  for (let left = 4; left > 0; left -= 1) await queue.finish("a", "noPort");
  await queue.clock.advance(990);
  assert.equal(queue.lanes.lagMs(), 0, "its lane is paused");
  queue.ending = () => null;
  await queue.wake("a", 20);
  await queue.clock.advance(10 + 130);
  assert.equal(queue.lanes.lagMs(), 130, "counted from the end of the pause");
  await queue.wake("b", 5);
  await queue.finish("b", "local");
  await queue.clock.advance(400);
  assert.equal(queue.lanes.lagMs(), 0, "all lanes are paused");
});

test("work that the sandbox's clock made due long ago lags only since the loop knows of it", async (t) => {
  const queue = new Queue();
  await queue.start(t);
  queue.dueAt = queue.clock.now();
  queue.clock.shift(86_400_000);
  await queue.wake("a", 40);
  await queue.clock.advance(120);
  assert.equal(queue.lanes.lagMs(), 120);
  await queue.finish("a", "good");
  await queue.clock.advance(30);
  assert.equal(queue.lanes.lagMs(), 150);
});

test("work of an owner whose permits slow peers have does not lag, although its own peer is fast", async (t) => {
  const queue = new Queue({ permitsMax: 10, shareOfFree: 4 });
  queue.asksPeer = ({ lane }) => lane !== "a/fast";
  await queue.start(t);
  await queue.wake("a/fast", 1);
  await queue.wake("a/slow", 4);
  await queue.wake("a/slower", 4);
  assert.equal(queue.running.size, 8);
  await queue.wake("a/fast", 3);
  await queue.clock.advance(1_000);
  assert.deepEqual(queue.runningOf("a/fast"), [1]);
  assert.equal(queue.lanes.lagMs(), 0);
  queue.asksPeer = () => false;
  for (const lane of ["a/slow", "a/slower"]) for (const _ of queue.runningOf(lane)) await queue.finish(lane, "bad");
  await queue.wake("b/1", 4);
  await queue.wake("b/2", 40);
  await queue.clock.advance(300);
  assert.ok(queue.lanes.lagMs() >= 300, "work behind runs that wait for this process lags");
});

test("work that waits while all permits are used lags unless half of all runs wait for their peers", async (t) => {
  const queue = new Queue({ permitsMax: 6 });
  queue.asksPeer = ({ lane }) => lane === "slow";
  await queue.start(t);
  await queue.wake("slow", 3);
  await queue.wake("own", 3);
  await queue.wake("late", 1);
  await queue.clock.advance(500);
  assert.equal(queue.lanes.lagMs(), 0);
  await queue.finish("slow", "bad");
  await queue.wake("other", 1);
  await queue.clock.advance(150);
  assert.deepEqual([queue.runningOf("slow").length, queue.running.size], [2, 6]);
  assert.equal(queue.lanes.lagMs(), 150);
});

test("work that waits for a look lags after 5 s, whether the look hangs or fails, until a look succeeds", async (t) => {
  let answer: (lanes: string[]) => void = () => {};
  let isDark = false;
  let failing: Error | null = null;
  const queue = new Queue({
    dueLanes: async () => {
      if (failing !== null) throw failing;
      return isDark
        ? new Promise<string[]>((resolve) => {
            answer = resolve;
          })
        : [];
    },
  });
  await queue.start(t);
  await queue.clock.advance(60_000);
  assert.equal(queue.lanes.lagMs(), 0, "an idle loop does not lag");
  isDark = true;
  await queue.clock.advance(5_000 - 200);
  assert.equal(queue.lanes.lagMs(), 0);
  await queue.clock.advance(400);
  assert.ok(queue.lanes.lagMs() >= 5_000);
  const lagMs = queue.lanes.lagMs();
  await queue.clock.advance(4_000);
  assert.equal(queue.lanes.lagMs(), lagMs + 4_000);
  isDark = false;
  answer([]);
  await queue.clock.advance(2_200);
  assert.equal(queue.lanes.lagMs(), 0);
  failing = new Error("the database cannot be reached");
  await queue.clock.advance(6_000);
  assert.ok(queue.lanes.lagMs() >= 5_000);
  failing = null;
  await queue.clock.advance(500);
  assert.equal(queue.lanes.lagMs(), 0);
});
