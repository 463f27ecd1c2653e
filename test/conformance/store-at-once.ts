/** The store's suite: claims of the deliveries that a retry by hand or a test asks for. */

import assert from "node:assert/strict";
import type { Delivery } from "../../server/core/delivery.ts";
import { addDeliveries } from "./store-claims.ts";
import { NOW, type Promises } from "./store-stage.ts";

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
      ];
      const [first, byHand, tested, tried, later, elsewhere, unasked] = idsOf(
        await addDeliveries(stage, customer, wanted),
      );
      const atOnce = [tested, first, byHand, tried, later, elsewhere, "dlv_none"] as Delivery["id"][];
      const claimed = await stage.due.queue.claimAtOnce(["a"], atOnce);
      assert.deepEqual(idsOf(claimed.map(({ delivery }) => delivery)).sort(), [byHand, tested].sort());
      assert.ok(claimed.every(({ bytes }) => bytes.length > 0));
      assert.deepEqual(await stage.due.queue.claimAtOnce(["a"], atOnce), [], "they are in hand");
      assert.deepEqual(idsOf(await stage.claimDeliveries("a", 9)), [first, tried, unasked]);
      stage.due.giveUp(claimed);
      assert.deepEqual(idsOf(await stage.claimDeliveries("a", 9)), [byHand, tested], "they keep their places");
    },
  );
}
