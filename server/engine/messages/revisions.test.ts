/** Contacts edit and unsend their messages and keep audio messages. */

import assert from "node:assert/strict";
import { test } from "node:test";
import type { MessageEventData } from "../../../sdk/wire.ts";
import { type EngineStage, engineStage } from "../../../test/support/engine.ts";
import { inbound } from "../../../test/support/provider.ts";
import type { MessageId } from "../../core/id.ts";
import type { RevisionSignal, Signal } from "../../providers/provider.ts";
import { apply } from "../apply.ts";
import { deleteMessage } from "./actions.ts";

function revision(text: string | null, more: Partial<RevisionSignal> = {}): RevisionSignal {
  return { kind: "revision", reference: "in-1", to: "+15550000001", channel: "imessage", text, ...more };
}

const AUDIO_KEPT: Signal = { kind: "audioKept", reference: "ref-1", to: "+15550000001", channel: "imessage" };

/** The id of the only inbound message. */
async function arrived({ deps }: EngineStage): Promise<MessageId> {
  const rows = deps.store.db.selectFrom("messages").select("id").where("direction", "=", "inbound");
  return (await rows.executeTakeFirstOrThrow()).id;
}

async function last(stage: EngineStage, id: MessageId): Promise<MessageEventData | undefined> {
  return (await stage.events(id)).at(-1)?.data;
}

test("a contact's edit changes the text of its message, with one message.edited for each new text", async (t) => {
  const stage = await engineStage(t);
  await stage.report(inbound());
  stage.clock.shift(60_000);
  await stage.report(revision("Hi there"));
  await stage.report(revision("Hi there"));
  const id = await arrived(stage);
  assert.deepEqual(await stage.eventTypes(id), ["inbound", "edited"]);
  const editedAt = stage.clock.now();
  assert.partialDeepStrictEqual(await stage.message(id), { text: "Hi there", status: "received", editedAt });
  const edited = await last(stage, id);
  assert.partialDeepStrictEqual(edited, {
    messageId: id,
    text: "Hi there",
    editedAt: new Date(editedAt).toISOString(),
  });
  assert.ok(edited !== undefined && !("status" in edited), "an event of an inbound message has no status");
  await stage.report(revision("Hi"));
  assert.deepEqual(await stage.eventTypes(id), ["inbound", "edited", "edited"]);
});

test("a contact's unsend changes its message to unsent, with one message.unsent, and nothing follows it", async (t) => {
  const stage = await engineStage(t);
  await stage.report(inbound());
  await stage.report(revision(null));
  await stage.report(revision(null));
  await stage.report(revision("Too late"));
  const id = await arrived(stage);
  assert.deepEqual(await stage.eventTypes(id), ["inbound", "unsent"]);
  assert.partialDeepStrictEqual(await stage.message(id), { status: "unsent", text: "Hi", editedAt: null });
  const event = await last(stage, id);
  assert.ok(event !== undefined && !("status" in event), "an event of an inbound message has no status");
});

test("a revision reported together with its message finds it, also if the message is reported again", async (t) => {
  const stage = await engineStage(t);
  const signals: Signal[] = [inbound(), revision("Hi there"), inbound(), revision(null)];
  await Promise.all(signals.map((signal) => apply(stage.deps, stage.instance.id, signal)));
  const id = await arrived(stage);
  assert.deepEqual(await stage.eventTypes(id), ["inbound", "edited", "unsent"]);
});

test("no revision restores the text of a deleted message", async (t) => {
  const stage = await engineStage(t);
  await stage.report(inbound());
  const id = await arrived(stage);
  await deleteMessage(stage.deps, stage.customer.id, id);
  await stage.report(revision("Hi there"));
  await stage.report(revision(null));
  assert.deepEqual(await stage.eventTypes(id), ["inbound", "deleted"]);
  assert.equal((await stage.message(id)).text, null);
});

test("a revision of our own message changes nothing: the response to the edit or unsend decides", async (t) => {
  const stage = await engineStage(t);
  const id = await stage.send();
  await stage.run();
  await stage.report(revision("Bye", { reference: "ref-1" }));
  assert.deepEqual(await stage.eventTypes(id), ["queued", "sent"]);
});

test("a revision and a kept audio message without a known message are logged, and change nothing", async (t) => {
  const stage = await engineStage(t, { faults: ["receive"] });
  await stage.report(revision("Hi there"));
  await stage.report(AUDIO_KEPT);
  assert.deepEqual(
    stage.observed.faults.map(({ where }) => where),
    ["receive", "receive"],
  );
});

test("an audio message that a contact keeps emits one event", async (t) => {
  const stage = await engineStage(t);
  const id = await stage.send();
  await stage.run();
  await Promise.all([AUDIO_KEPT, AUDIO_KEPT].map((signal) => apply(stage.deps, stage.instance.id, signal)));
  await stage.report(AUDIO_KEPT);
  assert.deepEqual(await stage.eventTypes(id), ["queued", "sent", "audio_kept"]);
});
