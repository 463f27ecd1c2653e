/** Messages written by hand: when one becomes a record, when it waits for a send attempt, and when it is none of the service's business. */

import assert from "node:assert/strict";
import { type TestContext as NodeTest, test } from "node:test";
import { type EngineStage, engineStage } from "../../../test/support/engine.ts";
import { NOT_REACHABLE, receipt, UNKNOWN } from "../../../test/support/provider.ts";
import type { MessageId } from "../../core/id.ts";
import type { Outcome, WrittenSignal } from "../../providers/provider.ts";
import { apply } from "../apply.ts";
import { attemptsOf } from "./attempt-notes.ts";
import { RESTORED_BACKUP } from "./held.ts";

const ANNA = "+15550100001";
const BEN = "+15550100002";
const MINUTE_MS = 60_000;

function written(stage: EngineStage, more: Partial<WrittenSignal> = {}): WrittenSignal {
  return {
    kind: "written",
    reference: "hand-1",
    contact: ANNA,
    to: stage.number.address,
    channel: "imessage",
    group: null,
    text: "By hand",
    attachments: [],
    replyTo: null,
    effect: null,
    writtenAt: stage.clock.real(),
    ...more,
  };
}

const report = (stage: EngineStage, more: Partial<WrittenSignal> = {}) =>
  apply(stage.life.deps, stage.instance.id, written(stage, more));

async function recorded({ deps }: EngineStage): Promise<MessageId[]> {
  const rows = await deps.store.db.selectFrom("messages").select("id").where("origin", "=", "device").execute();
  return rows.map(({ id }) => id as MessageId);
}

/** Sends a message to Anna whose provider notes the attempt first, as a Mac's does. */
async function sendNoted(t: NodeTest, outcome: Outcome | "never"): Promise<EngineStage> {
  const stage = await engineStage(t);
  stage.provider.onSend = async (message) => {
    await attemptsOf(() => stage.life.deps, stage.instance.id).note(message, "noted");
    return outcome === "never" ? new Promise(() => {}) : outcome;
  };
  await stage.send({ routing: { fallback: false } });
  await stage.run();
  return stage;
}

test("a message written by hand is one outbound record with origin device, sent, in its thread, with one message.sent", async (t) => {
  const stage = await engineStage(t);
  assert.equal(await report(stage), "applied");
  const [id, ...others] = await recorded(stage);
  assert.ok(id !== undefined && others.length === 0);
  const message = await stage.message(id);
  assert.partialDeepStrictEqual(message, {
    direction: "outbound",
    status: "sent",
    keyId: null,
    from: stage.number.address,
    to: ANNA,
    channel: "imessage",
    text: "By hand",
    providerMessageId: "hand-1",
    dueAt: null,
    sentAt: stage.clock.now(),
  });
  const [event, ...more] = await stage.events(id);
  assert.deepEqual([event?.type, event?.data.origin, more.length], ["message.sent", "device", 0]);
  const answered = await stage.send();
  assert.equal((await stage.message(answered)).chatId, message.chatId);
  assert.equal(stage.observed.sent, 0);
});

test("the same reference changes nothing the second time, also after a restart and for two reports at once", async (t) => {
  const stage = await engineStage(t);
  await Promise.all([report(stage), report(stage)]);
  await stage.restart();
  await report(stage);
  assert.equal((await recorded(stage)).length, 1);
});

test("receipts of a message written by hand are applied and change nothing", async (t) => {
  const stage = await engineStage(t);
  await report(stage);
  const [id = assert.fail()] = await recorded(stage);
  for (const kind of ["delivered", "read", "failed"] as const) {
    assert.equal(await apply(stage.life.deps, stage.instance.id, receipt(kind, { reference: "hand-1" })), "applied");
  }
  assert.deepEqual([(await stage.message(id)).status, await stage.eventTypes(id)], ["sent", ["sent"]]);
});

test("the row of a send, sent or refused, never becomes a second record", async (t) => {
  const sent = await sendNoted(t, { outcome: "accepted", reference: "ref-ours", note: () => "polled" });
  assert.equal(await report(sent, { reference: "ref-ours" }), "applied");
  assert.deepEqual(await recorded(sent), []);
  const refused = await sendNoted(t, { ...NOT_REACHABLE, outcome: "rejected", reference: "ref-refused" } as Outcome);
  assert.equal(await report(refused, { reference: "ref-refused" }), "applied");
  assert.deepEqual(await recorded(refused), []);
});

for (const outcome of ["never", UNKNOWN] as const) {
  const state = outcome === "never" ? "open" : "unknown";
  test(`a row in a chat with a send attempt that is ${state} is unknown; in another chat it is recorded`, async (t) => {
    const stage = await sendNoted(t, outcome);
    assert.equal(await report(stage), "unknown");
    assert.deepEqual(await recorded(stage), []);
    assert.equal(await report(stage, { reference: "hand-2", contact: BEN }), "applied");
    assert.equal((await recorded(stage)).length, 1);
  });
}

test("once a send attempt has its outcome, the row that it does not name is recorded, though the texts are equal", async (t) => {
  const stage = await sendNoted(t, UNKNOWN);
  const same = { text: "Hello" };
  assert.equal(await report(stage, same), "unknown");
  const [{ messageId } = assert.fail()] = await attemptsOf(() => stage.life.deps, stage.instance.id).noted();
  await stage.report(receipt("sent", { messageId, reference: "ref-ours" }));
  assert.equal(await report(stage, { ...same, reference: "ref-ours" }), "applied");
  assert.deepEqual(await recorded(stage), []);
  assert.equal(await report(stage, same), "applied");
  assert.equal((await recorded(stage)).length, 1);
});

test("a row of a number that belongs to another instance is left to that instance", async (t) => {
  const stage = await engineStage(t);
  assert.equal(await report(stage, { to: "+15559999999" }), "applied");
  assert.equal(await apply(stage.life.deps, "inst_other", written(stage)), "applied");
  assert.deepEqual(await recorded(stage), []);
});

test("a row from before a restore of the database, or soon after it, is not recorded; a later one is", async (t) => {
  const stage = await engineStage(t);
  const now = stage.clock.real();
  const value = JSON.stringify({ takenAt: now - 60 * MINUTE_MS, restoredAt: now, heldAt: now });
  await stage.deps.store.commit([{ op: "put", table: "settings", record: { name: RESTORED_BACKUP, value } }]);
  for (const minutes of [-90, -30, 5]) {
    await report(stage, { reference: `hand${minutes}`, writtenAt: now + minutes * MINUTE_MS });
  }
  assert.deepEqual(await recorded(stage), []);
  await report(stage, { writtenAt: now + 11 * MINUTE_MS });
  assert.equal((await recorded(stage)).length, 1);
});

test("a message written by hand to a group is in the group's chat, also of one that was not known", async (t) => {
  const stage = await engineStage(t);
  const group = { reference: "iMessage;+;chat1", name: "Trip", participants: [ANNA, BEN] };
  await report(stage, { contact: null, group });
  await report(stage, { reference: "hand-2", contact: null, group });
  const [first, second] = await Promise.all((await recorded(stage)).map((id) => stage.message(id)));
  assert.ok(first?.chatId !== null && first?.to === first?.chatId);
  assert.equal(second?.chatId, first?.chatId);
});

test("the number that a person wrote from is the contact's newest sender", async (t) => {
  const stage = await engineStage(t);
  const { threadCache, store } = stage.life.deps;
  const senders = () => threadCache.senders.find(store, stage.customer.id, ANNA);
  assert.deepEqual(await senders(), []);
  await report(stage);
  assert.deepEqual(await senders(), [stage.number.address]);
});
