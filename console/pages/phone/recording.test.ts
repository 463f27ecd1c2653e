/** A recording becomes a test that does what was done, and waits for what happened. */

import assert from "node:assert/strict";
import { test } from "node:test";
import type { Event } from "../../../sdk/wire.ts";
import { type Step, testOf } from "./recording.ts";

const PHONE = "+15005550199";
const saw = (type: Event["type"], data: object): Step => ({ saw: { id: "evt_1", type, timestamp: "", data } as Event });

/** The lines in the body of the test, without the blank ones. */
function bodyOf(steps: readonly Step[]): string[] {
  const [, body = ""] = testOf(steps, "a title", "http://127.0.0.1:8080").split('test("a title", async () => {\n');
  const lines = body.split("\n").map((line) => line.trim());
  return lines.filter((line) => line !== "" && line !== "});" && !line.startsWith("const start"));
}

test("a send of your own program is sent again, and its events are awaited", () => {
  const lines = bodyOf([
    saw("message.queued", { messageId: "msg_1", to: PHONE, text: 'Say "hi"' }),
    saw("message.sent", { messageId: "msg_1" }),
    saw("message.delivered", { messageId: "msg_1" }),
  ]);
  assert.deepEqual(lines, [
    `const sent1 = await tightbeam.messages.send({ to: "${PHONE}", content: { text: "Say \\"hi\\"" } });`,
    'await seen({ type: "message.delivered", messageId: sent1.id });',
  ]);
});

test("actions of the contact name the records of the test, and an event that came before its action is not awaited twice", () => {
  const lines = bodyOf([
    saw("message.queued", { messageId: "msg_1", to: PHONE, text: "Hello" }),
    saw("message.inbound", { messageId: "msg_2", text: "Yes" }),
    { does: "write", number: PHONE, message: { text: "Yes", replyTo: "msg_1" }, id: "msg_2" },
    { does: "react", number: PHONE, reaction: { messageId: "msg_1", type: "love" } },
    saw("message.reaction", { messageId: "msg_1" }),
    { does: "call", number: PHONE, call: { action: "ring" } },
    saw("facetime.incoming", { callId: "call_1" }),
    saw("facetime.status_changed", { callId: "call_1", status: "answered" }),
  ]);
  assert.deepEqual(lines.slice(1), [
    'const reply2 = await phone.write({ text: "Yes", replyTo: sent1.id });',
    'await seen({ type: "message.inbound", messageId: reply2.id });',
    'await phone.react({ messageId: sent1.id, type: "love" });',
    'await seen({ type: "message.reaction", messageId: sent1.id });',
    'await phone.call({"action":"ring"});',
    'const event3 = await seen({ type: "facetime.incoming", after: start?.id });',
    'const event4 = await seen({ type: "facetime.status_changed", after: start?.id });',
    'assert.equal(event4.data.status, "answered");',
  ]);
});

test("an answer that a phone gave by itself is awaited, and can be answered", () => {
  const lines = bodyOf([
    saw("message.inbound", { messageId: "msg_1", text: "You said: Hello" }),
    { does: "react", number: "+15005550110", reaction: { messageId: "msg_1", type: "like" } },
    saw("message.inbound", { messageId: "msg_2", text: "Again" }),
  ]);
  assert.deepEqual(lines, [
    'const event1 = await seen({ type: "message.inbound", after: start?.id });',
    'assert.equal(event1.data.text, "You said: Hello");',
    'await phone.react({ messageId: event1.data.messageId, type: "like" });',
    'const event2 = await seen({ type: "message.inbound", after: event1.id });',
    'assert.equal(event2.data.text, "Again");',
  ]);
});

test("a payment request is made once, with its message, and paid by its own id", () => {
  const lines = bodyOf([
    saw("message.queued", { messageId: "msg_1", to: PHONE, text: "Please pay $5.00" }),
    saw("payment.request.created", { id: "pay_1", messageId: "msg_1", to: PHONE, amount: "5.00", note: null }),
    saw("message.delivered", { messageId: "msg_1" }),
    { does: "pay", number: PHONE, payment: { requestId: "pay_1" }, id: "msg_2" },
    saw("payment.request.paid", { id: "pay_1", messageId: "msg_1" }),
  ]);
  assert.deepEqual(lines, [
    `const request1 = await tightbeam.payments.request({ to: "${PHONE}", amount: "5.00" });`,
    'await seen({ type: "message.delivered", messageId: request1.messageId });',
    "const paid2 = await phone.pay({ requestId: request1.id });",
    'await seen({ type: "message.inbound", messageId: paid2.id });',
    'await seen({ type: "payment.request.paid", messageId: request1.messageId });',
  ]);
});
