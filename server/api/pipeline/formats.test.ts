/** Instants that the validator accepts, and the size of metadata. */

import assert from "node:assert/strict";
import { test } from "node:test";
import { FORMATS, jsonBytesWithin } from "./formats.ts";

const isInstant = (text: string) => FORMATS.instant?.validate(text) ?? false;

test("an instant is an existing time in ISO 8601 with an offset or Z", () => {
  for (const good of [
    "2026-01-31T09:30:00Z",
    "2026-01-31T09:30:00.123+05:30",
    "2028-02-29T00:00Z",
    "2026-12-31t23:59:59z",
  ]) {
    assert.ok(isInstant(good), good);
  }
  const bad = [
    "2026-01-31",
    "2026-01-31T09:30:00",
    "2026-02-30T00:00:00Z",
    "2026-13-01T00:00:00Z",
    "2026-01-31 09:30Z",
  ];
  for (const text of [...bad, "tomorrow", "", "2026-01-31T24:00:00Z", "2026-01-31T09:30:60Z", "1767225600"]) {
    assert.ok(!isInstant(text), text);
  }
});

test("the size of metadata is that of its compact JSON in UTF-8", () => {
  const rows: [unknown, number][] = [
    [{ a: "ü" }, 10],
    [{ a: "\u0000", b: [1, null, "x"] }, 31],
    [{}, 2],
    [{ "": [] }, 7],
  ];
  for (const [value, bytes] of rows) {
    assert.deepEqual([jsonBytesWithin(value, bytes), jsonBytesWithin(value, bytes - 1)], [true, false]);
  }
});

test("metadata far beyond its limit is refused without being serialised", () => {
  const huge = {
    text: "x".repeat(100_000),
    toJSON(): never {
      throw new Error("it was written out");
    },
  };
  assert.equal(jsonBytesWithin(huge, 16_384), false);
});
