import assert from "node:assert/strict";
import { test } from "node:test";
import { ago } from "./ago.ts";

const AT = "2026-07-30T12:00:00.000Z";

test("an instant is told in the largest unit of which it is a whole one, and as it is if it is still to come", () => {
  const after = (seconds: number) => ago(AT, Date.parse(AT) + seconds * 1_000);
  assert.deepEqual([-60, -1, 0, 59.9, 60, 3_599, 3_600, 86_399, 86_400, 864_000].map(after), [
    "0 s ago",
    "0 s ago",
    "0 s ago",
    "59 s ago",
    "1 min ago",
    "59 min ago",
    "1 h ago",
    "23 h ago",
    "1 d ago",
    "10 d ago",
  ]);
  assert.equal(after(-61), AT);
});
