import assert from "node:assert/strict";
import { test } from "node:test";
import { SimulatedClock } from "../../../test/support/clock.ts";
import { WeightedSemaphore } from "./semaphore.ts";

const NEVER = new AbortController().signal;

function stage(permits: number) {
  const clock = new SimulatedClock();
  const semaphore = new WeightedSemaphore(clock, permits);
  const inside: string[] = [];
  const leave = new Map<string, () => void>();
  const enter = (name: string, weight: number, limitMs = 1_000, abort = NEVER) =>
    semaphore.acquire(weight, limitMs, abort).then((release) => {
      inside.push(release === null ? `no ${name}` : name);
      if (release !== null) leave.set(name, release);
    });
  return { clock, inside, enter, leave: (name: string) => leave.get(name)?.() };
}

test("permits are granted in order while there are any, and no request overtakes a waiting one", async () => {
  const { clock, inside, enter, leave } = stage(4);
  for (const [name, weight] of [
    ["a", 3],
    ["b", 3],
    ["c", 1],
  ] as const)
    void enter(name, weight);
  await clock.advance(0);
  assert.deepEqual(inside, ["a"]);
  leave("a");
  await clock.advance(0);
  assert.deepEqual(inside, ["a", "b", "c"]);
});

test("a request for more permits than there are gets all of them", async () => {
  const { clock, inside, enter, leave } = stage(2);
  void enter("light", 1);
  void enter("heavy", 100);
  void enter("next", 1);
  await clock.advance(0);
  assert.deepEqual(inside, ["light"]);
  leave("light");
  leave("light");
  await clock.advance(0);
  assert.deepEqual(inside, ["light", "heavy"], "who leaves twice makes permits once");
  leave("heavy");
  await clock.advance(0);
  assert.deepEqual(inside, ["light", "heavy", "next"]);
});

test("a request that times out or is aborted leaves the queue, and the next one is served", async () => {
  const { clock, inside, enter } = stage(3);
  const abort = new AbortController();
  void enter("a", 2);
  void enter("late", 3, 500);
  void enter("off", 3, 5_000, abort.signal);
  void enter("small", 1, 5_000);
  await clock.advance(500);
  assert.deepEqual(inside, ["a", "no late"]);
  abort.abort();
  await clock.advance(0);
  assert.deepEqual(inside, ["a", "no late", "no off", "small"]);
  assert.equal(clock.pending, 0);
});
