/** The sandbox's phones over HTTP: what they do on request. */

import assert from "node:assert/strict";
import { after, before, describe, test } from "node:test";
import { type Data, number, phone, SandboxStage } from "../support/sandbox.ts";

let stage: SandboxStage;

before(async () => {
  stage = await SandboxStage.start();
});

after(() => stage.api.stop());

describe("the sandbox's phones", () => {
  test("a phone writes: the response has the inbound message, and one event is emitted", async () => {
    let message: Data;
    const [event] = await stage.emits(async () => {
      message = await stage.data("POST", `${phone("0120")}/messages`, { text: "Hi!" });
    }, ["inbound"]);
    assert.equal(event?.data.messageId, message.id);
    assert.equal(message.direction, "inbound");
    assert.deepEqual(
      [message.from, message.to, message.content.text, message.channel],
      [number("0120"), "+15005550001", "Hi!", "imessage"],
    );
    assert.deepEqual(await stage.data("GET", `/v1/messages/${message.id}`), message);
    const sms = await stage.data("POST", `${phone("0120")}/messages`, { text: "Hi!", channel: "sms" });
    assert.equal(sms.channel, "sms");
    const rcs = await stage.data("POST", `${phone("0120")}/messages`, { text: "Hi!", channel: "rcs" });
    assert.equal(rcs.channel, "rcs");
    const answer = await stage.send("0120", { routing: { preference: ["rcs", "sms"] } });
    assert.equal(answer.channel, "sms");
  });

  test("a phone can reply to our message and to its own, and to no other", async () => {
    const ours = await stage.send("0121");
    await stage.reached(ours.id, "delivered");
    const first = await stage.data("POST", `${phone("0121")}/messages`, { text: "Yes", replyTo: ours.id });
    assert.equal(first.parentMessageId, ours.id);
    const second = await stage.data("POST", `${phone("0121")}/messages`, { text: "Or no", replyTo: first.id });
    assert.equal(second.parentMessageId, first.id);
    for (const replyTo of [(await stage.send("0122")).id, "msg_none"]) {
      await stage.refused("POST", `${phone("0121")}/messages`, { text: "?", replyTo }, 404, "REPLY_NOT_FOUND");
    }
  });

  test("a phone sends files: they are checked like ours, and can be downloaded", async () => {
    const png = Buffer.from(
      "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg==",
      "base64",
    );
    const file = { type: "base64", data: png.toString("base64"), filename: "dot.png" };
    const message = await stage.data("POST", `${phone("0123")}/messages`, { attachments: [file] });
    const [attachment] = message.attachments;
    assert.deepEqual(
      [attachment.mimeType, attachment.filename, attachment.totalBytes],
      ["image/png", "dot.png", png.length],
    );
    const answer = await fetch(attachment.downloadUrl);
    assert.deepEqual(Buffer.from(await answer.arrayBuffer()), png);
    const bad = { attachments: [{ type: "base64", data: "no!" }] };
    await stage.refused("POST", `${phone("0123")}/messages`, bad, 400, "VALIDATION_ERROR");
    const inside = { attachments: [{ type: "url", url: "https://169.254.169.254/x.png" }] };
    await stage.refused("POST", `${phone("0123")}/messages`, inside, 400, "VALIDATION_ERROR");
  });

  test("an action that a phone cannot do is refused with a reason", async () => {
    const path = `${phone("0124")}/messages`;
    await stage.refused("POST", path, {}, 400, "VALIDATION_ERROR");
    await stage.refused("POST", path, { text: "", attachments: [] }, 400, "VALIDATION_ERROR");
    await stage.refused("POST", path, { text: "x", to: "+15005559999" }, 403, "ADDRESS_NOT_AUTHORIZED");
    await stage.refused("POST", path, { text: "x", colour: "red" }, 400, "VALIDATION_ERROR");
    await stage.refused("POST", "/v1/sandbox/phones/12/messages", { text: "x" }, 400, "INVALID_PHONE_NUMBER");
    await stage.refused("POST", "/v1/sandbox/phones/+15005550001/messages", { text: "x" }, 400, "VALIDATION_ERROR");
    const mail = "/v1/sandbox/phones/ada@example.com/messages";
    await stage.refused("POST", mail, { text: "x", channel: "sms" }, 400, "CHANNEL_NOT_SUPPORTED");
    assert.equal((await stage.data("POST", mail.replace("ada", "Ada"), { text: "x" })).from, "ada@example.com");
  });

  test("a phone types: start and stop are one event each", async () => {
    const events = await stage.emits(async () => {
      const begun = await stage.data("POST", `${phone("0125")}/typing`, { typing: true });
      const ended = await stage.data("POST", `${phone("0125")}/typing`, { typing: false });
      assert.deepEqual([begun.status, ended.status, begun.chatId], ["start", "stop", ended.chatId]);
    }, ["typing.indicator", "typing.indicator"]);
    assert.deepEqual(
      events.map(({ data: { typing } }) => typing),
      [true, false],
    );
    await stage.refused("POST", `${phone("0149")}/typing`, { typing: false }, 404, "CONVERSATION_NOT_FOUND");
  });

  test("a phone reacts to a message that it has, and removes the reaction", async () => {
    const ours = await stage.send("0126");
    await stage.reached(ours.id, "delivered");
    const events = await stage.emits(async () => {
      const answer = await stage.data("POST", `${phone("0126")}/reactions`, { messageId: ours.id, type: "laugh" });
      assert.deepEqual(answer, { messageId: ours.id, reaction: "laugh" });
      await stage.data("POST", `${phone("0126")}/reactions`, { messageId: ours.id, type: "-laugh" });
    }, ["reaction", "reaction"]);
    assert.deepEqual(
      events.map(({ data: { reaction } }) => reaction.type),
      ["laugh", "remove"],
    );
    const withEmoji = await stage.emits(async () => {
      const answer = await stage.data("POST", `${phone("0126")}/reactions`, { messageId: ours.id, type: "🎉" });
      assert.deepEqual(answer, { messageId: ours.id, reaction: "🎉" });
      await stage.data("POST", `${phone("0126")}/reactions`, { messageId: ours.id, type: "-🎉" });
    }, ["reaction", "reaction"]);
    assert.deepEqual(
      withEmoji.map(({ data: { reaction } }) => reaction),
      [
        { type: "emoji", emoji: "🎉", targetMessageId: ours.id, content: "Reacted 🎉 to “Hello”" },
        { type: "remove", targetMessageId: ours.id, content: "Removed 🎉 from “Hello”" },
      ],
    );
    const react = `${phone("0127")}/reactions`;
    await stage.refused("POST", react, { messageId: ours.id, type: "love" }, 404, "NOT_FOUND");
    await stage.refused("POST", react, { messageId: "msg_none", type: "love" }, 404, "NOT_FOUND");
    const sms = await stage.send("0127", { routing: { preference: ["sms"] } });
    await stage.reached(sms.id, "delivered");
    await stage.refused("POST", react, { messageId: sms.id, type: "love" }, 400, "CHANNEL_NOT_SUPPORTED");
    const later = await stage.send("0127", { scheduledAt: new Date(Date.now() + 86_400_000).toISOString() });
    await stage.refused("POST", react, { messageId: later.id, type: "love" }, 400, "INVALID_STATUS");
  });

  test("a phone set to refuse edits leaves the message unchanged: 502 EDIT_FAILED and its event", async () => {
    const ours = await stage.send("0170");
    await stage.reached(ours.id, "delivered");
    await stage.data("PUT", `${phone("0170")}/settings`, { edits: false });
    const edit = () => stage.api.ask("PUT", `/v1/messages/${ours.id}`, { body: { text: "Bye" } });
    const [event] = await stage.emits(async () => {
      const { status, error } = await edit();
      assert.deepEqual([status, error?.code], [502, "EDIT_FAILED"]);
    }, ["edit_failed"]);
    assert.partialDeepStrictEqual(event?.data, { messageId: ours.id, text: "Hello", status: "delivered" });
    assert.match(event?.data.reason, /did not change the message/);
    await stage.data("PUT", `${phone("0170")}/settings`, { edits: true });
    assert.equal((await edit()).data.content.text, "Bye");
  });

  test("a phone keeps our audio message, with one event; any other message is refused", async () => {
    const keep = `${phone("0171")}/audio-kept`;
    const data = Buffer.from(`RIFF${"\0".repeat(4)}WAVEfmt `).toString("base64");
    const file = { type: "base64", data, filename: "hello.wav" };
    const audio = await stage.send("0171", { attachments: [{ ...file, isAudioMessage: true }] });
    const plain = await stage.send("0171", { attachments: [file] });
    await Promise.all([audio, plain].map(({ id }) => stage.reached(id, "delivered")));
    const [event] = await stage.emits(async () => {
      const kept = await stage.data("POST", keep, { messageId: audio.id });
      assert.deepEqual(kept, await stage.data("GET", `/v1/messages/${audio.id}`));
      await stage.data("POST", keep, { messageId: audio.id });
    }, ["audio_kept"]);
    assert.partialDeepStrictEqual(event?.data, { messageId: audio.id, to: number("0171"), status: "delivered" });
    await stage.refused("POST", keep, { messageId: plain.id }, 400, "VALIDATION_ERROR");
    const theirs = await stage.data("POST", `${phone("0171")}/messages`, { text: "Hi" });
    await stage.refused("POST", keep, { messageId: theirs.id }, 400, "VALIDATION_ERROR");
    await stage.refused("POST", keep, { messageId: "msg_none" }, 404, "NOT_FOUND");
    await stage.refused("POST", `${phone("0172")}/audio-kept`, { messageId: audio.id }, 404, "NOT_FOUND");
    const scheduledAt = new Date(Date.now() + 86_400_000).toISOString();
    const later = await stage.send("0171", { attachments: [{ ...file, isAudioMessage: true }], scheduledAt });
    await stage.refused("POST", keep, { messageId: later.id }, 400, "INVALID_STATUS");
  });

  test("a phone changes the photo of its group; a phone outside of the group cannot", async () => {
    const participants = [number("0173"), number("0174")];
    const group = await stage.data("POST", "/v1/chats/groups", { participants });
    const [event] = await stage.emits(async () => {
      const chat = await stage.data("POST", `${phone("0173")}/group-photo`, { chatId: group.id });
      assert.equal(chat.id, group.id);
    }, ["chat.photo.changed"]);
    assert.deepEqual(event?.data, { chatId: group.id, actor: number("0173"), to: group.from, channel: "imessage" });
    await stage.refused("POST", `${phone("0175")}/group-photo`, { chatId: group.id }, 404, "NOT_FOUND");
    await stage.refused("POST", `${phone("0173")}/group-photo`, { chatId: "chat_0" }, 404, "CONVERSATION_NOT_FOUND");
    const thread = (await stage.data("POST", `${phone("0173")}/messages`, { text: "Hi" })).chatId;
    await stage.refused("POST", `${phone("0173")}/group-photo`, { chatId: thread }, 400, "INVALID_STATUS");
    await stage.data("POST", `/v1/chats/${group.id}/leave`);
    await stage.refused("POST", `${phone("0173")}/group-photo`, { chatId: group.id }, 400, "INVALID_STATUS");
  });

  test("a phone writes in its group; a phone outside of the group cannot", async () => {
    const participants = [number("0176"), number("0177")];
    const group = await stage.data("POST", "/v1/chats/groups", { participants });
    const write = (last4: string) => `${phone(last4)}/messages`;
    const [event] = await stage.emits(async () => {
      const message = await stage.data("POST", write("0176"), { text: "Hi all", chatId: group.id });
      assert.deepEqual([message.chatId, message.from, message.channel], [group.id, number("0176"), "imessage"]);
    }, ["inbound"]);
    assert.partialDeepStrictEqual(event?.data, { chatId: group.id, from: number("0176"), text: "Hi all" });
    const say = { text: "Hi", chatId: group.id };
    await stage.refused("POST", write("0178"), say, 404, "NOT_FOUND");
    await stage.refused("POST", write("0176"), { ...say, chatId: "chat_0" }, 404, "CONVERSATION_NOT_FOUND");
    await stage.data("POST", `/v1/chats/${group.id}/leave`);
    await stage.refused("POST", write("0176"), say, 400, "INVALID_STATUS");
  });

  test("a phone pays a given amount, or the amount of a request", async () => {
    const ask = (last4: string) => stage.data("POST", "/v1/payments/request", { to: number(last4), amount: "12.50" });
    const pay = `${phone("0128")}/payments`;
    const [mine, others] = [await ask("0128"), await ask("0129")];
    const message = await stage.data("POST", pay, { requestId: mine.id });
    assert.equal(message.direction, "inbound");
    const paid = await stage.data("GET", `/v1/payments/requests/${mine.id}`);
    assert.deepEqual([paid.status, paid.paidBy.messageId], ["paid", message.id]);
    await stage.refused("POST", pay, { requestId: mine.id }, 400, "INVALID_STATUS");
    await stage.refused("POST", pay, { requestId: others.id }, 404, "NOT_FOUND");
    await stage.refused("POST", pay, {}, 400, "VALIDATION_ERROR");
    await stage.refused("POST", pay, { amount: 0 }, 400, "VALIDATION_ERROR");
    await stage.data("POST", `${phone("0129")}/payments`, { amount: "12.49" });
    assert.equal((await stage.data("GET", `/v1/payments/requests/${others.id}`)).status, "pending");
    await stage.data("POST", `${phone("0129")}/payments`, { amount: 12.5 });
    assert.equal((await stage.data("GET", `/v1/payments/requests/${others.id}`)).status, "paid");
  });

  test("a phone calls: rings, is answered, hangs up; an unknown call is refused", async () => {
    const act = (action: string, more: object = {}) =>
      stage.data("POST", `${phone("0130")}/calls`, { action, ...more });
    for (const action of ["answer", "hangup", "miss"]) {
      await stage.refused("POST", `${phone("0130")}/calls`, { action }, 400, "INVALID_STATUS");
    }
    const types = ["facetime.incoming", "facetime.status_changed", "facetime.status_changed"];
    await stage.emits(async () => {
      const call = await act("ring", { video: true });
      assert.deepEqual([call.status, call.isVideo, call.caller], ["incoming", true, number("0130")]);
      await stage.refused("POST", `${phone("0130")}/calls`, { action: "ring" }, 400, "INVALID_STATUS");
      assert.equal((await act("answer")).id, call.id);
      assert.equal((await act("hangup")).status, "disconnected");
    }, types);
    assert.equal((await act("ring")).status, "incoming");
    assert.equal((await act("miss")).status, "missed");
  });

  test("an action with an idempotency key is done once, also for concurrent requests", async () => {
    const write = (text: string, key = "w-1") =>
      stage.api.ask("POST", `${phone("0131")}/messages`, { body: { text }, headers: { "idempotency-key": key } });
    const [first, second] = await Promise.all([write("Once"), write("Once")]);
    assert.deepEqual([first.status, second.status], [200, 200]);
    assert.equal(first.data.id, second.data.id);
    assert.equal((await write("Once")).data.id, first.data.id);
    assert.equal((await write("Twice")).error?.code, "IDEMPOTENCY_KEY_REUSED");
    const ring = () => stage.data("POST", `${phone("0131")}/calls`, { action: "ring", idempotencyKey: "r-1" });
    const call = await ring();
    await stage.data("POST", `${phone("0131")}/calls`, { action: "hangup" });
    assert.deepEqual([(await ring()).id, (await ring()).status], [call.id, "disconnected"]);
    const { messages } = await stage.data("GET", `/v1/messages?from=${encodeURIComponent(number("0131"))}`);
    assert.equal(messages.length, 1);
  });
});
