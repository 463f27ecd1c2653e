/** A write that the store refuses is retried until its lease ends, by monotonic time. */

import assert from "node:assert/strict";
import test from "node:test";
import { SimulatedClock } from "../../test/support/clock.ts";
import { StoreFull, StoreUnavailable } from "../store/store.ts";
import { commitInTime } from "./commit.ts";

test("an outcome waits for space on the disk until its lease ends, also if the machine's time is set meanwhile", async () => {
  for (const stepMs of [0, 3_600_000, -3_600_000]) {
    const clock = new SimulatedClock();
    let tries = 0;
    const write = () => {
      tries += 1;
      return Promise.reject(new StoreFull("the disk is full"));
    };
    const ended = assert.rejects(commitInTime({ clock }, clock.monotonic() + 10_000, write), StoreFull);
    clock.step(stepMs);
    await clock.advance(20_000);
    await ended;
    assert.equal(tries, 10, `the clock was set by ${stepMs} ms`);
  }
});

test("an outcome waits for a database that is out of reach", async () => {
  const clock = new SimulatedClock();
  let tries = 0;
  const write = () => {
    tries += 1;
    return tries < 4 ? Promise.reject(new StoreUnavailable("the connection was lost")) : Promise.resolve("recorded");
  };
  const recorded = commitInTime({ clock }, clock.monotonic() + 10_000, write);
  await clock.advance(5_000);
  assert.equal(await recorded, "recorded");
});
