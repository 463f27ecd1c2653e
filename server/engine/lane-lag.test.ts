/** The times of a lane's runs: whether they wait for its peer. */

import assert from "node:assert/strict";
import { test } from "node:test";
import { LaneLag } from "./lane-lag.ts";

test("a lane waits for a peer that hangs on most of its runs, although it responds to the others at once", () => {
  let now = 0;
  const lane = new LaneLag(() => now);
  const ask = () => {
    const times = lane.begin();
    times.asks();
    return times;
  };
  for (let hanging = 0; hanging < 15; hanging += 1) ask();
  for (let left = 1_000; left > 0; left -= 1) {
    const times = ask();
    now += 2;
    times.ended();
    assert.equal(lane.waitsForPeer(now, 4), now > 4);
  }
});

test("a run that has released its permit counts no more, whatever it asks its peer then", () => {
  let now = 0;
  const lane = new LaneLag(() => now);
  const released = lane.begin();
  released.ended();
  released.asks();
  lane.begin();
  now += 200;
  assert.equal(lane.waitsForPeer(now, 4), false, "the other run waits for this process");
});
