/** Turns: one work on a subject at a time. */

import assert from "node:assert/strict";
import test from "node:test";
import { setImmediate } from "node:timers/promises";
import { SerialQueue } from "./serial-queue.ts";

test("tasks of one subject run in the order of the calls, also after a failed task; tasks of another subject do not wait", async () => {
  const turns = new SerialQueue();
  const done: string[] = [];
  const work = (name: string, ticks: number) => async () => {
    for (let left = ticks; left > 0; left -= 1) await setImmediate();
    done.push(name);
    if (name === "broken") throw new Error(name);
    return name;
  };
  const first = turns.run("a", work("slow", 20));
  const broken = turns.run("a", work("broken", 5));
  const last = turns.run("a", work("last", 0));
  assert.equal(turns.count("a"), 3);
  assert.equal(await turns.run("b", work("other", 1)), "other");
  await assert.rejects(broken, /broken/);
  assert.deepEqual([await first, await last], ["slow", "last"]);
  assert.deepEqual(done, ["other", "slow", "broken", "last"]);
  assert.deepEqual([turns.count("a"), turns.isBusy("a")], [0, false]);
});
