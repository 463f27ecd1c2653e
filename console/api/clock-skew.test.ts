import assert from "node:assert/strict";
import test from "node:test";
import { skewAfter } from "./clock-skew.ts";

const NOW = Date.UTC(2026, 0, 1, 12, 0, 0, 900);
const date = (ms: number) => new Date(NOW + ms).toUTCString();

test("clocks that agree to a few seconds have no skew", () => {
  assert.equal(skewAfter(0, date(0), NOW), 0);
  assert.equal(skewAfter(60_000, date(-1_500), NOW), 0);
});

test("a computer whose clock is off reads times by the service's clock, and they do not jitter with each answer", () => {
  const skew = skewAfter(0, date(300_000), NOW);
  assert.ok(Math.abs(skew - 300_000) <= 1_000, String(skew));
  assert.equal(skewAfter(skew, date(301_000), NOW), skew);
  assert.notEqual(skewAfter(skew, date(-300_000), NOW), skew);
});

test("an answer without a date changes nothing", () => {
  assert.equal(skewAfter(42_000, null, NOW), 42_000);
  assert.equal(skewAfter(42_000, "soon", NOW), 42_000);
});
