/** The loop over lanes: every lane gets its turn, none more than its permits, and nothing is run twice or forgotten. */

import assert from "node:assert/strict";
import { type TestContext, test } from "node:test";
import fc from "fast-check";
import { SimulatedClock } from "../../test/support/clock.ts";
import { Queue } from "../../test/support/lane-queue.ts";

const RESULTS = ["good", "late", "bad", "slow", "local", "noPort", "throw"] as const;

test("a lane that hangs never delays another lane, however many items wait in it", async (t) => {
  const queue = new Queue();
  await queue.start(t);
  queue.ending = ({ lane }) => (lane === "hanging" ? null : "good");
  await queue.wake("hanging", 500);
  assert.equal(queue.running.size, 4);
  for (let round = 0; round < 5; round += 1) {
    await queue.wake("well", 100);
    await queue.turn();
    assert.equal(queue.due.filter(({ lane }) => lane === "well").length, 0);
  }
  assert.equal(queue.began.length, 504);
  assert.equal(queue.clock.real(), new SimulatedClock().real(), "not one timer was waited for");
});

test("a lane starts with 4 permits, earns one with each good run, and never exceeds its maximum", async (t) => {
  const queue = new Queue();
  await queue.start(t);
  await queue.wake("a", 200);
  assert.equal(queue.running.size, 4);
  for (let permits = 5; permits <= 16; permits += 1) {
    await queue.finish("a", "good");
    assert.equal(queue.running.size, permits);
    assert.equal(queue.inFlight, permits);
  }
  await queue.finish("a", "good");
  assert.equal(queue.running.size, 16);
});

test("a bad run neither earns nor costs a permit", async (t) => {
  const queue = new Queue();
  await queue.start(t);
  await queue.wake("a", 50);
  for (let count = 0; count < 10; count += 1) await queue.finish("a", "bad");
  assert.equal(queue.running.size, 4);
});

test("a lane that timed out gets one permit until it succeeds, also after it was idle", async (t) => {
  const queue = new Queue();
  await queue.start(t);
  await queue.wake("a", 4);
  for (const result of ["slow", "bad", "slow", "slow"] as const) await queue.finish("a", result);
  assert.equal(queue.running.size, 0);
  await queue.wake("a", 50);
  assert.equal(queue.running.size, 1);
  await queue.finish("a", "bad");
  assert.equal(queue.running.size, 1);
  await queue.wake("b", 50);
  assert.equal(queue.runningOf("b").length, 4, "another lane has all of its permits");
  await queue.finish("a", "good");
  assert.ok(queue.runningOf("a").length > 1);
});

test("all lanes together never exceed their limit, and are served in turn", async (t) => {
  const queue = new Queue({ permitsMax: 10 });
  await queue.start(t);
  for (let lane = 0; lane < 20; lane += 1) queue.add(`lane ${lane}`, 3);
  queue.lanes.wake(Array.from({ length: 20 }, (_, lane) => `lane ${lane}`));
  await queue.turn();
  while (queue.running.size > 0) {
    assert.equal(queue.running.size, Math.min(10, queue.running.size + queue.due.length));
    const [first] = queue.running.values();
    await queue.finish(first?.item.lane ?? "none", "good");
  }
  assert.equal(new Set(queue.began).size, 60);
});

test("a claim names at most 64 lanes, and a thousand lanes are all served without waiting", async (t) => {
  const queue = new Queue();
  await queue.start(t);
  queue.ending = () => "good";
  for (let lane = 0; lane < 1_000; lane += 1) queue.add(`lane ${lane}`, 2);
  queue.lanes.wake(new Set(queue.due.map(({ lane }) => lane)));
  for (let round = 0; round < 50 && queue.due.length > 0; round += 1) await queue.turn();
  assert.equal(queue.began.length, 2_000);
  assert.ok(queue.claims.every((claim) => claim.length <= 64));
  assert.ok(queue.claims.every((claim) => new Set(claim.map(({ lane }) => lane)).size === claim.length));
});

test("a due lane that was not woken is found within a fifth of a second", async (t) => {
  const queue = new Queue();
  await queue.start(t);
  queue.add("a", 1);
  await queue.turn();
  assert.equal(queue.running.size, 0);
  await queue.clock.advance(200);
  assert.equal(queue.running.size, 1);
});

test("items that are due at the start are found at once", async (t) => {
  const queue = new Queue();
  queue.add("a", 2);
  await queue.start(t);
  assert.equal(queue.running.size, 2);
});

/** Starts a loop whose looks take so long and then fail or succeed. Returns the pauses between them. */
async function pausesOf(t: TestContext, looks: readonly { tookMs: number; fails?: boolean }[]): Promise<number[]> {
  const pauses: number[] = [];
  let endedAt: number | null = null;
  const left = [...looks];
  const queue = new Queue({
    dueLanes: async () => {
      if (endedAt !== null) pauses.push(queue.clock.monotonic() - endedAt);
      const { tookMs = 0, fails = false } = left.shift() ?? {};
      await new Promise<void>((resolve) => queue.clock.after(tookMs, resolve));
      endedAt = queue.clock.monotonic();
      if (fails) throw new Error("the look failed");
      return [];
    },
  });
  await queue.start(t);
  await queue.clock.advanceUntil(() => pauses.length >= looks.length, 3_600_000);
  assert.equal(queue.faults.length, looks.filter(({ fails }) => fails).length);
  return pauses;
}

test("looks for due lanes take at most a twentieth of the time while they are fast, and a slow one is followed by another after 2 s", async (t) => {
  const tookMs = [1, 10, 30, 100, 300, 3_000, 9_000, 60_000];
  const pauses = await pausesOf(
    t,
    tookMs.map((one) => ({ tookMs: one })),
  );
  assert.deepEqual(pauses, [200, 200, 600, 2_000, 2_000, 2_000, 2_000, 2_000]);
});

test("a look that failed is followed by another after 500 ms, however long it took to fail", async (t) => {
  const looks = [0, 100, 3_000, 9_000].map((tookMs) => ({ tookMs, fails: true }));
  assert.deepEqual(await pausesOf(t, looks), [500, 500, 500, 500]);
});

test("a lane that is woken during its claim is claimed again", async (t) => {
  let waiting: (() => void) | null = null;
  const queue = new Queue({
    claim: async (wanted) => {
      const claimed = queue.claim(wanted);
      await new Promise<void>((resolve) => {
        waiting = resolve;
      });
      return claimed;
    },
  });
  const answer = async () => {
    (waiting as (() => void) | null)?.();
    await queue.turn();
  };
  await queue.start(t);
  await queue.wake("a", 1);
  await queue.wake("a", 1);
  assert.equal(queue.claims.length, 1, "one claim at a time");
  await answer();
  assert.equal(queue.claims.length, 2);
  await answer();
  assert.equal(queue.running.size, 2);
});

test("a failed claim is reported and retried after half a second, for every woken lane", async (t) => {
  const queue = new Queue();
  await queue.start(t);
  await queue.wake("a", 1);
  queue.failing = new Error("no room on the disk");
  await queue.wake("b", 3);
  assert.deepEqual(queue.faults, [queue.failing]);
  const tried = queue.claims.length;
  await queue.wake("c", 3);
  await queue.finish("a", "good");
  await queue.clock.advance(199);
  assert.equal(queue.claims.length, tried);
  queue.failing = null;
  await queue.clock.advance(300);
  assert.equal(queue.claims.length, tried);
  await queue.clock.advance(1);
  assert.deepEqual([queue.runningOf("b").length, queue.runningOf("c").length], [3, 3]);
});

test("a failed look is reported, and the next look follows", async (t) => {
  const queue = new Queue();
  queue.failing = new Error("the reader is gone");
  await queue.start(t);
  assert.deepEqual(queue.faults, [queue.failing]);
  queue.failing = null;
  queue.add("a", 1);
  await queue.clock.advance(500);
  assert.equal(queue.running.size, 1);
});

test("a run that throws is reported, and its permit is released", async (t) => {
  const queue = new Queue({ permitsPerLane: () => 1 });
  await queue.start(t);
  await queue.wake("a", 2);
  assert.deepEqual(queue.began, [1]);
  const bug = new Error("a bug");
  await queue.finish("a", bug);
  assert.deepEqual(queue.faults, [bug]);
  assert.deepEqual(queue.began, [1, 2]);
  assert.equal(queue.inFlight, 1);
});

test("a stop claims nothing more, and waits for items in flight", async () => {
  const queue = new Queue();
  await queue.start();
  await queue.wake("a", 6);
  let isStopped = false;
  const stopped = queue.lanes.stop().then(() => {
    isStopped = true;
  });
  for (let left = 4; left > 0; left -= 1) {
    assert.equal(isStopped, false);
    assert.equal(queue.running.size, left);
    await queue.finish("a", "good");
    queue.lanes.wake(["a"]);
  }
  await stopped;
  await queue.clock.advance(10_000);
  assert.deepEqual([queue.began.length, queue.due.length], [4, 2]);
  assert.equal(queue.clock.pending, 0, "no timer is left behind");
});

test("items that a claim returns after the stop began are released", async () => {
  let answer: () => void = () => {};
  const queue = new Queue({
    claim: async (wanted) => {
      await new Promise<void>((resolve) => {
        answer = resolve;
      });
      return queue.claim(wanted);
    },
  });
  await queue.start();
  await queue.wake("a", 9);
  const stopped = queue.lanes.stop();
  answer();
  await stopped;
  assert.deepEqual([queue.began.length, queue.due.length], [0, 9]);
});

test("a loop that pauses after a fault stops at once", async () => {
  const queue = new Queue();
  await queue.start();
  queue.failing = new Error("no room on the disk");
  await queue.wake("a", 1);
  await queue.lanes.stop();
  await queue.clock.advance(10_000);
  assert.equal(queue.began.length, 0);
  assert.equal(queue.clock.pending, 0);
});

test("any order of additions, failures and ends runs every item once, and no lane exceeds its permits", async () => {
  const lane = fc.constantFrom("a", "b", "c", "d");
  const action = fc.oneof(
    fc.record({ kind: fc.constant("add" as const), wakes: fc.boolean(), lane, count: fc.integer({ min: 1, max: 12 }) }),
    fc.record({
      kind: fc.constant("finish" as const),
      result: fc.constantFrom(...RESULTS),
    }),
    fc.record({ kind: fc.constant("push" as const), lane, count: fc.integer({ min: 1, max: 12 }), key: fc.boolean() }),
    fc.record({ kind: fc.constant("fail" as const), fails: fc.boolean() }),
    fc.record({ kind: fc.constant("pass" as const), ms: fc.constantFrom(0, 200, 600) }),
  );
  await fc.assert(
    fc.asyncProperty(
      fc.array(action, { maxLength: 60 }),
      fc.constantFrom(1, Number.POSITIVE_INFINITY),
      fc.constantFrom(0, 10),
      async (actions, shareOfFree, prefetch) => {
        const queue = new Queue({ permitsPerLane: () => 6, permitsMax: 15, shareOfFree, prefetch });
        await queue.start();
        let added = 0;
        for (const one of actions) {
          if (one.kind === "add") {
            added += one.count;
            if (one.wakes) await queue.wake(one.lane, one.count);
            else queue.add(one.lane, one.count);
          } else if (one.kind === "push") {
            added += one.count;
            queue.lanes.push(queue.make(one.lane, one.count, one.key ? one.lane : undefined));
            await queue.turn();
          } else if (one.kind === "fail") queue.failing = one.fails ? new Error("failing") : null;
          else if (one.kind === "pass") await queue.clock.advance(one.ms);
          else {
            const [first] = queue.running.values();
            const result = one.result === "throw" ? new Error("thrown") : one.result;
            if (first !== undefined) await queue.finish(first.item.lane, result);
          }
          assert.ok(queue.running.size <= 15);
          const keys = [...queue.running.values()].flatMap(({ item }) => item.key ?? []);
          assert.equal(new Set(keys).size, keys.length, "one item of each key runs at once");
          for (const name of ["a", "b", "c", "d"]) assert.ok(queue.runningOf(name).length <= 6);
        }
        queue.failing = null;
        queue.ending = () => "good";
        for (const { end } of queue.running.values()) end("good");
        await queue.clock.advance(2_000);
        assert.equal(queue.ended.length, added);
        assert.equal(new Set(queue.ended).size, added);
        assert.equal(queue.inFlight, 0);
        await queue.end();
      },
    ),
    { numRuns: 60 },
  );
});

test("pushed items begin at once within the permits, and the rest as permits become free, without a claim", async (t) => {
  const queue = new Queue({ mayFreeOthers: () => false, prefetch: 128 });
  await queue.start(t);
  queue.lanes.push(queue.make("a", 10));
  await queue.turn();
  assert.deepEqual(queue.runningOf("a"), [1, 2, 3, 4]);
  await queue.finish("a", "bad");
  assert.deepEqual(queue.runningOf("a"), [2, 3, 4, 5]);
  assert.equal(queue.claims.length, 0);
});

test("items with one ordering key run in sequence, and other items overtake them", async (t) => {
  const queue = new Queue({ mayFreeOthers: () => false, prefetch: 128 });
  await queue.start(t);
  queue.lanes.push([...queue.make("a", 3, "message 1"), ...queue.make("a", 1), ...queue.make("b", 1, "message 1")]);
  await queue.turn();
  assert.deepEqual([queue.runningOf("a"), queue.runningOf("b")], [[1, 4], [5]]);
  await queue.finish("a", "noPort");
  await queue.finish("a", "good");
  await queue.clock.advance(1_000);
  assert.deepEqual(queue.began, [1, 5, 4, 1], "the first one was not tried, so it goes again before the second");
  await queue.finish("a", "bad");
  assert.deepEqual(queue.runningOf("a"), [2]);
});

test("an item that could not be tried since the poster had closed is not tried again at once", async (t) => {
  const queue = new Queue({ mayFreeOthers: () => false, prefetch: 128 });
  await queue.start(t);
  queue.lanes.push(queue.make("a", 1));
  await queue.turn();
  await queue.finish("a", "stopped");
  assert.deepEqual(
    [queue.began, queue.runningOf("a")],
    [[1], []],
    "or the loop would hold the process until it is killed",
  );
  await queue.clock.advance(1_000);
  assert.deepEqual(queue.began, [1, 1]);
});
