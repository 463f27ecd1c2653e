import assert from "node:assert/strict";
import test from "node:test";
import {
  counted,
  formatAgo,
  formatBytes,
  formatCount,
  formatCountdown,
  formatMs,
  formatShare,
  quantile,
} from "./formats.ts";

test("a duration has at most three digits and its unit", () => {
  const shown = [0, 999, 1_400, 59_000, 240_000, 7_200_000, 259_200_000].map(formatMs);
  assert.deepEqual(shown, ["0 ms", "999 ms", "1.4 s", "59 s", "4 min", "2 h", "3 d"]);
});

test("a duration that rounds up to a whole unit is of that unit", () => {
  assert.deepEqual([9_960, 59_600, 3_580_000].map(formatMs), ["10 s", "1 min", "1 h"]);
});

test("a count has its noun in the singular for one, and else in the plural", () => {
  assert.deepEqual(
    [counted(1, "step"), counted(0, "step"), counted(2, "reply", "replies")],
    ["1 step", "0 steps", "2 replies"],
  );
});

test("a size is in the largest unit of which there is one", () => {
  const shown = [0, 999, 999_960, 4_210_000, 3e12].map(formatBytes);
  assert.deepEqual(shown, ["0 B", "999 B", "1.0 MB", "4.2 MB", "3.0 TB"]);
});

test("an age is told in whole units, and a time to come begins with in", () => {
  const ages = [500, 4_900, 65_000, -30_000].map((ms) => formatAgo(0, ms));
  assert.deepEqual(ages, ["now", "4 s", "1 min", "in 30 s"]);
});

test("a countdown never falls below zero, and shows hours and days once there are some", () => {
  const shown = [-5, 7_000, 299_000, 7_390_000, 273_600_000].map(formatCountdown);
  assert.deepEqual(shown, ["0:00", "0:07", "4:59", "2:03:10", "3 d 4 h"]);
});

test("a share is never rounded to none or all", () => {
  const shown = [formatShare(0, 0), formatShare(9_999, 10_000), formatShare(1, 10_000), formatShare(3, 3)];
  assert.deepEqual(shown, ["–", "99.9 %", "0.1 %", "100 %"]);
});

test("thousands are apart", () => {
  assert.equal(formatCount(1_234_567), "1\u202f234\u202f567");
});

test("a quantile is one of the values, and none of no values", () => {
  assert.equal(quantile([5, 1, 9, 3], 0.95), 9);
  assert.equal(quantile([5, 1, 9, 3], 0.5), 3);
  assert.equal(quantile([], 0.95), null);
});
