import assert from "node:assert/strict";
import { test } from "node:test";
import { SimulatedClock } from "./clock.ts";

test("timers run in order of time, then in the order they were set, each at its own time", async () => {
  const clock = new SimulatedClock(1_000);
  const ran: string[] = [];
  const note = (name: string) => () => void ran.push(`${name}@${clock.real()}`);
  clock.after(30, note("c"));
  clock.after(10, note("a"));
  clock.after(30, note("d"));
  clock.after(20, note("b"));
  clock.after(31, note("late"));
  await clock.advance(30);
  assert.deepEqual(ran, ["a@1010", "b@1020", "c@1030", "d@1030"]);
  assert.equal(clock.real(), 1_030);
  assert.equal(clock.pending, 1);
  assert.equal(clock.nextAt, 1_031);
});

test("work that a timer starts, across promises, ends before the next timer runs, and may set further timers", async () => {
  const clock = new SimulatedClock(0);
  const ran: string[] = [];
  const slow = async () => {
    await null;
    await new Promise((resolve) => setImmediate(resolve));
    ran.push(`slow@${clock.real()}`);
    clock.after(2, () => ran.push(`child@${clock.real()}`));
  };
  clock.after(5, () => void slow());
  clock.after(6, () => ran.push(`next@${clock.real()}`));
  await clock.advance(10);
  assert.deepEqual(ran, ["slow@5", "next@6", "child@7"]);
  assert.equal(clock.real(), 10);
});

test("a stopped timer does not run, and stopping it twice stops no other", async () => {
  const clock = new SimulatedClock();
  let ran = 0;
  const stop = clock.after(5, () => assert.fail());
  clock.after(5, () => {
    ran += 1;
  });
  stop();
  stop();
  await clock.advance(5);
  assert.equal(ran, 1);
  assert.equal(clock.nextAt, null);
});

test("a wait takes a millisecond at least, so that a loop of waits lets time pass", async () => {
  const clock = new SimulatedClock(0);
  let rounds = 0;
  const again = () => {
    rounds += 1;
    clock.after(0, again);
  };
  again();
  await clock.advance(100);
  assert.equal(rounds, 101);
});

test("a wait of more than an hour, or that is not a finite number, is refused", () => {
  const clock = new SimulatedClock();
  for (const ms of [3_600_001, Number.NaN, Number.POSITIVE_INFINITY]) {
    assert.throws(() => clock.after(ms, () => {}), RangeError);
  }
});

test("the shift moves the shifted clock alone, forward only, and runs nothing", async () => {
  const clock = new SimulatedClock(0);
  clock.after(1, () => assert.fail());
  clock.shift(86_400_000);
  assert.equal(clock.now(), 86_400_000);
  assert.equal(clock.real(), 0);
  assert.throws(() => clock.shift(-1), RangeError);
});

test("advanceUntil stops at the moment its condition holds, and says when it never does", async () => {
  const clock = new SimulatedClock(0);
  let ran = 0;
  for (const ms of [10, 20, 30]) {
    clock.after(ms, () => {
      ran += 1;
    });
  }
  assert.equal(await clock.advanceUntil(() => ran === 2, 1_000), true);
  assert.equal(clock.real(), 20);
  assert.equal(await clock.advanceUntil(() => ran === 4, 1_000), false);
  assert.equal(clock.real(), 1_020);
});

test("a second concurrent advance is refused, and a failed advance frees the clock", async () => {
  const clock = new SimulatedClock();
  const first = clock.advance(10);
  await assert.rejects(clock.advance(10), /already/);
  await first;
  clock.after(1, () => {
    throw new Error("a timer failed");
  });
  await assert.rejects(clock.advance(10), /a timer failed/);
  await clock.advance(10);
});

test("thousands of timers, half of them stopped, each run once and in order", async () => {
  const clock = new SimulatedClock(0);
  const ran: number[] = [];
  let seed = 1;
  for (let index = 0; index < 5_000; index += 1) {
    seed = (seed * 48_271) % 2_147_483_647;
    const ms = 1 + (seed % 1_000);
    const stop = clock.after(ms, () => ran.push(clock.real() === ms ? ms * 10_000 + index : Number.NaN));
    if (index % 2 === 0) stop();
  }
  assert.equal(clock.pending, 2_500);
  await clock.advance(1_000);
  assert.equal(ran.length, 2_500);
  assert.deepEqual(
    ran,
    [...ran].sort((a, b) => a - b),
  );
  assert.equal(clock.pending, 0);
});
