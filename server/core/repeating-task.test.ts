import assert from "node:assert/strict";
import { test } from "node:test";
import { SimulatedClock } from "../../test/support/clock.ts";
import { RepeatingTask } from "./repeating-task.ts";

function stage(run: (runs: number) => Promise<number | null>) {
  const clock = new SimulatedClock(0);
  const ranAt: number[] = [];
  const faults: unknown[] = [];
  const task = new RepeatingTask({
    clock,
    run: () => {
      ranAt.push(clock.real());
      return run(ranAt.length);
    },
    fault: (error) => void faults.push(error),
    retryMs: 5_000,
  });
  return { clock, ranAt, faults, task };
}

test("a task runs again after the time that its run returned, and after a fault once the retry time has passed", async () => {
  const { clock, ranAt, faults, task } = stage(async (runs) => {
    if (runs === 2) throw new Error("no");
    return runs === 4 ? null : 1_000;
  });
  await task.run();
  await clock.advance(20_000);
  assert.deepEqual(ranAt, [0, 1_000, 6_000, 7_000]);
  assert.equal(faults.length, 1);
  assert.equal(clock.pending, 0);
});

test("a run asked for while one is in progress is that run, and a schedule replaces the earlier one", async () => {
  const { promise, resolve } = Promise.withResolvers<null>();
  const { clock, ranAt, task } = stage((runs) => (runs === 1 ? promise : Promise.resolve(null)));
  const both = [task.run(), task.run()];
  assert.equal(task.isRunning, true);
  resolve(null);
  await Promise.all(both);
  assert.deepEqual([ranAt.length, task.isRunning], [1, false]);
  task.schedule(9_000);
  task.schedule(500);
  await clock.advance(10_000);
  assert.deepEqual(ranAt, [0, 500]);
});

test("stop waits for the run in progress and cancels the next one", async () => {
  const { promise, resolve } = Promise.withResolvers<number>();
  const { clock, ranAt, task } = stage(() => promise);
  void task.run();
  let isStopped = false;
  const stopped = task.stop().then(() => {
    isStopped = true;
  });
  await clock.advance(0);
  assert.equal(isStopped, false);
  resolve(1_000);
  await stopped;
  await task.run();
  task.schedule(1);
  assert.deepEqual([ranAt.length, clock.pending], [1, 0]);
});

test("a task is idle while it neither runs nor waits for its next run", async () => {
  const { clock, task } = stage(async () => null);
  const states = [task.isIdle];
  task.schedule(1_000);
  states.push(task.isIdle);
  await clock.advance(1_000);
  states.push(task.isIdle);
  const run = task.run();
  states.push(task.isIdle);
  await run;
  assert.deepEqual([...states, task.isIdle], [true, false, true, false, true]);
});
