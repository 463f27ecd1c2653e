/** Groups with much work wait for each other, a lone job does not, and a group is bounded in work, bytes and time. */

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
    pace.await(jobs(waiting), () => {
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

test("a group takes about 20 ms: slow jobs make it smaller, down to 256 jobs", () => {
  let now = 0;
  const pace = new GroupPace({ now: () => now, after: () => {} });
  assert.equal(pace.take(jobs(1_000)), 512);
  for (let group = 0; group < 50; group += 1) {
    pace.began();
    now += 20;
    pace.ended(jobs(400));
  }
  assert.equal(pace.take(jobs(1_000)), 400);
  for (let group = 0; group < 50; group += 1) {
    pace.began();
    now += 1_000;
    pace.ended(jobs(100));
  }
  assert.equal(pace.take(jobs(1_000)), 256);
});

test("a job that holds many transactions or outcomes counts as many", () => {
  let waits = 0;
  const pace = new GroupPace({ now: () => 0, after: () => waits++ });
  const gathered: Job = ["commitAll", Array.from({ length: 200 }, () => [])];
  const outcomes: Job = ["finishDeliveries", Array.from({ length: 200 }, () => [1, "", 1, []])];
  assert.equal(pace.take([...jobs(100), ...jobs(2, gathered), ...jobs(20)]), 114);
  assert.equal(pace.take([...jobs(2, gathered), ...jobs(1, outcomes), ...jobs(9)]), 2);
  assert.equal(pace.take([...jobs(1, ["commitAll", Array.from({ length: 600 }, () => [])]), ...jobs(1)]), 1);
  pace.began();
  for (const job of [gathered, outcomes]) pace.await(jobs(1, job), () => assert.fail("it waits like 200 jobs"));
  assert.equal(waits, 2);
});

test("a group holds 4 MiB, or one larger job", () => {
  const pace = new GroupPace(null);
  const large = (size: number): Job => ["commit", [["insert", "contents", ["cnt_1", new Uint8Array(size)]]]];
  assert.equal(pace.take(jobs(10, large(1024 * 1024))), 3);
  assert.equal(pace.take(jobs(2, large(8 * 1024 * 1024))), 1);
});
