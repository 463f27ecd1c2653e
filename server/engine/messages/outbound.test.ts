/** The outbound message of a provider beside its text: the group, the reply, and the features of iMessage. */

import assert from "node:assert/strict";
import { describe, test } from "node:test";
import type { SendMessage } from "../../../sdk/wire.ts";
import { commitAll } from "../../../test/support/context.ts";
import { type EngineStage, engineStage } from "../../../test/support/engine.ts";
import { NOT_REACHABLE, UNKNOWN } from "../../../test/support/provider.ts";
import { groupFor, TO } from "../../../test/support/sending.ts";
import type { MessageId } from "../../core/id.ts";

/** Sends a message, and returns the last message that the provider got. */
async function handed(stage: EngineStage, body: Partial<SendMessage>) {
  const id = await stage.send(body);
  await stage.run();
  const outbound = stage.provider.handed.findLast(({ messageId }) => messageId === id);
  assert.ok(outbound !== undefined, `${id} was not sent`);
  return outbound;
}

describe("a message to a group", () => {
  test("carries the group's reference, and its participants at the time of sending", async (t) => {
    const stage = await engineStage(t);
    const chat = await groupFor(stage, { reference: "guid-1" });
    const scheduledAt = new Date(stage.clock.now() + 1_000).toISOString();
    const id = await stage.send({ to: "", chatId: chat.id, scheduledAt });
    const set = { participants: [TO] };
    await commitAll(stage.deps, [{ op: "update", table: "chats", id: chat.id, version: chat.version, set }]);
    await stage.pass(1_000);
    const outbound = stage.provider.handed.find(({ messageId }) => messageId === id);
    assert.deepEqual(
      [outbound?.to, outbound?.group],
      [
        chat.id,
        {
          chatId: chat.id,
          customerId: stage.customer.id,
          from: stage.number.address,
          channel: "imessage",
          contact: null,
          reference: "guid-1",
          participants: [TO],
        },
      ],
    );
    assert.deepEqual(await stage.eventTypes(id), ["scheduled", "queued", "sent"]);
  });

  test("fails without a send attempt if the customer has left the group before it is due", async (t) => {
    const stage = await engineStage(t);
    const chat = await groupFor(stage);
    const scheduledAt = new Date(stage.clock.now() + 1_000).toISOString();
    const id = await stage.send({ to: "", chatId: chat.id, scheduledAt });
    const set = { leftAt: stage.clock.now() };
    await commitAll(stage.deps, [{ op: "update", table: "chats", id: chat.id, version: chat.version, set }]);
    await stage.pass(1_000);
    assert.deepEqual(await stage.eventTypes(id), ["scheduled", "queued", "failed"]);
    const { errorCode, providerErrorCode } = await stage.message(id);
    assert.deepEqual([errorCode, providerErrorCode, stage.provider.handed], ["REJECTED", "GROUP_LEFT", []]);
  });

  test("does not fall back to SMS if it is refused", async (t) => {
    const stage = await engineStage(t);
    const chat = await groupFor(stage);
    stage.provider.sendNext.push(NOT_REACHABLE);
    const id = await stage.send({ to: "", chatId: chat.id });
    await stage.run();
    assert.deepEqual(await stage.eventTypes(id), ["queued", "failed"]);
  });

  test("is reconciled together with its group", async (t) => {
    const stage = await engineStage(t);
    const chat = await groupFor(stage);
    stage.provider.sendNext.push(UNKNOWN);
    await stage.send({ to: "", chatId: chat.id });
    await stage.run();
    await stage.pass(2_000);
    assert.equal(stage.provider.asked[0]?.group?.chatId, chat.id);
  });
});

describe("a reply", () => {
  test("carries the provider's reference of the message that it replies to", async (t) => {
    const stage = await engineStage(t);
    const { messageId } = await handed(stage, {});
    const { providerMessageId } = await stage.message(messageId);
    assert.ok(providerMessageId !== null);
    assert.equal((await handed(stage, { replyTo: messageId })).replyTo, providerMessageId);
  });

  test("carries no reference if the other message has none, or was sent by SMS", async (t) => {
    const stage = await engineStage(t);
    const scheduledAt = new Date(stage.clock.now() + 3_600_000).toISOString();
    const unsent = await stage.send({ scheduledAt });
    assert.equal((await handed(stage, { replyTo: unsent })).replyTo, null);
    const sms = await handed(stage, { routing: { preference: ["sms"] } });
    assert.equal((await handed(stage, { replyTo: sms.messageId })).replyTo, null);
  });
});

test("effect, mentions and reply are sent over iMessage, and ignored over SMS", async (t) => {
  const stage = await engineStage(t);
  const { messageId: replyTo } = await handed(stage, {});
  const mention = { address: TO, start: 0, length: 5 };
  const rich: Partial<SendMessage> = { replyTo, effect: "slam", mentions: [mention] };
  const first = await handed(stage, rich);
  assert.deepEqual([first.effect, first.mentions, first.replyTo === null], ["slam", [mention], false]);
  stage.provider.sendNext.push(NOT_REACHABLE);
  const { channel, effect, mentions, replyTo: reply, messageId } = await handed(stage, rich);
  assert.deepEqual([channel, effect, mentions, reply], ["sms", null, [], null]);
  assert.equal((await stage.message(messageId as MessageId)).effect, "slam", "the record says what was asked for");
});
