import assert from "node:assert/strict";
import { test } from "node:test";
import { retryAfterSeconds } from "./retry-after.ts";

const NOW = Date.parse("2026-11-30T05:00:00.000Z");

test("Retry-After is whole seconds, or a date in one of the three forms of HTTP, at most a day", () => {
  const rows: [value: string, seconds: number][] = [
    ["1", 1],
    ["120", 120],
    [" 120 ", 120],
    ["007", 7],
    ["86400", 86_400],
    ["86401", 86_400],
    ["9".repeat(64), 86_400],
    ["Mon, 30 Nov 2026 05:01:00 GMT", 60],
    ["Monday, 30-Nov-26 05:01:00 GMT", 60],
    ["Mon Nov 30 05:01:00 2026", 60],
    ["Tue Dec  1 04:59:59 2026", 86_399],
    ["Tue, 01 Dec 2026 05:00:01 GMT", 86_400],
    ["Fri, 01 Jan 9999 00:00:00 GMT", 86_400],
    // The name of the day is not judged: the date says enough.
    ["Sun, 30 Nov 2026 05:01:00 GMT", 60],
    ["Mon, 30 Nov 2026 05:00:60 GMT", 60],
  ];
  for (const [value, seconds] of rows) assert.equal(retryAfterSeconds([value], NOW), seconds, value);
  assert.equal(retryAfterSeconds(["Mon, 30 Nov 2026 05:00:01 GMT"], NOW + 1), 1, "a part of a second counts as one");
});

test("any other Retry-After is ignored: 0, the past, none, one that comes twice, and what is neither form", () => {
  const ignored = [
    "",
    "0",
    "000",
    "-1",
    "+1",
    "1.5",
    "1e3",
    "0x10",
    "1 s",
    "1, 2",
    "soon",
    "9".repeat(65),
    "9".repeat(100_000),
    "2026-11-30T05:01:00Z",
    "Mon, 30 Nov 2026 05:00:00 GMT",
    "Mon, 30 Nov 2026 04:59:59 GMT",
    "Monday, 30-Nov-77 05:01:00 GMT",
    "Mon, 30 Nov 2026 05:01:00 UTC",
    "Mon, 30 Nov 2026 05:01:00 +0000",
    "mon, 30 nov 2026 05:01:00 gmt",
    "Mon, 31 Nov 2026 05:01:00 GMT",
    "Mon, 30 Nov 2026 24:01:00 GMT",
    "Mon, 30 Nov 2026 5:01:00 GMT",
    "Mon Nov 30 05:01:00 2026 GMT",
    "\u0661",
  ];
  for (const value of ignored) assert.equal(retryAfterSeconds([value], NOW), null, value.slice(0, 80));
  assert.equal(retryAfterSeconds([], NOW), null);
  for (const twice of [
    ["1", "1"],
    ["60", "120"],
    ["60", ""],
  ])
    assert.equal(retryAfterSeconds(twice, NOW), null);
});

test("a year of two digits is the nearest one that is at most 50 years ahead", () => {
  assert.equal(retryAfterSeconds(["Monday, 30-Nov-76 05:01:00 GMT"], NOW), 86_400);
  const newYear = Date.parse("2099-12-31T23:59:50.000Z");
  assert.equal(retryAfterSeconds(["Friday, 01-Jan-00 00:00:00 GMT"], newYear), null, "1 January 2000");
});
