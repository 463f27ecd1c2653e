/** Contacts' messages gain files, and a text, after they were first reported. */

import assert from "node:assert/strict";
import { test } from "node:test";
import { type EngineStage, engineStage } from "../../../test/support/engine.ts";
import { inbound } from "../../../test/support/provider.ts";
import type { InboundAttachment } from "../../core/attachment.ts";
import type { MessageId } from "../../core/id.ts";
import type { InboundSignal } from "../../providers/provider.ts";
import { isOptedOut } from "../contacts/opt-outs.ts";
import { deleteMessage } from "./actions.ts";

const DAY = 86_400_000;

function file(reference: string, more: Partial<InboundAttachment> = {}): InboundAttachment {
  return { reference, mimeType: "image/png", filename: `${reference}.png`, totalBytes: 3, data: null, ...more };
}

function missing(reference: string): InboundAttachment {
  return { reference, mimeType: null, filename: null, totalBytes: null, data: null, missing: true };
}

function growing(attachments: InboundAttachment[], more: Partial<InboundSignal> = {}): InboundSignal {
  return inbound({ attachments, grows: true, ...more });
}

/** The id of the only message. */
async function arrived({ deps }: EngineStage): Promise<MessageId> {
  return (await deps.store.db.selectFrom("messages").select("id").executeTakeFirstOrThrow()).id;
}

test("a file that was missing comes in its place, others after it, each in one message.attachments_added", async (t) => {
  const stage = await engineStage(t);
  await stage.report(growing([file("a"), missing("b")]));
  const id = await arrived(stage);
  const [first, second] = (await stage.message(id)).attachments;
  assert.partialDeepStrictEqual(second, { missing: true, token: null, totalBytes: null });
  for (let times = 0; times < 2; times += 1) await stage.report(growing([file("a"), missing("b")]));
  assert.deepEqual(await stage.eventTypes(id), ["inbound"]);
  for (let times = 0; times < 2; times += 1) await stage.report(growing([file("a"), file("c"), file("b")]));
  assert.deepEqual(await stage.eventTypes(id), ["inbound", "attachments_added"]);
  const { attachments, chatId, messageType } = await stage.message(id);
  assert.deepEqual(attachments.slice(0, 1), [first]);
  assert.deepEqual(
    attachments.map(({ filename, missing: isMissing }) => [filename, isMissing]),
    ["a.png", "b.png", "c.png"].map((name) => [name, undefined]),
  );
  assert.equal(attachments[1]?.guid, second?.guid);
  assert.equal(messageType, "media");
  const [reported, added] = (await stage.events(id)).map(({ data }) => data);
  assert.partialDeepStrictEqual(reported?.attachments?.[1], { missing: true, downloadUrl: null });
  const shown = added?.attachments ?? [];
  assert.deepEqual(
    shown.map(({ filename, downloadUrl }) => [filename, downloadUrl !== null]),
    [
      ["c.png", true],
      ["b.png", true],
    ],
  );
  assert.partialDeepStrictEqual(added, {
    messageId: id,
    chatId,
    sequence: 2,
    channel: "imessage",
    from: inbound().from,
  });
  assert.ok(added !== undefined && !("text" in added) && !("status" in added));
});

test("a message without files becomes one with files; a provider whose messages do not grow adds none", async (t) => {
  const stage = await engineStage(t);
  await stage.report(inbound());
  await stage.report(inbound({ attachments: [file("a")] }));
  const id = await arrived(stage);
  assert.deepEqual(await stage.eventTypes(id), ["inbound"]);
  await stage.report(growing([file("a")]));
  assert.deepEqual(await stage.eventTypes(id), ["inbound", "attachments_added"]);
  assert.equal((await stage.message(id)).messageType, "media");
});

test("a text that comes later is an edit, which opts out; a text that is there stays", async (t) => {
  const stage = await engineStage(t);
  await stage.report(growing([], { text: null }));
  const id = await arrived(stage);
  const { from, to } = await stage.message(id);
  await stage.report(growing([], { text: "STOP" }));
  assert.equal(await isOptedOut(stage.deps, { customerId: stage.customer.id, number: to, contact: from }), true);
  await stage.report(growing([], { text: "Another" }));
  assert.deepEqual(await stage.eventTypes(id), ["inbound", "edited"]);
  assert.equal((await stage.message(id)).text, "STOP");
});

test("nothing is added to a message that was deleted or unsent, after a day, or if its record does not name its files", async (t) => {
  const ends: [what: string, end: (stage: EngineStage, id: MessageId) => Promise<unknown>][] = [
    ["deleted", (stage, id) => deleteMessage(stage.deps, stage.customer.id, id)],
    [
      "unsent",
      (stage) =>
        stage.report({ kind: "revision", reference: "in-1", to: inbound().to, channel: "imessage", text: null }),
    ],
    ["a day later", async ({ clock }) => clock.shift(DAY + 1)],
  ];
  for (const [what, end] of ends) {
    const stage = await engineStage(t);
    await stage.report(growing([]));
    const id = await arrived(stage);
    await end(stage, id);
    await stage.report(growing([file("a")]));
    assert.ok(!(await stage.eventTypes(id)).includes("attachments_added"), what);
    assert.deepEqual((await stage.message(id)).attachments, [], what);
  }
  const stage = await engineStage(t);
  await stage.report(inbound({ attachments: [file("a")] }));
  await stage.report(growing([file("a"), file("b")]));
  assert.deepEqual(await stage.eventTypes(await arrived(stage)), ["inbound"]);
});
