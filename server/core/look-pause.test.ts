/** Tests of the pauses of tasks that repeat themselves. */

import assert from "node:assert/strict";
import { test } from "node:test";
import fc from "fast-check";
import { pauseAfterLook } from "./look-pause.ts";

test("the pause after a look is 20 times its duration, at least the usual pause and never more than 2 s", () => {
  assert.deepEqual(
    [0, 5, 10, 50, 100, 101, 3_000, 3_600_000].map((tookMs) => pauseAfterLook(tookMs, 200)),
    [200, 200, 200, 1_000, 2_000, 2_000, 2_000, 2_000],
  );
  fc.assert(
    fc.property(fc.double({ min: 0, max: 1e9, noNaN: true }), fc.nat(2_000), (tookMs, msMin) => {
      const pauseMs = pauseAfterLook(tookMs, msMin);
      assert.ok(pauseMs >= msMin && pauseMs <= 2_000);
    }),
  );
});
