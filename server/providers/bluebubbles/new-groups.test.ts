/** Names that wait for the first message to a group are bounded. */

import assert from "node:assert/strict";
import { test } from "node:test";
import { SimulatedClock } from "../../../test/support/clock.ts";
import { mapMemory } from "../../../test/support/mac-outbound.ts";
import type { Mac } from "./mac.ts";
import { NewGroups } from "./new-groups.ts";

test("beyond 10,000 names of groups that nobody wrote to, the oldest is forgotten, also on disk", async () => {
  const entries = new Map<string, string>();
  const context = { clock: new SimulatedClock(), memory: mapMemory(entries) };
  const groups = new NewGroups({ context } as unknown as Mac, () => assert.fail("nothing is reported"));
  const setName = (participant: string, name: string | null) =>
    groups.setName({ customerId: "cust_1", participants: [participant] }, name);
  await setName("+15551230001", "First");
  const [first = ""] = entries.keys();
  for (let count = 0; count < 10_000; count += 1) await setName(`+1555${1_000_000 + count}`, "A group");
  assert.deepEqual([entries.size, entries.has(first)], [10_000, false]);
  await setName("+15551000000", null);
  assert.equal(entries.size, 9_999);
});
