/** The machine's clock, as far as it measures the event loop. */

import assert from "node:assert/strict";
import test from "node:test";
import { setImmediate, setTimeout } from "node:timers/promises";
import { until } from "../test/support/wait.ts";
import { systemClock } from "./clock.ts";

test("the service's time stands still while a small step back of the machine's clock is made up for; real time does not", (t) => {
  const start = Date.UTC(2026, 0, 1);
  t.mock.timers.enable({ apis: ["Date"], now: start });
  const shift = { ms: 0 };
  const clock = systemClock(shift);
  const times = () => [clock.now() - start, clock.real() - start];
  assert.deepEqual(times(), [0, 0]);
  t.mock.timers.setTime(start - 2_000);
  assert.deepEqual(times(), [0, -2_000]);
  t.mock.timers.setTime(start + 1);
  assert.deepEqual(times(), [1, 1]);
  shift.ms = 3_000;
  assert.deepEqual(times(), [3_001, 1]);
  shift.ms = 0;
  assert.deepEqual(times(), [1, 1], "the sandbox's clock goes back by any time");
  t.mock.timers.setTime(start - 60_000);
  assert.deepEqual(times(), [-60_000, -60_000]);
});

test("a turn of the event loop counts the time in which it was busy, and not the time in which it waited", async () => {
  const clock = systemClock();
  const isIdle = async () => {
    await setTimeout(200);
    return clock.turnMs() < 40;
  };
  await until(isIdle, { what: "few busy milliseconds a turn while idle" });
  for (let turn = 0; turn < 5; turn += 1) {
    const until = performance.now() + 60;
    while (performance.now() < until);
    await setImmediate();
  }
  const busyMs = clock.turnMs();
  assert.ok(busyMs > 10, `${busyMs} ms a turn while busy`);
});
