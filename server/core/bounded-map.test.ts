import assert from "node:assert/strict";
import { test } from "node:test";
import { setBounded } from "./bounded-map.ts";

test("a bounded map keeps the entries that were set last, and never more than its bound", () => {
  const map = new Map<string, number>();
  for (const [index, key] of ["a", "b", "a", "c", "d"].entries()) setBounded(map, key, index, 3);
  assert.deepEqual(
    [...map],
    [
      ["a", 2],
      ["c", 3],
      ["d", 4],
    ],
  );
});

test("setting an existing key moves it to the end, and deletes no other key", () => {
  const map = new Map([
    ["a", 1],
    ["b", 2],
  ]);
  setBounded(map, "a", 3, 2);
  assert.deepEqual(
    [...map],
    [
      ["b", 2],
      ["a", 3],
    ],
  );
});
