/** The machine's clock, as far as it measures the event loop. */

import assert from "node:assert/strict";
import test from "node:test";
import { setImmediate, setTimeout } from "node:timers/promises";
import { until } from "../test/support/wait.ts";
import { systemClock } from "./clock.ts";

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
