/** Tests of the last event of an instance: how often it is written, and what a restart finds. */

import assert from "node:assert/strict";
import { test } from "node:test";
import { SimulatedClock } from "../../../test/support/clock.ts";
import { LastEvent } from "./last-event.ts";

const MINUTE = 60_000;

function stage() {
  const clock = new SimulatedClock();
  const entries = new Map<string, string>();
  const faults: unknown[] = [];
  const written: number[] = [];
  const disk = { isFull: false };
  const memory = {
    list: async () => [...entries].map(([key, value]) => ({ key, value })),
    async put(key: string, value: string) {
      if (disk.isFull) throw new Error("the disk is full");
      entries.set(key, value);
      written.push(Number(value));
    },
    delete: async () => {},
  };
  const load = () => LastEvent.load(memory, clock, (error) => void faults.push(error));
  return { clock, disk, faults, written, load };
}

test("the first event after a quiet minute is written at once, and then one a minute, however many come", async () => {
  const { clock, written, load } = stage();
  const lastEvent = await load();
  assert.equal(lastEvent.at, null);
  const began = clock.now();
  for (let second = 0; second < 150; second += 1) {
    for (let event = 0; event < 10; event += 1) lastEvent.note();
    await clock.advance(1_000);
  }
  assert.deepEqual(
    written.map((at) => at - began),
    [0, 60_000 - 1_000, 120_000 - 1_000],
  );
  assert.equal(lastEvent.at, began + 149_000, "in memory it is exact");
  await clock.advance(10 * MINUTE);
  assert.deepEqual(written.at(-1), began + 149_000);
  assert.equal(written.length, 4, "a quiet line writes nothing");
  lastEvent.note();
  await clock.advance(0);
  assert.equal(written.at(-1), clock.now());
});

test("the next connection knows the last event exactly after a stop, and up to a minute too early after a crash", async () => {
  const { clock, load } = stage();
  const crashed = await load();
  crashed.note();
  const first = clock.now();
  await clock.advance(MINUTE / 2);
  crashed.note();
  assert.equal((await load()).at, first);
  await crashed.stop();
  const next = await load();
  assert.equal(next.at, clock.now());
  await clock.advance(5 * MINUTE);
  await next.stop();
  assert.equal((await load()).at, first + MINUTE / 2, "a restart is no event");
});

test("a time that cannot be written is logged, and written a minute later", async () => {
  const { clock, disk, faults, written, load } = stage();
  const lastEvent = await load();
  disk.isFull = true;
  lastEvent.note();
  const at = clock.now();
  await clock.advance(MINUTE / 2);
  assert.deepEqual([faults.length, written], [1, []]);
  disk.isFull = false;
  await clock.advance(MINUTE);
  assert.deepEqual([faults.length, written], [1, [at]]);
  disk.isFull = true;
  await clock.advance(MINUTE);
  lastEvent.note();
  await lastEvent.stop();
  assert.deepEqual(written, [at]);
});
