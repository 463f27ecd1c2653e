/** The actions that a customer may do to a message, by the message's status. */

import assert from "node:assert/strict";
import { describe, test } from "node:test";
import { MESSAGE_STATUSES, type MessageStatus } from "../../../sdk/wire.ts";
import { type EngineStage, engineStage } from "../../../test/support/engine.ts";
import { receipt, UNKNOWN } from "../../../test/support/provider.ts";
import type { CustomerId, MessageId } from "../../core/id.ts";
import type { Message } from "../../core/message.ts";
import { deleteMessage, retryMessage } from "./actions.ts";
import { cancelSchedule } from "./schedule.ts";

/** A message that is laid down in a status. */
async function messageIn(stage: EngineStage, status: MessageStatus): Promise<MessageId> {
  const scheduledAt = new Date(stage.clock.now() + 3_600_000).toISOString();
  const id = await stage.send({ scheduledAt });
  const set: Partial<Message> = { status, ...(status === "scheduled" ? {} : { dueAt: null }) };
  if (status === "failed") Object.assign(set, { errorCode: "REJECTED", errorMessage: "not wanted" });
  const { version } = await stage.message(id);
  await stage.deps.store.commit([{ op: "update", table: "messages", id, version, set }]);
  return id;
}

const retrying = (stage: EngineStage, id: string, customerId: CustomerId = stage.customer.id) => {
  return { customerId, id, mayDuplicate: false, idempotencyKey: null };
};

interface Verb {
  name: string;
  run(stage: EngineStage, id: MessageId, customerId?: CustomerId): Promise<unknown>;
  refusal: string;
  /** The status afterwards, and the added events. A status without an entry refuses the action. */
  allowed: Partial<Record<MessageStatus, [status: MessageStatus, ...reported: string[]]>>;
}

const VERBS: Verb[] = [
  {
    name: "cancelling its schedule",
    run: (stage, id, customerId = stage.customer.id) => cancelSchedule(stage.life.deps, customerId, id),
    refusal: "NOT_SCHEDULED",
    allowed: { scheduled: ["cancelled", "schedule_cancelled"] },
  },
  {
    name: "a retry",
    run: (stage, id, customerId) => retryMessage(stage.life.deps, retrying(stage, id, customerId)),
    refusal: "INVALID_STATUS",
    allowed: { failed: ["queued", "queued"] },
  },
  {
    name: "a deletion",
    run: (stage, id, customerId = stage.customer.id) => deleteMessage(stage.life.deps, customerId, id),
    refusal: "INVALID_STATUS",
    allowed: {
      scheduled: ["cancelled", "schedule_cancelled", "deleted"],
      sent: ["sent", "deleted"],
      delivered: ["delivered", "deleted"],
      read: ["read", "deleted"],
      failed: ["failed", "deleted"],
      cancelled: ["cancelled", "deleted"],
      unsent: ["unsent", "deleted"],
      received: ["received", "deleted"],
    },
  },
];

for (const { name, run, refusal, allowed } of VERBS) {
  describe(`${name}`, () => {
    for (const status of MESSAGE_STATUSES) {
      const [becomes, ...adds] = allowed[status] ?? [null];
      test(`from ${status} ${becomes === null ? `is refused with ${refusal}` : `emits ${adds.join(", ")}`}`, async (t) => {
        const stage = await engineStage(t);
        const id = await messageIn(stage, status);
        const before = await stage.message(id);
        if (becomes === null) {
          await assert.rejects(run(stage, id), { code: refusal });
          assert.deepEqual(await stage.message(id), before);
          assert.deepEqual(await stage.eventTypes(id), ["scheduled"]);
          return;
        }
        await run(stage, id);
        assert.equal((await stage.message(id)).status, becomes);
        assert.deepEqual(await stage.eventTypes(id), ["scheduled", ...adds]);
      });
    }

    test("is a 404 for another customer's message and for a missing message", async (t) => {
      const stage = await engineStage(t);
      const { customer } = await stage.addTenant("Other");
      const [status = "failed"] = Object.keys(allowed) as MessageStatus[];
      const id = await messageIn(stage, status);
      const before = await stage.message(id);
      await assert.rejects(run(stage, id, customer.id), { code: "NOT_FOUND" });
      await assert.rejects(run(stage, "msg_00000000-0000-7000-8000-000000000000"), { code: "NOT_FOUND" });
      assert.deepEqual(await stage.message(id), before);
    });
  });
}

test("a retry begins on the channel that failed, expires after 72 h and clears the failure", async (t) => {
  const stage = await engineStage(t);
  const id = await stage.send();
  await stage.run();
  await stage.report(receipt("failed"));
  await stage.report(receipt("failed", { reference: "ref-2", channel: "sms" }));
  assert.equal((await stage.message(id)).status, "failed");
  const { message, repeated } = await retryMessage(stage.life.deps, retrying(stage, id));
  assert.equal(repeated, false);
  assert.deepEqual(
    [message.channel, message.errorCode, message.providerErrorCode, message.sentAt, message.retryCount],
    ["sms", null, null, null, 1],
  );
  assert.equal(message.expiresAt, stage.clock.now() + 72 * 3_600_000);
  await stage.run();
  assert.deepEqual(
    stage.provider.handed.map(({ channel, attempt }) => [channel, attempt]),
    [
      ["imessage", 1],
      ["sms", 1],
      ["sms", 1],
    ],
  );
});

test("a retry with a repeated idempotency key does nothing and returns the message's current state", async (t) => {
  const stage = await engineStage(t);
  const id = await messageIn(stage, "failed");
  const keyed = { ...retrying(stage, id), idempotencyKey: "again" };
  await retryMessage(stage.life.deps, keyed);
  await stage.run();
  const { message, repeated } = await retryMessage(stage.life.deps, keyed);
  assert.deepEqual([repeated, message.status, message.retryCount], [true, "sent", 1]);
  assert.equal(stage.provider.handed.length, 1);
});

describe("a deleted message", () => {
  test("has no text left, is deleted once, and is not retried", async (t) => {
    const stage = await engineStage(t);
    const id = await messageIn(stage, "failed");
    await deleteMessage(stage.life.deps, stage.customer.id, id);
    const message = await stage.message(id);
    assert.deepEqual([message.text, message.deletedAt], [null, stage.clock.now()]);
    await assert.rejects(deleteMessage(stage.life.deps, stage.customer.id, id), { code: "ALREADY_DELETED" });
    await assert.rejects(retryMessage(stage.life.deps, retrying(stage, id)), { code: "NOT_FOUND" });
    await assert.rejects(cancelSchedule(stage.life.deps, stage.customer.id, id), { code: "NOT_FOUND" });
  });

  test("does not fall back to another channel", async (t) => {
    const stage = await engineStage(t);
    const id = await stage.send({ routing: { fallbackAfterSeconds: 10 } });
    await stage.run();
    await deleteMessage(stage.life.deps, stage.customer.id, id);
    await stage.pass(60_000);
    await stage.report(receipt("failed"));
    assert.equal(stage.provider.handed.length, 1);
    assert.deepEqual(await stage.eventTypes(id), ["queued", "sent", "deleted", "failed"]);
  });

  test("emits the events of later receipts without its text", async (t) => {
    const stage = await engineStage(t);
    const id = await stage.send();
    await stage.run();
    await deleteMessage(stage.life.deps, stage.customer.id, id);
    await stage.report(receipt("delivered"));
    const texts = (await stage.events(id)).map(({ data }) => data.text);
    assert.deepEqual(texts, ["Hello", "Hello", null, null]);
  });

  test("deleting a message with an unknown outcome is INVALID_STATUS", async (t) => {
    const stage = await engineStage(t);
    stage.provider.sendNext.push(UNKNOWN);
    const id = await stage.send();
    await stage.run();
    await assert.rejects(deleteMessage(stage.life.deps, stage.customer.id, id), { code: "INVALID_STATUS" });
  });
});
