import assert from "node:assert/strict";
import { test } from "node:test";
import { setImmediate as turn } from "node:timers/promises";
import { SimulatedClock } from "../../../test/support/clock.ts";
import { ConnectionMonitor } from "./connection-monitor.ts";

function stage() {
  const clock = new SimulatedClock(0);
  const state = {
    trouble: null as string | null,
    checkedAt: [] as number[],
    changes: [] as boolean[],
    /** Runs in each check, after the peer has given its answer. */
    duringCheck: async () => {},
  };
  const monitor = new ConnectionMonitor<string>({
    clock,
    check: async () => {
      state.checkedAt.push(clock.real());
      const { trouble } = state;
      await turn();
      await state.duringCheck();
      return trouble;
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

/** A peer that is down, checked for the last time at 63 s and next at 66 s. */
async function stageDown() {
  const staged = stage();
  await staged.monitor.check();
  staged.state.trouble = "off";
  await staged.clock.advance(63_000);
  staged.state.checkedAt.length = 0;
  return staged;
}

test("an event of a peer that is down causes a check at once, while the clock stands still", async () => {
  const { clock, state, monitor } = await stageDown();
  state.trouble = null;
  monitor.eventReceived();
  await turns();
  assert.deepEqual([state.checkedAt, monitor.isUp, state.changes], [[63_000], true, [false, true]]);
  for (let time = 0; time < 5; time += 1) monitor.eventReceived();
  await clock.advance(59_999);
  assert.equal(state.checkedAt.length, 1, "an event of a peer that is up causes none");
});

test("an event during a check that finds the peer down causes one more, while the clock stands still", async () => {
  const { state, monitor } = await stageDown();
  state.duringCheck = async () => {
    state.duringCheck = async () => {};
    state.trouble = null;
    monitor.eventReceived();
  };
  await monitor.check();
  assert.deepEqual([state.checkedAt, monitor.isUp], [[63_000, 63_000], true]);
});

test("an event during the check that first finds the peer down causes one more", async () => {
  const { state, monitor } = stage();
  state.trouble = "off";
  state.duringCheck = async () => {
    state.duringCheck = async () => {};
    state.trouble = null;
    monitor.eventReceived();
  };
  await monitor.check();
  assert.deepEqual([state.checkedAt, monitor.isUp, state.changes], [[0, 0], true, [false, true]]);
});

test("any number of events cause a check a second, also during the checks, and no event is left without a check", async () => {
  const { clock, state, monitor } = await stageDown();
  for (let passed = 0; passed < 5_000; passed += 100) {
    for (let time = 0; time < 3; time += 1) monitor.eventReceived();
    await clock.advance(100);
  }
  assert.deepEqual(state.checkedAt, [63_000, 64_000, 65_000, 66_000, 67_000, 68_000]);
  state.checkedAt.length = 0;
  state.duringCheck = async () => monitor.eventReceived();
  await clock.advance(3_000);
  // The first of them was due anyway.
  assert.deepEqual(state.checkedAt, [69_000, 69_000, 70_000, 71_000]);
});

test("checks that events cause make the waits no longer: they begin small again", async () => {
  const { clock, state, monitor } = await stageDown();
  monitor.eventReceived();
  for (let time = 0; time < 2; time += 1) {
    await clock.advance(500);
    monitor.eventReceived();
    await clock.advance(500);
  }
  assert.deepEqual(state.checkedAt, [63_000, 64_000, 65_000]);
  await clock.advance(6_000);
  assert.deepEqual(state.checkedAt.slice(3), [66_000, 68_000, 71_000]);
});

test("a check ends although events keep coming", async () => {
  const { clock, state, monitor } = await stageDown();
  state.duringCheck = async () => {
    monitor.eventReceived();
    await new Promise<void>((resolve) => void clock.after(5_000, resolve));
  };
  let isOver = false;
  void monitor.check().then(() => {
    isOver = true;
  });
  await clock.advance(10_000);
  assert.deepEqual([isOver, state.checkedAt.slice(0, 2)], [true, [63_000, 68_000]]);
});

test("after stop no event causes a check", async () => {
  const { clock, state, monitor } = await stageDown();
  state.duringCheck = async () => monitor.eventReceived();
  monitor.eventReceived();
  await monitor.stop();
  monitor.eventReceived();
  await clock.advance(60_000);
  assert.deepEqual([state.checkedAt, clock.pending], [[63_000], 0]);
});

async function turns(): Promise<void> {
  for (let left = 4; left > 0; left -= 1) await turn();
}
