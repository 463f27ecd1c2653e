/** Tests of the payment journal: each transaction counts once, across restarts, and expires, the oldest first. */

import assert from "node:assert/strict";
import { it } from "node:test";
import { SimulatedClock } from "../../../test/support/clock.ts";
import { mapMemory } from "../../../test/support/mac-outbound.ts";
import { PaymentJournal } from "./payment-journal.ts";

const DAY = 86_400_000;

it("expires entries after a month, in whatever order the memory lists them", async () => {
  const clock = new SimulatedClock();
  const entries = new Map<string, string>();
  const first = new PaymentJournal(mapMemory(entries), clock);
  assert.equal(await first.claim("old", "GUID-1"), true);
  await clock.advance(20 * DAY);
  assert.equal(await first.claim("young", "GUID-2"), true);
  assert.deepEqual([await first.claim("young", "GUID-2"), await first.claim("young", "GUID-3")], [true, false]);
  const next = new PaymentJournal(mapMemory(new Map([...entries].reverse())), clock);
  await next.load();
  assert.equal(await next.claim("young", "GUID-3"), false);
  await clock.advance(11 * DAY);
  assert.equal(await next.claim("new", "GUID-4"), true);
  assert.equal(await next.claim("old", "GUID-5"), true);
  assert.equal(await next.claim("young", "GUID-6"), false);
});
