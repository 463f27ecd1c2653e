/** The circuit breaker: each state with each signal, as in the table of `breaker.ts`. */

import assert from "node:assert/strict";
import { describe, test } from "node:test";
import { type BreakerState, CircuitBreaker } from "./breaker.ts";

const WAIT_MS = 10_000;
/** Two messages that wait in other lanes. */
const [A, B] = ["msg_a", "msg_b"] as const;

/** A breaker in a state, and the time. */
function breakerIn(state: BreakerState): { breaker: CircuitBreaker; now: number } {
  const breaker = new CircuitBreaker();
  if (state === "closed") return { breaker, now: 0 };
  breaker.trip(WAIT_MS, 0);
  const now = state === "open" ? WAIT_MS - 1 : WAIT_MS;
  assert.equal(breaker.state(now), state);
  return { breaker, now };
}

const TABLE = [
  { state: "closed", permits: 8, admits: [true, true], ended: "closed" },
  { state: "open", permits: 8, admits: [false, false], ended: "half-open" },
  { state: "half-open", permits: 1, admits: [true, false], ended: "half-open" },
] as const;

for (const { state, permits, admits, ended } of TABLE) {
  describe(`a circuit breaker that is ${state}`, () => {
    test(`allows its lane ${permits} of 8 permits`, () => {
      const { breaker, now } = breakerIn(state);
      assert.equal(breaker.permits(8, now), permits);
    });

    test(`admits two messages of other lanes: ${admits.join(" and ")}`, () => {
      const { breaker, now } = breakerIn(state);
      assert.deepEqual([breaker.admits(A, now), breaker.admits(B, now)], admits);
    });

    test("opens for a whole new wait when the instance reports that it is down", () => {
      const { breaker, now } = breakerIn(state);
      breaker.trip(WAIT_MS, now);
      assert.equal(breaker.state(now), "open");
      assert.equal(breaker.state(now + WAIT_MS - 1), "open");
      assert.equal(breaker.state(now + WAIT_MS), "half-open");
    });

    test(`is ${ended} when the wait has ended`, () => {
      const { breaker, now } = breakerIn(state);
      assert.equal(breaker.state(now + WAIT_MS), ended);
    });

    test("closes when the instance is up", () => {
      const { breaker, now } = breakerIn(state);
      breaker.reset();
      assert.equal(breaker.state(now), "closed");
      assert.deepEqual([breaker.admits(A, now), breaker.admits(B, now)], [true, true]);
    });
  });
}

test("a breaker stays open for 1 to 60 seconds, whatever the instance asks for", () => {
  for (const [waitMs, openMs] of [
    [0, 1_000],
    [7_000, 7_000],
    [3_600_000, 60_000],
  ] as const) {
    const { breaker } = breakerIn("closed");
    breaker.trip(waitMs, 0);
    assert.deepEqual([breaker.state(openMs - 1), breaker.state(openMs)], ["open", "half-open"]);
  }
});

test("a half-open breaker admits the same probe again, and another probe after a minute", () => {
  const { breaker, now } = breakerIn("half-open");
  assert.deepEqual(
    [A, B, A].map((id) => breaker.admits(id, now)),
    [true, false, true],
  );
  assert.equal(breaker.admits(B, now + 59_999), false);
  assert.deepEqual(
    [B, A].map((id) => breaker.admits(id, now + 60_000)),
    [true, false],
  );
});

test("after a second failure the first message that asks becomes the probe", () => {
  const { breaker, now } = breakerIn("half-open");
  assert.equal(breaker.admits(A, now), true);
  breaker.trip(WAIT_MS, now);
  assert.deepEqual(
    [B, A].map((id) => breaker.admits(id, now + WAIT_MS)),
    [true, false],
  );
});

test("ten failed attempts in a row let one attempt probe each second, and each connection doubles how many may run", () => {
  const breaker = new CircuitBreaker();
  for (let count = 0; count < 9; count += 1) breaker.failed(0);
  breaker.connected(64);
  for (let count = 0; count < 9; count += 1) breaker.failed(0);
  assert.deepEqual([breaker.state(0), breaker.isLimited], ["closed", false], "not in a row");
  for (let count = 0; count < 60; count += 1) breaker.failed(count * 10);
  assert.deepEqual([breaker.state(999), breaker.state(1_000), breaker.permits(64, 1_000)], ["open", "half-open", 1]);
  breaker.failed(1_500);
  assert.deepEqual([breaker.state(2_499), breaker.state(2_500)], ["open", "half-open"], "each further one reopens it");
  const permits = [2_500, 2_501, 2_502, 2_503, 2_504, 2_505].map((now) => {
    breaker.connected(64);
    return breaker.permits(64, now);
  });
  assert.deepEqual([permits, breaker.isLimited], [[2, 4, 8, 16, 32, 64], false]);
});
