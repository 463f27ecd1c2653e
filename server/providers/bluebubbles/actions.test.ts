/** Tests of the actions on a Mac: they are done, or refused with a reason, and stopping never starts typing. */

import assert from "node:assert/strict";
import { test } from "node:test";
import { type Stage, type StageOptions, stageMac } from "../../../test/support/mac-outbound.ts";
import type { MessageId } from "../../core/id.ts";
import type { ActionResult, ActionTarget, Conversation } from "../provider.ts";

const TO = "+15551230001";
const OTHER = "+15551230002";
const ABORT = new AbortController().signal;

function thread(more: Partial<Conversation> = {}): Conversation {
  const line = { customerId: "cust_1", from: "+15550000001", channel: "imessage" } as const;
  return { ...line, chatId: "chat_1", contact: TO, reference: null, participants: [TO], ...more };
}

function target(reference: string, chat = thread()): ActionTarget {
  return { messageId: "msg_1" as MessageId, reference, text: "Hi", chat };
}

async function sent(stage: Stage, text = "Hi"): Promise<string> {
  const outcome = await stage.send(stage.message({ text }));
  assert.ok(outcome.outcome === "accepted");
  return outcome.reference;
}

function refused(ordered: ActionResult, words: RegExp): void {
  assert.ok(!ordered.done);
  assert.match(ordered.reason, words);
  assert.doesNotMatch(ordered.reason, /\d{7}|password/);
}

const DONE = { done: true };

test("a reaction is added to the message, and removed", async (t) => {
  const stage = await stageMac(t);
  stage.fake.knows(TO);
  const guid = await sent(stage);
  for (const reaction of ["love", "-love"] as const) {
    assert.deepEqual(await stage.driven(stage.process.commands.react(target(guid), reaction, ABORT)), DONE);
    assert.deepEqual(stage.fake.sent.at(-1)?.reaction, { type: reaction, target: guid });
  }
  refused(await stage.driven(stage.process.commands.react(target("NONE"), "like", ABORT)), /does not exist/);
  stage.fake.fault("errorAtOnce");
  refused(await stage.driven(stage.process.commands.react(target(guid), "like", ABORT)), /error 22/);
});

test("an edit changes the message, or is refused if Messages leaves it unchanged", async (t) => {
  const stage = await stageMac(t);
  stage.fake.knows(TO);
  const guid = await sent(stage, "Frist");
  const edit = () => stage.driven(stage.process.commands.edit(target(guid), "First", "Edited to “First”", ABORT));
  stage.fake.fault("revisionIgnored");
  refused(await edit(), /did not change the message/);
  assert.deepEqual(await edit(), DONE);
  assert.equal(stage.fake.messages.find((row) => row.guid === guid)?.text, "First");
});

test("a message is unsent, within Apple's two minutes", async (t) => {
  const stage = await stageMac(t);
  stage.fake.knows(TO);
  const [one, two] = [await sent(stage, "Oops"), await sent(stage, "Oops again")];
  assert.deepEqual(await stage.driven(stage.process.commands.unsend(target(one), ABORT)), DONE);
  assert.equal(stage.fake.messages.find((row) => row.guid === one)?.text, null);
  await stage.clock.advance(121_000);
  refused(await stage.driven(stage.process.commands.unsend(target(two), ABORT)), /2 minutes/);
});

test("a conversation is marked read and unread", async (t) => {
  const stage = await stageMac(t, { release: { macOs: 26 } });
  const guid = stage.fake.knows(TO);
  assert.deepEqual(await stage.driven(stage.process.commands.markRead(thread(), ABORT)), DONE);
  assert.equal(stage.fake.read.get(guid), true);
  assert.deepEqual(await stage.driven(stage.process.commands.markUnread(thread(), ABORT)), DONE);
  assert.equal(stage.fake.read.get(guid), false);
});

test("typing begins; stopping is requested only from versions that stop", async (t) => {
  const releases: [NonNullable<StageOptions["release"]>, boolean][] = [
    [{ version: "1.9.9" }, false],
    [{ version: "development" }, true],
  ];
  for (const [release, ends] of releases) {
    const stage = await stageMac(t, { release });
    const guid = stage.fake.knows(TO);
    const { setTyping } = stage.process.commands;
    await stage.driven(stage.process.mac.health.ready());
    assert.deepEqual(await stage.driven(setTyping(thread(), true, ABORT)), DONE);
    assert.ok(stage.fake.typing.has(guid));
    assert.deepEqual(await stage.driven(setTyping(thread(), false, ABORT)), DONE);
    assert.equal(stage.fake.typing.has(guid), !ends);
    assert.equal(
      stage.fake.requests.some((line) => line.startsWith("DELETE")),
      ends,
    );
  }
});

test("stopping is not requested from a Mac of unknown version, because it might start typing", async (t) => {
  const stage = await stageMac(t, { release: { version: "development" } });
  stage.fake.knows(TO);
  assert.deepEqual(await stage.process.commands.setTyping(thread(), false, ABORT), DONE);
  assert.deepEqual(stage.fake.requests, []);
});

test("a group is renamed, extended and left", async (t) => {
  const stage = await stageMac(t);
  const made = stage.fake.phone(TO).makesGroup("Old", [OTHER]);
  const chat = thread({ contact: null, reference: made.guid, participants: [TO, OTHER] });
  const { renameGroup, addParticipant, removeParticipant, leaveGroup } = stage.process.commands;
  const people = () => stage.fake.chats[0]?.participants.map(({ address }) => address);
  assert.deepEqual(await stage.driven(renameGroup(chat, "New", ABORT)), DONE);
  assert.equal(stage.fake.chats[0]?.displayName, "New");
  assert.deepEqual(await stage.driven(addParticipant(chat, "+15551230003", ABORT)), DONE);
  assert.deepEqual(people(), [TO, OTHER, "+15551230003"]);
  assert.deepEqual(await stage.driven(removeParticipant(chat, OTHER, ABORT)), DONE);
  assert.deepEqual(people(), [TO, "+15551230003"]);
  stage.fake.phone("+15551230004").isOnIMessage = false;
  refused(await stage.driven(addParticipant(chat, "+15551230004", ABORT)), /Failed to add participant/);
  assert.deepEqual(await stage.driven(leaveGroup(chat, ABORT)), DONE);
});

test("an action in a conversation is refused if the Mac has none, or the group has had no message yet", async (t) => {
  const stage = await stageMac(t);
  const { markRead, renameGroup } = stage.process.commands;
  refused(await stage.driven(markRead(thread(), ABORT)), /no conversation/);
  refused(await stage.driven(renameGroup(thread({ contact: null }), "New", ABORT)), /first message/);
});

test("a Mac that cannot act refuses with a reason, and is down from then on", async (t) => {
  const stage = await stageMac(t);
  stage.fake.knows(TO);
  await stage.driven(stage.process.mac.health.ready());
  stage.fake.fault("helperGone");
  refused(await stage.driven(stage.process.commands.markRead(thread(), ABORT)), /not connected/);
  assert.equal(stage.process.mac.health.isUp, false);
  stage.fake.fault("unreachable");
  refused(await stage.driven(stage.process.commands.markRead(thread({ contact: OTHER }), ABORT)), /cannot be reached/);
});

test("availability is Apple's answer; a negative one is checked again, and no answer is null", async (t) => {
  const stage = await stageMac(t);
  const ask = (address: string) => stage.driven(stage.process.commands.availability("cust_1", address, ABORT));
  assert.deepEqual(await ask(TO), { imessage: true, facetime: true });
  stage.fake.fault("availabilityFalse");
  assert.deepEqual(await ask(TO), { imessage: true, facetime: true });
  Object.assign(stage.fake.phone(OTHER), { isOnIMessage: false, hasFaceTime: false });
  assert.deepEqual(await ask(OTHER), { imessage: false, facetime: false });
  stage.fake.fault("helperGone");
  assert.deepEqual(await ask(TO), { imessage: null, facetime: null });
});

test("a file is fetched as it was sent, also if the Mac must download it first; a missing file is null", async (t) => {
  const stage = await stageMac(t);
  const bytes = new Uint8Array([1, 2, 3]);
  const heic = { name: "a.heic", mimeType: "image/heic", bytes };
  stage.fake.phone(TO).writes(null, { attachments: [heic, { ...heic, isOnDisk: false }] });
  const [here, away] = stage.fake.messages[0]?.attachments ?? [];
  const { fetch } = stage.process.commands;
  for (const file of [here, away]) {
    const fetched = await stage.driven(fetch(file?.guid ?? "", ABORT));
    assert.deepEqual(new Uint8Array(fetched ?? []), bytes);
  }
  assert.equal(await stage.driven(fetch("NONE", ABORT)), null);
  stage.fake.fault("unreachable");
  await assert.rejects(stage.driven(fetch(here?.guid ?? "", ABORT)), /cannot be reached/);
});

test("a file is not reported missing because of iCloud or a lost helper", async (t) => {
  const stage = await stageMac(t);
  const file = { name: "a.png", mimeType: "image/png", bytes: new Uint8Array(1), isOnDisk: false };
  stage.fake.phone(TO).writes(null, { attachments: [file] });
  stage.fake.fault("helperGone");
  const guid = stage.fake.messages[0]?.attachments[0]?.guid ?? "";
  await assert.rejects(stage.driven(stage.process.commands.fetch(guid, ABORT)), /not connected/);
});

test("an action aborted while it waits for the rate limiter does nothing", async (t) => {
  const stage = await stageMac(t);
  stage.fake.knows(TO);
  await stage.driven(stage.process.mac.chatGuids.findThread(TO, "imessage"));
  const { rateLimiter } = stage.process.mac;
  await rateLimiter.acquire();
  const abort = new AbortController();
  const marking = assert.rejects(stage.process.commands.markRead(thread(), abort.signal));
  await stage.fake.idle();
  abort.abort();
  await marking;
  assert.equal(stage.fake.read.size, 0);
});

test("an action without a route in this version of BlueBubbles is refused, and the Mac is not down", async (t) => {
  const stage = await stageMac(t);
  await stage.driven(stage.process.mac.health.ready());
  // A path that this Mac does not have, like the routes of another version.
  const chat = thread({ contact: null, reference: "iMessage;+;chat1/none" });
  const { mac } = stage.process;
  mac.client.post = async () => ({ kind: "errorResponse", status: 404, type: null, message: "Not Found" });
  refused(await stage.driven(stage.process.commands.markUnread(chat, ABORT)), /404/);
  assert.equal(mac.health.isUp, true);
});
