/** Instants at the ends of the calendar: what is taken can be answered again, in four digits of a year. */

import assert from "node:assert/strict";
import { test } from "node:test";
import { iso, parseBound, parseInstant } from "./instant.ts";

test("an instant has a year of four digits in UTC too, whatever its offset", () => {
  for (const text of ["0000-01-01T00:00:00Z", "9999-12-31T23:59:59.999999999Z", "9999-12-31T00:00:00-23:59"]) {
    const at = parseInstant(text);
    assert.ok(at !== null, text);
    assert.match(new Date(at).toISOString(), /^\d{4}-/);
  }
  for (const text of ["0000-01-01T00:00:00+23:59", "9999-12-31T23:59:59-00:01"]) {
    assert.equal(parseInstant(text), null, text);
  }
});

test("`to` of a date is the end of that day, also on 9999-12-31", () => {
  assert.equal(parseBound("2026-01-31", "to"), Date.UTC(2026, 1, 1));
  const last = parseBound("9999-12-31", "to");
  assert.equal(new Date(last ?? 0).toISOString(), "9999-12-31T23:59:59.999Z");
  assert.equal(parseBound("9999-12-31", "from"), Date.UTC(9999, 11, 31));
});

test("instants are formatted as Date does, whatever instant came before", () => {
  const ends = [
    Date.UTC(-1, 0, 1),
    Date.parse("0000-01-01T00:00:00Z"),
    Date.parse("9999-12-31T23:59:59.999Z"),
    8.64e15,
  ];
  const near = (at: number) => [at, at - 1, at + 1, at + 999, at + 1_000, at - 1_000].filter((one) => one <= 8.64e15);
  for (const at of [0, 1_767_225_600_000, ...ends].flatMap(near)) assert.equal(iso(at), new Date(at).toISOString());
  assert.throws(() => iso(Number.NaN), RangeError);
});
