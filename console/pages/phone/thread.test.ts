/** A phone shows its messages oldest first, with receipts, reactions, edits and payment requests. */

import assert from "node:assert/strict";
import { test } from "node:test";
import type { Event, Message, PaymentRequest } from "../../../sdk/wire.ts";
import { bubblesOf } from "./thread.ts";

const PHONE = "+15005550199";
const OWN = "+15005550006";
const at = (seconds: number) => new Date(Date.UTC(2026, 0, 1, 12, 0, seconds)).toISOString();

function message(id: string, seconds: number, fields: Partial<Message> = {}): Message {
  const isInbound = fields.direction === "inbound";
  return {
    id,
    direction: "outbound",
    status: "delivered",
    from: isInbound ? PHONE : OWN,
    to: isInbound ? OWN : PHONE,
    channel: "imessage",
    errorCode: null,
    createdAt: at(seconds),
    ...fields,
  } as Message;
}

function event(id: string, type: Event["type"], data: object): Event {
  return { id, type, timestamp: at(0), data } as Event;
}

const shown = (records: Partial<Parameters<typeof bubblesOf>[0]>) =>
  bubblesOf({ number: PHONE, messages: [], events: [], payments: [], isGroup: false, ...records });

test("bubbles are oldest first, and a time is shown after a pause", () => {
  const bubbles = shown({
    messages: [
      message("msg_3", 900),
      message("msg_2", 2, { direction: "inbound", status: "received" }),
      message("msg_1", 1),
    ],
  });
  assert.deepEqual(
    bubbles.map((one) => [one.message.id, one.isOwn, one.isAfterPause]),
    [
      ["msg_1", false, true],
      ["msg_2", true, false],
      ["msg_3", false, true],
    ],
  );
});

test("the last message of the service says how it stands, an older one only if it has not arrived", () => {
  const receipts = shown({
    messages: [
      message("msg_4", 4, { status: "read" }),
      message("msg_3", 3, { status: "failed", errorCode: "REJECTED" }),
      message("msg_2", 2, { status: "sent" }),
      message("msg_1", 1),
    ],
  }).map(({ receipt }) => receipt?.text ?? null);
  assert.deepEqual(receipts, [null, "Sent, not delivered yet", "Not delivered · REJECTED", "Read"]);
});

test("each person has one reaction on a message, and a removed one is gone", () => {
  const react = (id: string, from: string, type: string, emoji?: string) =>
    event(id, "message.reaction", { messageId: "msg_1", from, reaction: { type, emoji } });
  const events = [
    react("evt_4", "+1", "emoji", "🎉"),
    react("evt_1", PHONE, "love"),
    react("evt_2", PHONE, "like"),
    react("evt_3", "+1", "laugh"),
  ];
  assert.deepEqual(shown({ messages: [message("msg_1", 1)], events })[0]?.reactions, ["👍", "🎉"]);
  const removed = [...events, react("evt_5", PHONE, "remove")];
  assert.deepEqual(shown({ messages: [message("msg_1", 1)], events: removed })[0]?.reactions, ["🎉"]);
});

test("edits, unsends and payment requests are marked", () => {
  const [first, second] = shown({
    messages: [message("msg_2", 2, { status: "unsent" }), message("msg_1", 1)],
    events: [event("evt_1", "message.edited", { messageId: "msg_1" })],
    payments: [{ id: "pay_1", messageId: "msg_1" } as PaymentRequest],
  });
  assert.deepEqual([first?.isEdited, first?.payment?.id, first?.isUnsent], [true, "pay_1", false]);
  assert.deepEqual([second?.isEdited, second?.isUnsent], [false, true]);
});

test("a group names the sender where it changes", () => {
  const inbound = { direction: "inbound", status: "received" } as const;
  const senders = shown({
    isGroup: true,
    messages: [
      message("msg_4", 4, { ...inbound }),
      message("msg_3", 3, { ...inbound, from: "+2" }),
      message("msg_2", 2, { ...inbound, from: "+2" }),
      message("msg_1", 1),
    ],
  }).map(({ sender }) => sender);
  assert.deepEqual(senders, [OWN, "+2", null, null]);
});
