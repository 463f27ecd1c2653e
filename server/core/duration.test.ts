/** Tests of durations: what is read and what is refused. */

import assert from "node:assert/strict";
import test from "node:test";
import { parseDuration } from "./duration.ts";

test("a duration is a whole number with one unit", () => {
  assert.equal(parseDuration("250ms"), 250);
  assert.equal(parseDuration("30s"), 30_000);
  assert.equal(parseDuration("5m"), 300_000);
  assert.equal(parseDuration("72h"), 259_200_000);
  assert.equal(parseDuration("30d"), 2_592_000_000);
});

test("anything else is no duration", () => {
  for (const text of ["", "30", "s", "-5s", "1.5h", "30 s", "30S", "1h30m", "5min", "1e3s", "0x5s", "9999999999999s"]) {
    assert.equal(parseDuration(text), null, text);
  }
});
