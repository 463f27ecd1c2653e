/** A recording becomes the steps that do what was done, and wait for what happened. */

import assert from "node:assert/strict";
import { test } from "node:test";
import type { Event } from "../../../sdk/wire.ts";
import { recordedSteps, type Step } from "./recording.ts";

const PHONE = "+15005550199";
const saw = (type: Event["type"], data: object): Step => ({ saw: { id: "evt_1", type, timestamp: "", data } as Event });

test("a send of your own program is sent again, and its events are awaited", () => {
  const steps = recordedSteps([
    saw("message.delivered", { messageId: "msg_0" }),
    saw("message.queued", { messageId: "msg_1", to: PHONE, text: 'Say "hi"' }),
    saw("message.sent", { messageId: "msg_1" }),
    saw("message.delivered", { messageId: "msg_1" }),
  ]);
  assert.deepEqual(steps, [
    { send: { to: PHONE, content: { text: 'Say "hi"' } }, as: "sent1" },
    { event: "message.delivered", of: "$sent1" },
  ]);
});

test("actions of the contact name the records of the test, and an event that came before its action is not awaited twice", () => {
  const steps = recordedSteps([
    saw("message.queued", { messageId: "msg_1", to: PHONE, text: "Hello" }),
    saw("message.inbound", { messageId: "msg_2", text: "Yes" }),
    { does: "write", number: PHONE, message: { text: "Yes", replyTo: "msg_1" }, id: "msg_2" },
    { does: "react", number: PHONE, reaction: { messageId: "msg_1", type: "love" } },
    saw("message.reaction", { messageId: "msg_1" }),
    { does: "call", number: PHONE, call: { action: "ring" } },
    saw("facetime.incoming", { callId: "call_1" }),
    saw("facetime.status_changed", { callId: "call_1", status: "answered" }),
  ]);
  assert.deepEqual(steps.slice(1), [
    { phone: PHONE, write: { text: "Yes", replyTo: "$sent1" }, as: "reply2" },
    { event: "message.inbound", of: "$reply2" },
    { phone: PHONE, react: { messageId: "$sent1", type: "love" } },
    { event: "message.reaction", of: "$sent1" },
    { phone: PHONE, call: { action: "ring" } },
    { event: "facetime.incoming" },
    { event: "facetime.status_changed", data: { status: "answered" } },
  ]);
});

test("a message in a group is written into that group, and a reaction to a message from before the recording names it", () => {
  const steps = recordedSteps([
    { does: "write", number: PHONE, message: { text: "Hi all", chatId: "chat_1" }, id: "msg_2" },
    { does: "react", number: PHONE, reaction: { messageId: "msg_0", type: "like" } },
    saw("message.reaction", { messageId: "msg_0" }),
  ]);
  assert.deepEqual(steps, [
    { phone: PHONE, write: { text: "Hi all", chatId: "chat_1" }, as: "reply1" },
    { event: "message.inbound", of: "$reply1" },
    { phone: PHONE, react: { messageId: "msg_0", type: "like" } },
    { event: "message.reaction", of: "msg_0" },
  ]);
});

test("an answer that a phone gave by itself is awaited, and can be answered", () => {
  const steps = recordedSteps([
    saw("message.inbound", { messageId: "msg_1", text: "You said: Hello" }),
    { does: "react", number: "+15005550110", reaction: { messageId: "msg_1", type: "like" } },
    saw("message.inbound", { messageId: "msg_2", text: "Again" }),
  ]);
  assert.deepEqual(steps, [
    { event: "message.inbound", data: { text: "You said: Hello" }, as: "received1" },
    { phone: "+15005550110", react: { messageId: "$received1", type: "like" } },
    { event: "message.inbound", data: { text: "Again" }, as: "received2" },
  ]);
});

test("a payment request is made once, with its message, and paid by its own id", () => {
  const steps = recordedSteps([
    saw("message.queued", { messageId: "msg_1", to: PHONE, text: "Please pay $5.00" }),
    saw("payment.request.created", { id: "pay_1", messageId: "msg_1", to: PHONE, amount: "5.00", note: null }),
    saw("message.delivered", { messageId: "msg_1" }),
    { does: "pay", number: PHONE, payment: { requestId: "pay_1" }, id: "msg_2" },
    saw("payment.request.paid", { id: "pay_1", messageId: "msg_1" }),
  ]);
  assert.deepEqual(steps, [
    { request: { to: PHONE, amount: "5.00" }, as: "request1" },
    { event: "message.delivered", of: "$request1" },
    { phone: PHONE, pay: { requestId: "$request1" }, as: "paid2" },
    { event: "message.inbound", of: "$paid2" },
    { event: "payment.request.paid", of: "$request1" },
  ]);
});
