/** A grace period runs out. */

import assert from "node:assert/strict";
import { test } from "node:test";
import { graceOf, shareLeft } from "./grace-period.ts";

test("a period lasts from the endpoint's last change to the expiry of its old secret", () => {
  const updatedAt = "2031-05-01T09:00:00.000Z";
  assert.equal(graceOf({ updatedAt, previousSecretExpiresAt: null }), null);
  const grace = graceOf({ updatedAt, previousSecretExpiresAt: "2031-05-01T10:00:00.000Z" });
  assert.deepEqual(grace, { from: Date.parse(updatedAt), until: Date.parse(updatedAt) + 3_600_000 });
});

test("the bar goes from full to nothing", () => {
  const grace = { from: 1_000, until: 5_000 };
  assert.deepEqual(
    [0, 1_000, 4_000, 5_000, 9_000].map((now) => shareLeft(grace, now)),
    [1, 1, 0.25, null, null],
  );
  assert.equal(shareLeft(null, 0), null);
  assert.equal(shareLeft({ from: 9_000, until: 5_000 }, 1_000), 1, "the sandbox's clock was moved past the end");
});
