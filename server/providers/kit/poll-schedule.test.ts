import assert from "node:assert/strict";
import { test } from "node:test";
import { SimulatedClock } from "../../../test/support/clock.ts";
import { PollSchedule } from "./poll-schedule.ts";

function stage() {
  const clock = new SimulatedClock(0);
  const polled: string[] = [];
  const schedule = new PollSchedule<string>(clock, () => {
    for (let item = schedule.takeDue(clock.real()); item !== null; item = schedule.takeDue(clock.real())) {
      polled.push(`${item}@${clock.real()}`);
    }
    schedule.wait();
  });
  return { clock, polled, schedule };
}

test("items come up when they are due, whatever their order, and the last instant of an item counts", async () => {
  const { clock, polled, schedule } = stage();
  schedule.start();
  schedule.set("late", 7_200_000);
  schedule.set("moved", 100);
  schedule.set("b", 300);
  schedule.set("a", 200);
  schedule.set("gone", 250);
  schedule.set("moved", 400);
  schedule.delete("gone");
  await clock.advance(7_300_000);
  assert.deepEqual(polled, ["a@200", "b@300", "moved@400", "late@7200000"]);
  assert.equal(clock.pending, 0);
});

test("a thousand items come up in order", async () => {
  const { clock, polled, schedule } = stage();
  schedule.start();
  for (let at = 0; at < 1_000; at += 1) schedule.set(String(at), ((at * 7_919) % 1_000) + 1);
  await clock.advance(1_001);
  const times = polled.map((one) => Number(one.split("@")[1]));
  assert.deepEqual(
    times,
    Array.from({ length: 1_000 }, (_, at) => at + 1),
  );
});

test("nothing comes up before start, during a longer wait, or after stop", async () => {
  const { clock, polled, schedule } = stage();
  schedule.set("a", 10);
  await clock.advance(100);
  assert.deepEqual(polled, []);
  schedule.start();
  schedule.wait(1_000);
  await clock.advance(999);
  assert.deepEqual(polled, []);
  await clock.advance(1);
  assert.deepEqual(polled, ["a@1100"]);
  schedule.set("b", 1_200);
  schedule.stop();
  await clock.advance(1_000);
  assert.deepEqual([polled.length, clock.pending], [1, 0]);
});
