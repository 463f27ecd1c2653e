import assert from "node:assert/strict";
import { test } from "node:test";
import { SimulatedClock } from "../../../test/support/clock.ts";
import { ConnectionMonitor } from "./connection-monitor.ts";

function stage() {
  const clock = new SimulatedClock(0);
  const state = { trouble: null as string | null, checkedAt: [] as number[], changes: [] as boolean[] };
  const monitor = new ConnectionMonitor<string>({
    clock,
    check: async () => {
      state.checkedAt.push(clock.real());
      return state.trouble;
    },
    changed: () => void state.changes.push(monitor.isUp),
    everyMs: 60_000,
    retryMs: 1_000,
    retryMsMax: 3_000,
  });
  return { clock, state, monitor };
}

test("a peer that is down is checked with growing delays, and each change is reported once", async () => {
  const { clock, state, monitor } = stage();
  await monitor.check();
  state.trouble = "off";
  await clock.advance(60_000);
  assert.deepEqual([monitor.isUp, monitor.trouble, state.changes], [false, "off", [false]]);
  await clock.advance(9_000);
  state.trouble = null;
  await clock.advance(3_000);
  assert.deepEqual(state.checkedAt, [0, 60_000, 61_000, 63_000, 66_000, 69_000, 72_000]);
  assert.deepEqual([monitor.isUp, state.changes], [true, [false, true]]);
});

test("a failed request begins the checks, later ones only replace the reason, and a success ends the trouble", async () => {
  const { clock, state, monitor } = stage();
  monitor.reportUp();
  monitor.reportDown("refused");
  await clock.advance(900);
  monitor.reportDown("refused again");
  assert.deepEqual([monitor.trouble, state.checkedAt.length], ["refused again", 0]);
  await clock.advance(100);
  assert.deepEqual(state.checkedAt, [1_000]);
  monitor.reportDown("refused");
  monitor.reportUp();
  assert.deepEqual(state.changes, [false, true, false, true]);
});

test("concurrent checks are one, a fresh result is not checked again, and after stop nothing changes", async () => {
  const { clock, state, monitor } = stage();
  await Promise.all([monitor.check(), monitor.check(), monitor.checkIfOlder(5_000)]);
  await clock.advance(5_000);
  await monitor.checkIfOlder(5_000);
  assert.equal(state.checkedAt.length, 1);
  await clock.advance(1);
  await monitor.checkIfOlder(5_000);
  assert.equal(state.checkedAt.length, 2);
  state.trouble = "off";
  const check = monitor.check();
  await monitor.stop();
  await check;
  await monitor.check();
  assert.deepEqual([state.checkedAt.length, monitor.isUp, clock.pending], [3, true, 0]);
});
