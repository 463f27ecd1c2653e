/** The store's suite: claims of messages while some pairs of sender and recipient wait for an interrupted send attempt. */

import assert from "node:assert/strict";
import { NOW, type Promises } from "./store-stage.ts";

const to = (index: number) => `+1500555${String(index).padStart(4, "0")}`;
const idsOf = (records: readonly { id: string }[]) => records.map(({ id }) => id);

/** Messages behind an interrupted send attempt keep their place, and no others wait. */
export function claimsOfWaitingPairs(promise: Promises): void {
  promise(
    "a claim takes from a waiting pair only its exceptions and messages that are not queued, and other pairs as usual",
    async (stage) => {
      const customer = await stage.addCustomer();
      const followers: string[] = [];
      for (let index = 0; index < 200; index += 1) {
        followers.push((await stage.addMessage(customer, { dueAt: NOW - 100, to: to(1) })).id);
      }
      const again = await stage.addMessage(customer, { dueAt: NOW, to: to(1) });
      const pending = await stage.addMessage(customer, { dueAt: NOW, to: to(2), status: "pending" });
      const behind = await stage.addMessage(customer, { dueAt: NOW - 50, to: to(2) });
      const other = await stage.addMessage(customer, { dueAt: NOW, to: to(3) });
      const { from } = again;
      const waiting = [
        { from, to: to(1), except: [again.id] },
        { from, to: to(2), except: [pending.id] },
      ];
      const claimed = await stage.claimMessages(stage.instanceId, 9, { waiting });
      assert.deepEqual(idsOf(claimed).toSorted(), [again.id, pending.id, other.id].toSorted());
      assert.deepEqual(await stage.claimMessages(stage.instanceId, 9, { waiting }), []);
      for (const message of claimed) await stage.update("messages", message, { status: "sent", dueAt: null });
      const next = idsOf(await stage.claimMessages(stage.instanceId, 16));
      assert.deepEqual(next.toSorted(), [...followers.slice(0, 8), behind.id].toSorted());
    },
  );
}
