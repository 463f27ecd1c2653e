/** The store's suite: records of send attempts. */

import assert from "node:assert/strict";
import type { SendAttempt } from "../../server/core/send-attempt.ts";
import { NOW, type Promises } from "./store-stage.ts";

export function sendAttempts(promise: Promises): void {
  promise("a set changes a send attempt, if it is there, and nothing else of it", async (stage) => {
    const message = await stage.addMessage(await stage.addCustomer());
    const attempts = [1, 2, 3].map((number): SendAttempt => {
      const { id: messageId, instanceId } = message;
      const state = { state: "accepted", reference: `r${number}`, note: `note ${number}` } as const;
      return { messageId, number, channel: "sms", instanceId, ...state, startedAt: NOW, endedAt: NOW };
    });
    await stage.ok(attempts.map((record) => ({ op: "insert", table: "sendAttempts", record })));
    const { instanceId } = message;
    const set = { note: null };
    await stage.ok([{ op: "set", table: "sendAttempts", where: { instanceId, reference: "r1" }, set }]);
    await stage.ok([{ op: "set", table: "sendAttempts", where: { instanceId, reference: "none" }, set }]);
    const notes = (await stage.all("sendAttempts")).map(({ number, reference, note }) => [number, reference, note]);
    assert.deepEqual(notes, [
      [1, "r1", null],
      [2, "r2", "note 2"],
      [3, "r3", "note 3"],
    ]);
  });
}
