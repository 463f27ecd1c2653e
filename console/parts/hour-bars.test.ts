import assert from "node:assert/strict";
import test from "node:test";
import { countByHour, describe, type HourPoint, partsOf, topOf } from "./hour-bars.ts";

const hour = (count: number) => new Date(Date.UTC(2026, 0, 1, count)).toISOString();
const point = (...values: number[]): HourPoint => ({ at: hour(0), values });

test("a chart ends at a round number that holds its tallest bar", () => {
  const tops = [[], [0], [1], [3], [9, 2], [100], [120], [4_999]].map((values) => topOf([point(...values)]));
  assert.deepEqual(tops, [1, 1, 1, 5, 20, 100, 200, 5_000]);
});

test("the parts of a bar stand on each other", () => {
  assert.deepEqual(partsOf(point(5, 0, 3), 10), [
    { from: 0, height: 0.5 },
    { from: 0.5, height: 0 },
    { from: 0.5, height: 0.3 },
  ]);
});

test("a chart says its totals and peaks in words", () => {
  assert.equal(describe(["Sent", "Failed"], [point(2, 0), point(5, 0)]), "Sent: 7, at most 5 in an hour; Failed: none");
});

test("instants are counted in the hour that they are in, and those before the first hour in none", () => {
  const hours = [hour(1), hour(2), hour(3)];
  assert.deepEqual(countByHour(hours, [hour(0), hour(1), "2026-01-01T01:59:59Z", "2026-01-01T03:30:00Z"]), [2, 0, 1]);
});
