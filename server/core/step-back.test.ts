/** Steps back of a clock. */

import assert from "node:assert/strict";
import test from "node:test";
import { STEP_BACK_MAX_MS, withoutStepBack } from "./step-back.ts";

test("a small step back of the clock is hidden, a large one is not", () => {
  assert.equal(withoutStepBack(10_000, 11_000), 11_000);
  assert.equal(withoutStepBack(10_000, 10_000), 10_000);
  assert.equal(withoutStepBack(10_000, 9_999), 10_000);
  assert.equal(withoutStepBack(10_000, 10_001 - STEP_BACK_MAX_MS), 10_000);
  assert.equal(withoutStepBack(10_000, 10_000 - STEP_BACK_MAX_MS), 5_000);
});
