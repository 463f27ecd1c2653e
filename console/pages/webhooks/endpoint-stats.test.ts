/** The figures of an endpoint come from its newest deliveries. */

import assert from "node:assert/strict";
import { test } from "node:test";
import type { Delivery } from "../../../sdk/wire.ts";
import { stateOf, statsOf } from "./endpoint-stats.ts";

function delivery(id: string, status: Delivery["status"], ...attempts: [status: number | null, ms: number][]) {
  return {
    id,
    status,
    attempts: attempts.map(([answer, durationMs]) => ({
      at: "2026-01-01T00:00:00.000Z",
      status: answer,
      durationMs,
      response: null,
      error: answer === null ? "CONNECTION_REFUSED" : null,
    })),
  } as unknown as Delivery;
}

test("attempts are counted by their answer, and bars go from old to new", () => {
  const stats = statsOf([
    delivery("new", "pending", [null, 5]),
    delivery("middle", "succeeded", [503, 10], [200, 20]),
    delivery("old", "exhausted", [500, 40]),
  ]);
  assert.deepEqual([stats.succeeded, stats.attempts, stats.p95Ms, stats.retrying], [1, 4, 40, 1]);
  assert.deepEqual(
    stats.lost.map(({ id }) => id),
    ["old"],
  );
  assert.deepEqual(stats.bars, [
    { id: "old", height: 1, result: "lost" },
    { id: "middle", height: 0.5, result: "delivered" },
    { id: "new", height: 0.125, result: "waiting" },
  ]);
});

test("the state names what needs a hand first", () => {
  const lost = statsOf([delivery("a", "exhausted", [500, 1]), delivery("b", "pending", [500, 1])]);
  const retrying = statsOf([delivery("b", "pending", [500, 1]), delivery("c", "succeeded", [200, 1])]);
  const active = { active: true, isGone: false };
  assert.equal(stateOf({ active: false, isGone: true }, lost), "paused");
  assert.equal(stateOf({ active: true, isGone: true }, lost), "gone");
  assert.equal(stateOf(active, lost), "undelivered");
  assert.equal(stateOf(active, retrying), "retrying");
  assert.equal(stateOf(active, statsOf([delivery("c", "succeeded", [200, 1])])), "delivering");
  assert.equal(stateOf(active, statsOf([])), "idle");
  assert.equal(statsOf([]).p95Ms, null);
});
