/** Lag: the age of work that waits for this process, and not for a peer, a pause, or an account that is down. */

import assert from "node:assert/strict";
import { test } from "node:test";
import { Queue } from "../../test/support/lane-queue.ts";
import { LaneLag } from "./lane-lag.ts";

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
  queue.isUp = () => false;
  await queue.clock.advance(1_000);
  assert.equal(queue.lanes.lagMs(), 0);
  queue.isUp = () => true;
  await queue.clock.advance(70);
  assert.ok(queue.lanes.lagMs() <= 270, "counted from the last poll at which it was down");
  for (let left = 4; left > 0; left -= 1) await queue.finish("a", "noPort");
  await queue.clock.advance(500);
  assert.equal(queue.lanes.lagMs(), 0, "its lane is paused");
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

test("work behind a peer that hangs on most of the runs does not lag, although it responds to the others at once", () => {
  let now = 0;
  const lane = new LaneLag(() => now);
  const ask = () => {
    const times = lane.begin();
    times.asks();
    return times;
  };
  for (let hanging = 0; hanging < 15; hanging += 1) ask();
  for (let left = 1_000; left > 0; left -= 1) {
    const times = ask();
    now += 2;
    times.ended();
    assert.ok(lane.lagMs(0, now, 1) <= 5);
  }
});

test("a run that has released its permit counts no more, whatever it asks its peer then", () => {
  let now = 0;
  const lane = new LaneLag(() => now);
  const released = lane.begin();
  released.ended();
  released.asks();
  lane.begin();
  now += 200;
  assert.equal(lane.lagMs(0, now, 1), 200, "the other run waits for this process");
});
