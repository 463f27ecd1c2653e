/** Deliveries that arrive while others of their lane are given back follow them. */

import assert from "node:assert/strict";
import { test } from "node:test";
import type { ClaimedDelivery } from "../../store/store.ts";
import { DeliveryReleases } from "./delivery-releases.ts";

const held = (lease: number, lane: string) => ({ lease, delivery: { lane } }) as ClaimedDelivery;

test("a delivery that arrives while its lane gives others back is given back too, and another lane's is not", async () => {
  const released: number[][] = [];
  const ends: (() => void)[] = [];
  const store = {
    release: (_: string, leases: readonly number[]) => {
      released.push([...leases]);
      return new Promise<void>((resolve) => ends.push(resolve));
    },
  };
  const releases = new DeliveryReleases(store, () => assert.fail());
  const [first, second, third, other] = [held(1, "a"), held(2, "a"), held(3, "a"), held(4, "b")];
  assert.deepEqual(releases.accept([first, other], 0), { accepted: [first, other], lanes: [] });
  releases.release([first]);
  assert.deepEqual(releases.accept([second, other], 0), { accepted: [other], lanes: ["a"] });
  ends.shift()?.();
  await new Promise((resolve) => setImmediate(resolve));
  assert.deepEqual(releases.accept([third], 0), { accepted: [], lanes: ["a"] }, "the second release goes on");
  assert.deepEqual(released, [[1], [2], [3]]);
  const claimed = held(5, "a");
  const { requested } = releases;
  assert.deepEqual(
    releases.accept([claimed], requested),
    { accepted: [claimed], lanes: [] },
    "claimed after the releases",
  );
  assert.deepEqual(
    releases.accept([claimed], requested - 1),
    { accepted: [], lanes: ["a"] },
    "claimed before the last one",
  );
  for (const end of ends) end();
  await new Promise((resolve) => setImmediate(resolve));
  assert.deepEqual(releases.accept([third], 0), { accepted: [third], lanes: [] });
});
