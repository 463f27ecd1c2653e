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

test("whatever else is deleted, set again or cleared, the entry that was set first goes first", () => {
  const map = new Map<number, number>();
  const model: number[] = [];
  let seed = 1;
  for (let step = 0; step < 20_000; step += 1) {
    seed = (seed * 48_271) % 2_147_483_647;
    const key = seed % 97;
    if (step % 5_000 === 4_999) {
      map.clear();
      model.length = 0;
    }
    if (model.includes(key)) model.splice(model.indexOf(key), 1);
    if (seed % 7 === 0) map.delete(key);
    else {
      setBounded(map, key, step, 40);
      if (model.length === 40) model.shift();
      model.push(key);
    }
    if (step % 50 === 0) assert.deepEqual([...map.keys()], model);
  }
});
