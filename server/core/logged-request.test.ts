import assert from "node:assert/strict";
import { test } from "node:test";
import { excessOf } from "./logged-request.ts";

test("the owners with the most requests lose theirs, and a flood removes none of the others'", () => {
  const excess = (counts: Record<string, number>, max: number) =>
    Object.fromEntries(excessOf(new Map(Object.entries(counts)), max));
  assert.deepEqual(excess({ a: 5, b: 5 }, 10), {});
  assert.deepEqual(excess({ flood: 1_000, a: 10, b: 20 }, 100), { flood: 930 });
  assert.deepEqual(excess({ a: 60, b: 80, c: 1 }, 101), { a: 10, b: 30 });
  assert.deepEqual(excess({ a: 1, b: 1, c: 1 }, 2), { a: 1 });
});
