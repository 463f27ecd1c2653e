import assert from "node:assert/strict";
import { test } from "node:test";
import { message, NEVER, stage } from "../../../test/support/sandbox-provider.ts";
import type { MessageId } from "../../core/id.ts";
import { parseReaction } from "../../core/reaction.ts";
import type { Phone } from "../phones.ts";
import type { Conversation, Outbound, Signal } from "../provider.ts";
import { entryKey, stepKey } from "./signal-journal.ts";

const CUSTOMER = message("0100").customerId;
const OTHER = "cust_00000000-0000-7000-8000-000000000002";

function phoneAt(last4: string): Phone {
  return { customerId: CUSTOMER, number: `+1500555${last4}`, to: "+15005550006" };
}

/** The phones of a stage: the sandbox has them, and every command. */
async function peopled(entries?: Map<string, string>) {
  const made = await stage(entries);
  const { phones, actions } = made.sandbox;
  return { ...made, phones, actions };
}

/** Signals in short: kind and content. */
function short(signals: readonly Signal[]): string[] {
  return signals.map((signal) => {
    switch (signal.kind) {
      case "receipt":
        return signal.receipt;
      case "typing":
        return signal.typing ? "types" : "rests";
      case "inbound":
        return signal.payment === null ? `says ${signal.text}` : `pays ${signal.payment.amountCents}`;
      case "reaction":
        return `${signal.type} ${signal.content}`;
      case "call":
        return signal.status;
      default:
        return signal.kind;
    }
  });
}

/** A message that asks for a payment. */
function asking(last4: string): Outbound {
  return { ...message(last4), payment: { id: "pay_1", amountCents: 1_250 } };
}

const ROWS: [title: string, sent: Outbound, signals: string[]][] = [
  ["0110 types and echoes", message("0110"), ["delivered", "types", "rests", "says You said: Hello"]],
  ["0110 over SMS only echoes", message("0110", "sms"), ["delivered", "says You said: Hello"]],
  ["0110 answers a file too", { ...message("0110", "sms"), text: "" }, ["delivered", "says You sent a file"]],
  ["0110 echoes no echo", { ...message("0110"), text: "You said: Hello" }, ["delivered"]],
  ["0111 loves", message("0111"), ["delivered", "love Loved “Hello”"]],
  ["0111 over SMS cannot", message("0111", "sms"), ["delivered"]],
  ["0112 pays", asking("0112"), ["delivered", "pays 1250"]],
  ["0112 pays what is asked for only", message("0112"), ["delivered"]],
  ["0113 ignores", asking("0113"), ["delivered"]],
  ["0114 rings and hangs up", message("0114"), ["delivered", "incoming", "disconnected"]],
  ["0115 rings and is missed", message("0115"), ["delivered", "incoming", "missed"]],
  ["0199 does nothing by itself", message("0199"), ["delivered"]],
];

for (const [title, sent, expected] of ROWS) {
  test(`${title}`, async () => {
    const { clock, send, signals, entries } = await peopled();
    assert.equal((await send(sent)).outcome, "accepted");
    await clock.advance(3_000_000);
    assert.deepEqual(short(signals), expected);
    assert.equal(entries.size, 0);
    assert.equal(clock.pending, 0);
    for (const signal of signals) {
      if (signal.kind !== "receipt") assert.equal(signal.to, sent.from);
    }
  });
}

test("an echo and a payment arrive within 200 ms; a call rings for 500", async () => {
  for (const [sent, withinMs] of [
    [message("0110"), 200],
    [asking("0112"), 200],
  ] as const) {
    const { clock, send, signals } = await peopled();
    await send(sent);
    await clock.advance(withinMs);
    assert.equal(signals.at(-1)?.kind, "inbound");
  }
  const { clock, send, signals } = await peopled();
  await send(message("0114"));
  await clock.advance(500);
  assert.equal(short(signals).at(-1), "incoming");
  await clock.advance(100);
  assert.equal(short(signals).at(-1), "disconnected");
});

test("a message to a group is delivered, and nobody responds to it", async () => {
  const { clock, send, signals } = await peopled();
  const group = conversation({ contact: null, reference: "sbx_group_1", participants: ["+15005550110"] });
  await send({ ...message("0110"), to: group.chatId, group });
  await clock.advance(1_000);
  assert.deepEqual(short(signals), ["delivered"]);
});

test("repeated signals after a message have the same references", async () => {
  const name = (signal: Signal | undefined) => (signal && "reference" in signal ? signal.reference : null);
  const { clock, send, signals, refusing } = await peopled();
  await send(message("0111"));
  await clock.advance(20);
  refusing.signals = 3;
  await clock.advance(1_000);
  const again = await peopled();
  await again.send(message("0111"));
  await again.clock.advance(1_000);
  assert.equal(name(signals.at(-1)), name(again.signals.at(-1)));
  assert.match(name(signals.at(-1)) ?? "", /^sbx_/);
});

test("step keys of a message that was never accepted are deleted", async () => {
  const key = entryKey("msg_1", "imessage");
  const entries = new Map([[stepKey({ key }, 1), ""]]);
  const { clock, signals } = await peopled(entries);
  await clock.advance(1_000);
  assert.deepEqual([entries.size, signals.length], [0, 0]);
});

test("an offline phone holds its pending signals, also across a restart, and then continues", async () => {
  const { clock, phones, send, signals, entries } = await peopled();
  await phones.change(CUSTOMER, "+15005550110", { online: false });
  assert.equal((await send(message("0110"))).outcome, "accepted");
  await clock.advance(3_000_000);
  assert.deepEqual(signals, []);
  await phones.change(CUSTOMER, "+15005550110", { online: true });
  await clock.advance(40);
  await phones.change(CUSTOMER, "+15005550110", { online: false });
  await clock.advance(3_000_000);
  assert.deepEqual(short(signals), ["delivered", "types"]);
  const next = await peopled(entries);
  await next.clock.advance(3_000_000);
  assert.deepEqual(next.signals, []);
  await next.phones.change(CUSTOMER, "+15005550110", { online: true });
  await next.clock.advance(1_000);
  assert.deepEqual(short(next.signals), ["delivered", "rests", "says You said: Hello"]);
  assert.deepEqual([...entries.keys()], [`phone/${CUSTOMER}/+15005550110`]);
});

test("settings belong to one customer and do not affect others", async () => {
  const { clock, phones, send, reported } = await peopled();
  await phones.change(OTHER, "+15005550100", { online: false, lossPercent: 100 });
  await send(message("0100"));
  await clock.advance(1_000);
  assert.equal(reported.length, 1);
  assert.equal(phones.settings(CUSTOMER, "+15005550100").lossPercent, 0);
});

test("settings that could not be stored do not count, and unknown stored settings are ignored", async () => {
  const key = `phone/${CUSTOMER}/+15005550101`;
  const { phones, writes } = await peopled(new Map([[key, '{"online":false,"latencyMs":"long","more":1}']]));
  const settings = { online: false, imessage: true, readReceipts: true, edits: true, latencyMs: 0, lossPercent: 0 };
  assert.deepEqual(phones.settings(CUSTOMER, "+15005550101"), settings);
  writes.failing = 1;
  await assert.rejects(phones.change(CUSTOMER, "+15005550101", { online: true }));
  assert.deepEqual(phones.settings(CUSTOMER, "+15005550101"), settings);
  const { phones: others } = await peopled(new Map([[key, "what is this"]]));
  assert.equal(others.settings(CUSTOMER, "+15005550101").online, true);
});

test("read receipts and loss follow the settings at the moment the message was accepted", async () => {
  const { clock, phones, send, reported } = await peopled();
  await phones.change(CUSTOMER, "+15005550101", { readReceipts: false });
  await send(message("0101"));
  await clock.advance(1_000);
  assert.deepEqual(reported, ["delivered@5"]);
  await phones.change(CUSTOMER, "+15005550108", { readReceipts: false, latencyMs: 100 });
  await send({ ...message("0108"), messageId: "msg_2" });
  await clock.advance(1_000);
  assert.deepEqual(reported.slice(1), ["delivered@1105", "delivered@1210"]);
});

test("an action repeated under the same name is the same message, reaction and call", async () => {
  const { phones, signals } = await peopled();
  const phone = phoneAt("0120");
  const said = { text: "Hi", attachments: [], replyTo: null, channel: "imessage", group: null } as const;
  const first = await phones.write(phone, "a", said);
  assert.deepEqual(await phones.write(phone, "a", said), first);
  assert.notDeepEqual(await phones.write(phone, "b", said), first);
  const call = await phones.call(phone, "c", "ring", false);
  assert.deepEqual(await phones.call(phone, "c", "ring", false), call);
  assert.equal(await phones.call(phone, "d", "ring", false), null);
  const taken = parseReaction("-like") ?? assert.fail("no reaction");
  await phones.react(phone, "e", { reference: "sbx_1", text: null }, taken);
  assert.deepEqual(short(signals.slice(-1)), ["remove Removed a like from an attachment"]);
});

test("a call continues across a restart, and ends once", async () => {
  const { phones, entries } = await peopled();
  const phone = phoneAt("0120");
  for (const action of ["answer", "hangup", "miss"] as const) {
    assert.equal(await phones.call(phone, action, action, false), null);
  }
  const call = await phones.call(phone, "ring", "ring", true);
  const next = await peopled(entries);
  assert.deepEqual(await next.phones.call(phone, "x", "answer", false), call);
  assert.equal(await next.phones.call(phone, "x", "miss", false), null);
  assert.equal(next.signals[0]?.kind === "call" && next.signals[0].isVideo, true);
  assert.deepEqual(await next.phones.call(phone, "x", "hangup", false), call);
  assert.equal(await next.phones.call(phone, "x", "hangup", false), null);
  assert.equal(entries.size, 0);
});

test("a call that nobody ends is missed after 60 s of ringing and disconnected after 60 s of talk, also after a restart", async () => {
  const first = await peopled();
  await first.phones.call(phoneAt("0120"), "rings", "ring", false);
  await first.phones.call(phoneAt("0121"), "talks", "ring", true);
  await first.clock.advance(50_000);
  await first.phones.call(phoneAt("0121"), "x", "answer", true);
  await first.clock.advance(9_000);
  assert.deepEqual(short(first.signals), ["incoming", "incoming", "answered"]);
  await first.sandbox.stop();
  await first.clock.advance(2_000);
  const next = await peopled(first.entries);
  next.clock.shift(59_000);
  await next.clock.advance(900);
  assert.deepEqual(short(next.signals), []);
  await next.clock.advance(500);
  assert.deepEqual(short(next.signals), ["missed"]);
  next.refusing.signals = 2;
  next.clock.shift(49_000);
  await next.clock.advance(2_000);
  assert.deepEqual(short(next.signals), ["missed", "disconnected"], "a report that was refused is repeated");
  assert.equal(next.entries.size, 0);
  assert.equal(await next.phones.call(phoneAt("0120"), "x", "hangup", true), null);
  await next.phones.call(phoneAt("0120"), "again", "ring", false);
  await next.clock.advance(61_000);
  assert.deepEqual(short(next.signals).slice(2), ["incoming", "missed"]);
});

test("a reset drops pending signals, settings and calls of that customer only", async () => {
  const { clock, phones, send, entries, signals } = await peopled();
  const of = (index: number, customerId: Outbound["customerId"]): Outbound => {
    const messageId: MessageId = `msg_${index}`;
    return { ...message("0110"), messageId, customerId };
  };
  for (let index = 0; index < 5; index += 1) await send(of(index, CUSTOMER));
  await send(of(9, OTHER));
  await phones.change(CUSTOMER, "+15005550110", { latencyMs: 9 });
  await phones.call(phoneAt("0120"), "ring", "ring", true);
  const reported = signals.length;
  await phones.reset(CUSTOMER);
  assert.deepEqual(
    [...entries.keys()].filter((key) => !key.startsWith("owed/msg_9/")),
    [],
  );
  await clock.advance(3_000_000);
  assert.deepEqual(short(signals.slice(reported)), ["delivered", "types", "rests", "says You said: Hello"]);
  assert.equal(phones.settings(CUSTOMER, "+15005550110").latencyMs, 0);
  assert.equal(await phones.call(phoneAt("0120"), "x", "hangup", true), null);
});

test("an attempt in progress during a reset leaves no journal entry and reports nothing", async () => {
  const { clock, sandbox, phones, entries, signals } = await peopled();
  const slow = sandbox.send(message("0109"), NEVER);
  const quick = sandbox.send({ ...message("0100"), messageId: "msg_2" }, NEVER);
  await phones.reset(CUSTOMER);
  await clock.advance(60_000);
  // The service has removed the message of the second one: its outcome is not stored.
  assert.deepEqual([(await slow).outcome, (await quick).outcome], ["deferred", "accepted"]);
  assert.deepEqual([entries.size, signals.length], [0, 0]);
});

function conversation(more: Partial<Conversation> = {}): Conversation {
  const chatId = "chat_00000000-0000-7000-8000-000000000001";
  const whole: Conversation = {
    chatId,
    customerId: CUSTOMER,
    from: "+15005550006",
    channel: "imessage",
    contact: "+15005550100",
    reference: null,
    participants: ["+15005550100"],
  };
  return { ...whole, ...more };
}

test("messages of a phone can be edited, unsent and reacted to; others, and SMS, cannot", async () => {
  const { actions, send } = await peopled();
  const outcome = await send(message("0100"));
  assert.ok(outcome.outcome === "accepted");
  const target = {
    messageId: message("0100").messageId,
    reference: outcome.reference,
    text: "Hello",
    chat: conversation(),
  };
  const orders = (of: typeof target) => [
    actions.edit(of, "Hi", "Edited", NEVER),
    actions.unsend(of, NEVER),
    actions.react(of, "love", NEVER),
  ];
  for (const ordered of await Promise.all(orders(target))) assert.deepEqual(ordered, { done: true });
  for (const other of [
    { ...target, reference: "ref-1" },
    { ...target, chat: conversation({ channel: "sms" }) },
  ]) {
    for (const ordered of await Promise.all(orders(other))) assert.equal(ordered.done, false);
  }
});

test("chats can be read, typed in and changed on iMessage; each new group has its own reference", async () => {
  const { actions, phones } = await peopled();
  const chat = conversation();
  const group = { customerId: CUSTOMER, from: "+15005550006", name: null, participants: ["+15005550100"] };
  const made = await Promise.all([actions.createGroup(group, NEVER), actions.createGroup(group, NEVER)]);
  assert.notDeepEqual(made[0], made[1]);
  for (const ordered of [
    actions.markRead(chat, NEVER),
    actions.markUnread(chat, NEVER),
    actions.setTyping(chat, true, NEVER),
    actions.renameGroup(chat, "G", NEVER),
    actions.addParticipant(chat, "+15005550100", NEVER),
    actions.removeParticipant(chat, "+15005550100", NEVER),
    actions.leaveGroup(chat, NEVER),
  ]) {
    assert.deepEqual(await ordered, { done: true });
  }
  assert.equal((await actions.addParticipant(chat, "+15005550102", NEVER)).done, false);
  assert.deepEqual(await actions.availability(CUSTOMER, "+15005550100", NEVER), { imessage: true, facetime: true });
  assert.deepEqual(await actions.availability(CUSTOMER, "+15005550105", NEVER), { imessage: false, facetime: false });
  await phones.change(CUSTOMER, "+15005550100", { imessage: false });
  assert.equal((await actions.availability(CUSTOMER, "+15005550100", NEVER)).imessage, false);
  assert.deepEqual(await actions.focus(CUSTOMER, "+15005550100", NEVER), { focused: false });
  assert.equal(await actions.fetch("anything", NEVER), null);
});
