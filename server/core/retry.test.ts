/** Tests of retry times: each delay is kept to the millisecond, and jitter only adds. */

import assert from "node:assert/strict";
import { test } from "node:test";
import fc from "fast-check";
import { backoffMs, doublingMs, nextRetryAt } from "./retry.ts";

const SECOND = 1_000;
const MINUTE = 60 * SECOND;
const HOUR = 60 * MINUTE;
const ENDED_AT = Date.UTC(2026, 0, 2);

const chance = fc.double({ min: 0, max: 1, maxExcluded: true, noNaN: true });

test("each retry is due after its delay of the schedule, and no retry follows the last", () => {
  const delays = [30 * SECOND, 5 * MINUTE, 30 * MINUTE, 24 * HOUR];
  for (const [retry, delayMs] of delays.entries()) {
    assert.equal(nextRetryAt(delays, retry, ENDED_AT, 0), ENDED_AT + delayMs);
  }
  assert.equal(nextRetryAt(delays, delays.length, ENDED_AT, 0), null);
  assert.equal(nextRetryAt(delays, delays.length + 1, ENDED_AT, 0.5), null);
  assert.equal(nextRetryAt([], 0, ENDED_AT, 0), null);
});

test("jitter only lengthens a delay, by at most 10 % and never more than 30 s", () => {
  const schedule = fc.array(fc.integer({ min: 0, max: 7 * 24 * HOUR }), { minLength: 1, maxLength: 10 });
  fc.assert(
    fc.property(schedule, fc.nat({ max: 9 }), chance, (delays, retry, drawn) => {
      const dueAt = nextRetryAt(delays, retry, ENDED_AT, drawn);
      const delayMs = delays[retry];
      if (delayMs === undefined) return dueAt === null;
      const added = (dueAt ?? 0) - ENDED_AT - delayMs;
      return Number.isInteger(added) && added >= 0 && added <= delayMs / 10 && added <= 30 * SECOND;
    }),
  );
  assert.equal(nextRetryAt([100 * SECOND], 0, 0, 0.999_999), 110 * SECOND - 1);
  assert.equal(nextRetryAt([24 * HOUR], 0, 0, 0.999_999), 24 * HOUR + 30 * SECOND - 1);
});

test("after a transient error a send attempt waits 1 s, doubling to 5 min, plus up to 10 %", () => {
  const waits = [1, 2, 4, 8, 16, 32, 64, 128, 256, 300, 300].map((seconds) => seconds * SECOND);
  for (const [index, waitMs] of waits.entries()) assert.equal(backoffMs(index + 1, 0), waitMs);
  assert.equal(backoffMs(0, 0), SECOND);
  fc.assert(
    fc.property(fc.nat({ max: 5_000 }), chance, (attempt, drawn) => {
      const floor = backoffMs(attempt, 0);
      const waitMs = backoffMs(attempt, drawn);
      return Number.isInteger(waitMs) && waitMs >= floor && waitMs <= floor * 1.1 && waitMs <= 330 * SECOND;
    }),
  );
});

test("a pause doubles with each successive failure up to its maximum", () => {
  const pauses = [0, 1, 2, 3, 4, 5, 2_000].map((failures) => doublingMs(failures, 1_000, 5_000));
  assert.deepEqual(pauses, [1_000, 1_000, 2_000, 4_000, 5_000, 5_000, 5_000]);
});
