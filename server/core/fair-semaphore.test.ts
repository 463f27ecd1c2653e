/** A pool is never overdrawn, no owner takes all of it, and nobody who waits is forgotten. */

import assert from "node:assert/strict";
import { test } from "node:test";
import fc from "fast-check";
import { FairSemaphore, type Release } from "./fair-semaphore.ts";

/** Takes permits for `owner` one by one until it is refused; answers how many. */
function takeAll(pool: FairSemaphore, owner: string): number {
  let taken = 0;
  while (pool.tryAcquire(owner) !== null) taken += 1;
  return taken;
}

test("a single owner gets most of the pool, and leaves permits for the next owner", () => {
  const pool = new FairSemaphore({ permitsMax: 1_000, shareOfFree: 4 });
  assert.equal(takeAll(pool, "a"), 800);
  assert.equal(takeAll(pool, "b"), 160);
  assert.equal(takeAll(pool, "c"), 32);
  assert.equal(pool.used, 992);
});

test("room() is the number of permits that an owner can acquire one by one", () => {
  fc.assert(
    fc.property(
      fc.integer({ min: 1, max: 300 }),
      fc.constantFrom(0.5, 1, 3, 4, Number.POSITIVE_INFINITY),
      fc.array(fc.tuple(fc.constantFrom("a", "b", "c"), fc.nat(60)), { maxLength: 6 }),
      (permitsMax, shareOfFree, taken) => {
        const pool = new FairSemaphore({ permitsMax, shareOfFree });
        for (const [owner, count] of taken) for (let n = 0; n < count; n += 1) pool.tryAcquire(owner);
        const room = pool.room("a");
        assert.equal(takeAll(pool, "a"), room);
      },
    ),
  );
});

test("a released permit goes to the waiting owner that has had the fewest, not to the owner with the most requests", async () => {
  const pool = new FairSemaphore({ permitsMax: 1, shareOfFree: Number.POSITIVE_INFINITY });
  const first = await pool.acquire("greedy");
  const order: string[] = [];
  const wait = async (owner: string) => {
    const release = await pool.acquire(owner);
    order.push(owner);
    release?.();
  };
  const all = [...Array.from({ length: 5 }, () => wait("greedy")), wait("modest"), wait("modest")];
  first?.();
  await Promise.all(all);
  assert.deepEqual(order, ["modest", "greedy", "modest", "greedy", "greedy", "greedy", "greedy"]);
});

test("owners share permits by weight: large requests get an owner no more than small requests", async () => {
  const pool = new FairSemaphore({ permitsMax: 10, shareOfFree: Number.POSITIVE_INFINITY });
  const hold = await pool.acquire("other", 10);
  const granted = { large: 0, small: 0 };
  let rounds = 0;
  const wait = async (owner: "large" | "small", weight: number) => {
    const release = await pool.acquire(owner, weight);
    rounds += 1;
    if (rounds <= 22) granted[owner] += weight;
    release?.();
  };
  const all = Array.from({ length: 40 }, () => [wait("large", 10), wait("small", 1)]).flat();
  hold?.();
  await Promise.all(all);
  assert.deepEqual(granted, { large: 20, small: 20 });
});

test("a large request is not starved by small ones that would fit before it", async () => {
  const pool = new FairSemaphore({ permitsMax: 10, shareOfFree: 4 });
  const small = [pool.tryAcquire("a"), pool.tryAcquire("a"), pool.tryAcquire("b")];
  let isGranted = false;
  const large = pool.acquire("c", 9).then((release) => {
    isGranted = true;
    return release;
  });
  assert.equal(pool.tryAcquire("d"), null, "whoever comes later waits behind the large request");
  small[0]?.();
  await Promise.resolve();
  assert.equal(isGranted, false);
  small[1]?.();
  (await large)?.();
  assert.equal(pool.used, 1);
});

test("an owner beyond its share waits without delaying other owners", async () => {
  const pool = new FairSemaphore({ permitsMax: 10, shareOfFree: 4 });
  assert.equal(takeAll(pool, "a"), 8);
  const waiting = pool.acquire("a");
  const other = await pool.acquire("b");
  assert.notEqual(other, null);
  other?.();
  pool.tryAcquire("b")?.();
  assert.equal(pool.usedBy("a"), 8);
  void waiting;
});

test("an aborted request leaves the queue, and the requests behind it are served", async () => {
  const pool = new FairSemaphore({ permitsMax: 2, shareOfFree: Number.POSITIVE_INFINITY });
  const one = await pool.acquire("a");
  const abort = new AbortController();
  const large = pool.acquire("b", 2, abort.signal);
  const behind = pool.acquire("c");
  abort.abort(new Error("gone"));
  await assert.rejects(large, /gone/);
  assert.notEqual(await behind, null);
  await assert.rejects(pool.acquire("d", 1, abort.signal), /gone/);
  one?.();
  assert.equal(pool.used, 1);
});

test("an owner with too many requests waiting is refused, and so is more than the whole pool", async () => {
  const pool = new FairSemaphore({ permitsMax: 1, shareOfFree: 1, waitingMax: 1 });
  const held = await pool.acquire("a");
  const waiting = pool.acquire("b");
  assert.equal(await pool.acquire("b"), null);
  assert.equal(await pool.acquire("c", 2), null);
  held?.();
  (await waiting)?.();
  assert.equal(pool.used, 0);
});

test("releasing the same permits twice counts once", () => {
  const pool = new FairSemaphore({ permitsMax: 2, shareOfFree: Number.POSITIVE_INFINITY });
  const release = pool.tryAcquire("a");
  pool.tryAcquire("a");
  release?.();
  release?.();
  assert.equal(pool.used, 1);
});

test("permits may be released in parts, and never more than were acquired", () => {
  const pool = new FairSemaphore({ permitsMax: 10, shareOfFree: Number.POSITIVE_INFINITY });
  pool.tryAcquire("a", 2);
  const release = pool.tryAcquire("a", 6);
  release?.(2);
  assert.equal(pool.used, 6);
  release?.(1);
  assert.equal(pool.usedBy("a"), 5);
  release?.(100);
  release?.();
  assert.equal(pool.used, 2);
});

/** Steps of a random run: request permits, abort a request, or release the oldest permits. */
const STEP = fc.oneof(
  {
    weight: 3,
    arbitrary: fc.record({ owner: fc.constantFrom("a", "b", "c"), weight: fc.integer({ min: 1, max: 6 }) }),
  },
  { weight: 1, arbitrary: fc.constant("abort" as const) },
  { weight: 2, arbitrary: fc.constant("release" as const) },
);

test("any sequence of requests never overdraws the pool, and every waiting request is served once all permits are released", async () => {
  await fc.assert(
    fc.asyncProperty(fc.constantFrom(1, 4, Number.POSITIVE_INFINITY), fc.array(STEP), async (shareOfFree, steps) => {
      const pool = new FairSemaphore({ permitsMax: 6, shareOfFree });
      const held: { release: Release; weight: number }[] = [];
      const asked: { abort: AbortController; ended: Promise<unknown> }[] = [];
      let waiting = 0;
      for (const step of steps) {
        if (step === "release") held.shift()?.release();
        else if (step === "abort") asked.at(-1)?.abort.abort(new Error("called off"));
        else {
          const abort = new AbortController();
          waiting += 1;
          const ended = pool
            .acquire(step.owner, step.weight, abort.signal)
            .then((release) => release !== null && held.push({ release, weight: step.weight }))
            .catch(() => {})
            .finally(() => {
              waiting -= 1;
            });
          asked.push({ abort, ended });
        }
        await new Promise((resolve) => setImmediate(resolve));
        const sum = held.reduce((total, { weight }) => total + weight, 0);
        assert.equal(pool.used, sum);
        assert.ok(sum <= 6);
      }
      while (waiting > 0) {
        const next = held.shift();
        assert.ok(next, "somebody waits though nothing is taken");
        next.release();
        await new Promise((resolve) => setImmediate(resolve));
      }
      await Promise.all(asked.map(({ ended }) => ended));
    }),
  );
});
