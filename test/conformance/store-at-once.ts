/** The store's suite: claims of the deliveries that a retry by hand or a test asks for. */

import assert from "node:assert/strict";
import type { Delivery } from "../../server/core/delivery.ts";
import { addDeliveries } from "./store-claims.ts";
import { LEASE_MS, NOW, type Promises } from "./store-stage.ts";

const idsOf = (records: readonly { id: string }[]) => records.map(({ id }) => id);

/** They are claimed whatever is due before them in their lanes. */
export function claimedAtOnce(promise: Promises): void {
  promise(
    "a claim of deliveries that go at once takes those that were asked for, are due and in its lanes, and leaves all others",
    async (stage) => {
      const customer = await stage.addCustomer();
      const test = { lane: "a", eventType: "webhook.test" } as const;
      const wanted: Partial<Delivery>[] = [
        { lane: "a", dueAt: NOW - 9 },
        { lane: "a", byHand: true },
        test,
        { ...test, attemptCount: 1 },
        { lane: "a", byHand: true, dueAt: NOW + 1 },
        { lane: "b", byHand: true },
        { lane: "a", byHand: true },
        { lane: "a", retryRequested: true },
      ];
      const [first, byHand, tested, tried, later, elsewhere, unasked, requested] = idsOf(
        await addDeliveries(stage, customer, wanted),
      );
      const atOnce = [tested, first, byHand, tried, later, elsewhere, requested, "dlv_none"] as Delivery["id"][];
      const claim = { lanes: [{ lane: "a", permits: 0 }], now: NOW, leaseMs: LEASE_MS, atOnce };
      const { claimed, more } = await stage.store.claimDeliveries(claim);
      assert.deepEqual(idsOf(claimed.map(({ delivery }) => delivery)).sort(), [byHand, tested, requested].sort());
      assert.deepEqual(more, []);
      assert.ok(claimed.every(({ bytes }) => bytes.length > 0));
      assert.deepEqual((await stage.store.claimDeliveries(claim)).claimed, [], "they are leased");
      assert.deepEqual(idsOf(await stage.claimDeliveries("a", 9)), [first, tried, unasked]);
      await stage.store.release(
        "deliveries",
        claimed.map(({ lease }) => lease),
      );
      assert.deepEqual(
        idsOf(await stage.claimDeliveries("a", 9)),
        [byHand, tested, requested],
        "they keep their places",
      );
    },
  );
}
