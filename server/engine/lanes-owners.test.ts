/** Customers share the loop over lanes: a newcomer finds permits, owners take turns, and slow receivers earn nothing. */

import assert from "node:assert/strict";
import { test } from "node:test";
import { Queue } from "../../test/support/lane-queue.ts";
import type { RunResult } from "./run-result.ts";

/** As of webhooks: 2,048 permits, and four times those that are free. */
const POOL = { permitsMax: 2_048, shareOfFree: 4, permitsPerLane: () => 64 };
const ENDPOINTS = 98;

/** Lets every lane of the owners earn permits by good answers, then leaves all that is begun from then on running. */
async function holdAll(queue: Queue, owners: readonly string[]): Promise<void> {
  const lanes = owners.flatMap((owner) => Array.from({ length: ENDPOINTS }, (_, index) => `${owner}/${index}`));
  queue.ending = () => "good";
  for (const lane of lanes) queue.add(lane, 70);
  queue.lanes.wake(lanes);
  for (let round = 0; round < 2_000 && queue.due.length > 0; round += 1) await queue.turn();
  assert.equal(queue.due.length, 0);
  queue.ending = () => null;
  for (const lane of lanes) queue.add(lane, 1_000);
  queue.lanes.wake(lanes);
  for (let round = 0; round < 300; round += 1) await queue.turn();
}

test("two customers with 98 slow endpoints each never make a third one wait", async (t) => {
  const queue = new Queue(POOL);
  await queue.start(t);
  await holdAll(queue, ["a", "b"]);
  const held = (owner: string) => [...queue.running.values()].filter(({ item }) => item.lane.startsWith(`${owner}/`));
  assert.ok(queue.running.size > 1_500, "the pool is used");
  const before = queue.clock.real();
  await queue.wake("c/1", 10);
  assert.equal(held("c").length, 4, "as many as a lane starts with, at once");
  assert.equal(queue.clock.real(), before);
  for (let index = 2; index <= 20; index += 1) await queue.wake(`c/${index}`, 10);
  assert.equal(held("c").length, 80);
});

test("a released permit goes to the customer with the fewest, until customers with equal needs hold equally many", async (t) => {
  const queue = new Queue({ ...POOL, permitsMax: 90 });
  await queue.start(t);
  await holdAll(queue, ["a"]);
  const held = () =>
    ["a", "b"].map((owner) => [...queue.running.values()].filter(({ item }) => item.lane[0] === owner).length);
  assert.deepEqual(held(), [72, 0]);
  for (let index = 0; index < 50; index += 1) {
    queue.add(`b/${index}`, 100);
    queue.lanes.wake([`b/${index}`]);
  }
  for (let ends = 0; ends < 400; ends += 1) {
    const [first] = queue.running.values();
    await queue.finish(first?.item.lane ?? "none", "bad");
  }
  assert.deepEqual(held(), [40, 40]);
});

test("a customer with one lane is in the next claim, however many lanes of another customer were woken before it", async (t) => {
  const queue = new Queue(POOL);
  await queue.start(t);
  queue.ending = () => "good";
  const lanes = Array.from({ length: 10_000 }, (_, index) => `many/${index}`);
  for (const lane of lanes) queue.add(lane, 1);
  queue.add("one/1", 1);
  queue.lanes.wake([...lanes, "one/1"]);
  await queue.turn();
  const named = queue.claims.findIndex((claim) => claim.some(({ lane }) => lane === "one/1"));
  assert.equal(named, 0);
});

test("a late success earns no permit and costs none", async (t) => {
  const queue = new Queue();
  await queue.start(t);
  await queue.wake("a", 200);
  await queue.finish("a", "good");
  assert.equal(queue.running.size, 5);
  for (let count = 0; count < 20; count += 1) await queue.finish("a", "late");
  assert.equal(queue.running.size, 5);
});

test("after a timeout a late success restores the lane's first four permits", async (t) => {
  const queue = new Queue();
  await queue.start(t);
  await queue.wake("a", 200);
  for (const result of ["slow", "bad", "bad", "bad"] as const) await queue.finish("a", result);
  assert.equal(queue.running.size, 1);
  await queue.finish("a", "late");
  assert.equal(queue.running.size, 4);
});

test("after a lack of local resources claims pause once for half a second, and the lane keeps its permits", async (t) => {
  const queue = new Queue();
  await queue.start(t);
  await queue.wake("a", 4);
  await queue.wake("b", 100);
  for (let count = 0; count < 4; count += 1) await queue.finish("a", "local");
  assert.equal(queue.faults.length, 1);
  await queue.wake("c", 4);
  await queue.clock.advance(499);
  assert.deepEqual(queue.runningOf("c"), []);
  await queue.clock.advance(1);
  assert.equal(queue.runningOf("c").length, 4);
  await queue.wake("a", 9);
  assert.equal(queue.runningOf("a").length, 4);
});

test("a lane is claimed once its owner is loaded, and a failed load is retried", async (t) => {
  const known = new Set<string>();
  let fails = true;
  const queue = new Queue({
    ownerOf: (lane) => (known.has(lane) ? "owner" : null),
    loadOwners: async (lanes) => {
      if (fails) throw new Error("the reader is gone");
      for (const lane of lanes) known.add(lane);
    },
  });
  await queue.start(t);
  await queue.wake("a", 2);
  assert.deepEqual([queue.claims.length, queue.faults.length], [0, 1]);
  fails = false;
  await queue.clock.advance(500);
  assert.equal(queue.running.size, 2);
  // Its endpoint was changed: it is learnt again before the next claim.
  known.clear();
  await queue.wake("a", 1);
  assert.deepEqual([queue.running.size, known.has("a")], [3, true]);
});

test("a lane without further due items is not claimed again when a run ends that no item waited for", async (t) => {
  const queue = new Queue({ mayFreeOthers: ({ id }) => id === 3 });
  await queue.start(t);
  await queue.wake("a", 3);
  const claims = queue.claims.length;
  const results: RunResult[] = ["good", "bad"];
  for (const result of results) await queue.finish("a", result);
  assert.equal(queue.claims.length, claims);
  await queue.finish("a", "good");
  assert.equal(queue.claims.length, claims + 1);
});
