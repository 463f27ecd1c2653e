/** Tests of a look that is asked for, beside those that follow each other. */

import assert from "node:assert/strict";
import { type TestContext, test } from "node:test";
import { SimulatedClock } from "../../test/support/clock.ts";
import { DueLook } from "./due-look.ts";

/** Looks of which each waits until the test ends it. */
async function scene(t: TestContext) {
  const clock = new SimulatedClock();
  const open: ((error?: Error) => void)[] = [];
  let begun = 0;
  /** The time that the database tells of a look; null: it tells none. */
  const took = { ms: null as number | null };
  const look = new DueLook({
    clock,
    dueLanes: (tell) =>
      new Promise((resolve, reject) => {
        begun += 1;
        if (took.ms !== null) tell(took.ms);
        open.push((error) => (error === undefined ? resolve([]) : reject(error)));
      }),
    found: () => {},
    fault: () => {},
  });
  t.after(() => look.stop());
  look.start();
  const end = async (error?: Error) => {
    open.shift()?.(error);
    await clock.advance(0);
  };
  await end();
  return { clock, look, end, begun: () => begun, took };
}

test("a look that is asked for begins at once, and the next one follows after the usual pause", async (t) => {
  const { clock, look, end, begun } = await scene(t);
  look.now();
  assert.equal(begun(), 2);
  await end();
  await clock.advance(199);
  assert.equal(begun(), 2);
  await clock.advance(1);
  assert.equal(begun(), 3);
});

test("a look that is asked for during another one begins as soon as that one has ended, once", async (t) => {
  const { clock, look, end, begun } = await scene(t);
  look.now();
  for (let count = 0; count < 3; count += 1) look.now();
  assert.equal(begun(), 2);
  await end();
  assert.equal(begun(), 3);
  await end();
  await clock.advance(199);
  assert.equal(begun(), 3);
});

test("a look that failed is followed by one after 500 ms, also if another one was asked for meanwhile", async (t) => {
  const { clock, look, end, begun } = await scene(t);
  look.now();
  look.now();
  await end(new Error("the database is away"));
  await clock.advance(499);
  assert.equal(begun(), 2);
  await clock.advance(1);
  assert.equal(begun(), 3);
});

test("the pause after a look is 20 times what the database took, however long this process waited for the answer", async (t) => {
  const { clock, look, end, begun, took } = await scene(t);
  took.ms = 30;
  look.now();
  await clock.advance(1_500);
  await end();
  await clock.advance(599);
  assert.equal(begun(), 2);
  await clock.advance(1);
  assert.equal(begun(), 3);
});

test("nothing is looked at before the start and after the stop", async (t) => {
  const { clock, look, begun } = await scene(t);
  look.stop();
  look.now();
  await clock.advance(10_000);
  assert.equal(begun(), 1);
});
