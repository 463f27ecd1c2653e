/** A packed list is unpacked as it was, also beside damaged items. */

import assert from "node:assert/strict";
import { test } from "node:test";
import fc from "fast-check";
import { ATTEMPTS_PACKING, TIMELINE_PACKING } from "./packing.ts";

const at = fc.integer({ min: 0, max: 8_640_000_000_000 });
const entry = fc.record(
  {
    status: fc.constantFrom("queued", "pending", "sent", "delivered"),
    at,
    channel: fc.constantFrom("sms", "imessage"),
    reason: fc.string(),
    instanceId: fc.constantFrom("inst_1", "inst_2", ""),
    aheadMs: fc.integer({ min: 1 }),
  },
  { requiredKeys: ["status", "at", "channel"] },
);
const attempt = fc.record(
  {
    at,
    status: fc.option(fc.integer({ min: 100, max: 599 })),
    durationMs: fc.double({ min: 0, noNaN: true }),
    response: fc.option(fc.string()),
    error: fc.option(fc.string()),
    retryAfterSeconds: fc.integer({ min: 1, max: 86_400 }),
    headers: fc.string(),
    aheadMs: fc.integer({ min: 1 }),
  },
  { requiredKeys: ["at", "status", "durationMs", "response", "error"] },
);

for (const { title, packing, item } of [
  { title: "a timeline", packing: TIMELINE_PACKING, item: entry },
  { title: "the attempts of a delivery", packing: ATTEMPTS_PACKING, item: attempt },
] as const) {
  test(`${title} is unpacked as it was packed, also behind damaged items`, () => {
    fc.assert(
      fc.property(
        fc.array<object>(item, { maxLength: 8 }),
        fc.array<object>(item, { maxLength: 3 }),
        (items, damaged) => {
          const plain = JSON.parse(JSON.stringify(items));
          const stored = JSON.parse(JSON.stringify(packing.pack(items)));
          assert.deepEqual(packing.unpack(stored), plain);
          assert.deepEqual(packing.unpack(damaged), damaged);
        },
      ),
    );
  });
}

test("a timeline names its instance and its channel once", () => {
  const instanceId = "inst_019b76da-a800-777a-a2a3-581013ec5c0f";
  const entries = [
    { status: "queued", at: 1_767_225_600_268, channel: "imessage", reason: "why", instanceId },
    { status: "pending", at: 1_767_225_600_273, channel: "imessage", instanceId },
    { status: "delivered", at: 1_767_225_600_283, channel: "imessage" },
  ];
  const packed = JSON.stringify(TIMELINE_PACKING.pack(entries));
  assert.equal(
    packed,
    `[["queued",1767225600268,"imessage","${instanceId}","why"],["pending",5,0,0],["delivered",10,0]]`,
  );
});
