/** Any JSON is read: each reader returns its own type or null, and none throws. */

import assert from "node:assert/strict";
import { test } from "node:test";
import fc from "fast-check";
import { jsonOf, listOf, numberOf, recordOf, textOf } from "./loose-json.ts";

test("each reader accepts values of its own kind only", () => {
  const values = [
    undefined,
    null,
    true,
    0,
    -1.5,
    Number.NaN,
    Number.POSITIVE_INFINITY,
    "",
    "7",
    [],
    ["a"],
    {},
    { a: 1 },
  ];
  const taken = (read: (value: unknown) => unknown) => values.filter((value) => read(value) !== null);
  assert.deepEqual(taken(recordOf), [{}, { a: 1 }]);
  assert.deepEqual(taken(textOf), ["", "7"]);
  assert.deepEqual(taken(numberOf), [0, -1.5]);
  assert.deepEqual(listOf([1, "a", null, 2, Number.NaN], numberOf), [1, 2]);
  for (const value of values) assert.equal(Array.isArray(listOf(value, textOf)), true);
  assert.deepEqual(listOf({ 0: "a", length: 1 }, textOf), []);
});

test("listOf passes only the item to the reader of items", () => {
  const given: unknown[][] = [];
  listOf(["a", "b"], (...all: unknown[]) => {
    given.push(all);
    return null;
  });
  assert.deepEqual(given, [["a"], ["b"]]);
});

test("jsonOf returns null for invalid JSON, and otherwise the same value as JSON.parse", () => {
  for (const text of ["", "<html>", "{", "{'a':1}", "undefined", '{"a":1}x']) assert.equal(jsonOf(text), null, text);
  fc.assert(
    fc.property(fc.json(), (text) => {
      assert.deepEqual(jsonOf(text), JSON.parse(text));
      assert.deepEqual(jsonOf(Buffer.from(text)), JSON.parse(text));
    }),
  );
});

test("no reader throws on any value, and each returns the value itself or null", () => {
  fc.assert(
    fc.property(fc.anything({ withNullPrototype: true }), (value) => {
      for (const read of [recordOf, textOf, numberOf]) assert.ok([null, value].includes(read(value)));
      assert.deepEqual(
        listOf(value, (item) => ({ item })),
        Array.isArray(value) ? value.map((item) => ({ item })) : [],
      );
    }),
  );
});
