/** Groups of many jobs wait for each other, a lone job does not, and a group is bounded in jobs, bytes and time. */

import assert from "node:assert/strict";
import { test } from "node:test";
import { GroupPace } from "./group-pace.ts";
import type { Job } from "./jobs.ts";

const jobs = (count: number, job: Job = ["commit", []]) => Array.from({ length: count }, () => ({ job }));

test("a few jobs go at once, and many wait until 4 ms after the last group began", () => {
  let now = 100;
  const waits: number[] = [];
  const pace = new GroupPace({ now: () => now, after: (ms) => waits.push(ms) });
  /** How long a group waits; 0: it begins at once. */
  const delayMs = (waiting: number) => {
    let hasBegun = false;
    pace.await(waiting, () => {
      hasBegun = true;
    });
    return hasBegun ? 0 : waits.pop();
  };
  assert.equal(delayMs(100), 0, "the first group");
  pace.began();
  now = 101;
  assert.equal(delayMs(7), 0);
  assert.equal(delayMs(8), 3);
  assert.equal(delayMs(512), 0, "a full group");
  now = 104;
  assert.equal(delayMs(8), 0);
});

test("a group takes about 20 ms: slow jobs make it smaller, down to 64 jobs", () => {
  let now = 0;
  const pace = new GroupPace({ now: () => now, after: () => {} });
  assert.equal(pace.take(jobs(1_000)), 512);
  for (let group = 0; group < 50; group += 1) {
    pace.began();
    now += 20;
    pace.ended(100);
  }
  assert.equal(pace.take(jobs(1_000)), 100);
  for (let group = 0; group < 50; group += 1) {
    pace.began();
    now += 1_000;
    pace.ended(100);
  }
  assert.equal(pace.take(jobs(1_000)), 64);
});

test("a group holds 4 MiB, or one larger job", () => {
  const pace = new GroupPace(null);
  const large = (size: number): Job => ["commit", [["insert", "contents", ["cnt_1", new Uint8Array(size)]]]];
  assert.equal(pace.take(jobs(10, large(1024 * 1024))), 3);
  assert.equal(pace.take(jobs(2, large(8 * 1024 * 1024))), 1);
});
