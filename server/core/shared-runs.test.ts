/** Tests that callers at the same time share a run, and never one that began before they called. */

import assert from "node:assert/strict";
import { test } from "node:test";
import { SharedRuns } from "./shared-runs.ts";

test("callers during a run share the next one, which begins after it; other names do not wait", async () => {
  const runs = new SharedRuns<number>();
  const ends: ((result: number) => void)[] = [];
  const work = () => new Promise<number>((resolve) => void ends.push(resolve));
  const first = runs.run("a", work);
  const others = [runs.run("a", work), runs.run("a", work), runs.run("a", work)];
  const elsewhere = runs.run("b", work);
  assert.equal(ends.length, 2);
  ends[1]?.(2);
  ends[0]?.(1);
  assert.deepEqual([await first, await elsewhere], [1, 2]);
  await Promise.resolve();
  assert.equal(ends.length, 3);
  ends[2]?.(3);
  assert.deepEqual(await Promise.all(others), [3, 3, 3]);
  void runs.run("a", work);
  assert.equal(ends.length, 4);
});

test("a run that fails rejects for its callers, and the next one begins", async () => {
  const runs = new SharedRuns<number>();
  const failed = runs.run("a", async () => {
    throw new Error("away");
  });
  const next = runs.run("a", async () => 1);
  await assert.rejects(failed, /away/);
  assert.equal(await next, 1);
});
