/** Messages after they were sent, over HTTP: edited, unsent, reacted to; and messages of the sandbox's contacts. */

import assert from "node:assert/strict";
import { after, test } from "node:test";
import { startNotifiedService } from "../support/notified.ts";
import { until } from "../support/wait.ts";

const { api, receiver, stop } = await startNotifiedService();
after(stop);

const get = (id: string) => api.ask("GET", `/v1/messages/${id}`);
const put = (id: string, body: unknown) => api.ask("PUT", `/v1/messages/${id}`, { body });
const post = (path: string, body?: unknown, headers = {}) =>
  api.ask("POST", `/v1/messages/${path}`, { ...(body === undefined ? {} : { body }), headers });

/** A message that has come to `status`, by its id. */
async function sent(to = "+15005550100", status = "delivered", text = "Hello"): Promise<string> {
  const { data } = await api.ask("POST", "/v1/messages", { body: { to, content: { text } } });
  await until(async () => (await get(data.id)).data.status === status, { what: `${data.id} to be ${status}` });
  return data.id;
}

const untilEventTypes = (id: string, types: string[]) =>
  until(() => receiver.types(id).join() === types.map((type) => `message.${type}`).join(), {
    what: `${id} to be told of by ${types}; there is ${receiver.types(id)}`,
  });

/** Data of the events of a type that match, as the receiver got them. */
const received = (type: string, match: (data: Record<string, unknown>) => boolean) =>
  receiver.received.filter(({ event }) => event.type === type && match(event.data)).map(({ event }) => event.data);

test("an edit returns the record with its new text, and emits one event", async () => {
  const id = await sent();
  const { status, data } = await put(id, { text: "Hello again", backwardsCompatibilityMessage: "Edited" });
  assert.equal(status, 200);
  assert.deepEqual(data, (await get(id)).data);
  assert.partialDeepStrictEqual(data, { id, status: "delivered", content: { text: "Hello again" } });
  await untilEventTypes(id, ["queued", "sent", "delivered", "edited"]);
  const [event] = received("message.edited", ({ messageId }) => messageId === id);
  assert.partialDeepStrictEqual(event, { text: "Hello again", status: "delivered", sequence: 4, channel: "imessage" });
  assert.match(String(event?.editedAt), /^\d{4}-.*Z$/);
});

test("`content.text` is an alias of `text`, `reaction` of `type`; both with different values, or neither, is a 400", async () => {
  const id = await sent();
  assert.equal((await put(id, { content: { text: "By its synonym" } })).data.content.text, "By its synonym");
  assert.equal((await put(id, { text: "One", content: { text: "One" } })).status, 200);
  assert.deepEqual((await post(`${id}/reactions`, { reaction: "like" })).data, { messageId: id, reaction: "like" });
  for (const [answer, path] of [
    [await put(id, {}), "text"],
    [await put(id, { text: "One", content: { text: "Two" } }), "content.text"],
    [await put(id, { text: "" }), "text"],
    [await put(id, { text: "x".repeat(10_001) }), "text"],
    [await put(id, { text: "a\0b" }), "text"],
    [await put(id, { text: "One", sneaky: true }), "sneaky"],
    [await post(`${id}/reactions`, {}), "type"],
    [await post(`${id}/reactions`, { type: "love", reaction: "like" }), "reaction"],
    [await post(`${id}/reactions`, { type: "thumbsup" }), "type"],
    [await post(`${id}/unsend`, { sneaky: true }), "sneaky"],
  ] as const) {
    assert.deepEqual([answer.status, answer.error?.code], [400, "VALIDATION_ERROR"]);
    assert.equal(answer.error?.details?.[0]?.path, path);
  }
  assert.equal((await get(id)).data.content.text, "One");
});

test("an unsend returns the record and emits one event; no action on the message is possible after it", async () => {
  const id = await sent();
  const { status, data } = await post(`${id}/unsend`);
  assert.equal(status, 200);
  assert.deepEqual(data, (await get(id)).data);
  assert.partialDeepStrictEqual(data, { id, status: "unsent" });
  assert.equal(data.timeline.at(-1).status, "unsent");
  await untilEventTypes(id, ["queued", "sent", "delivered", "unsent"]);
  for (const answer of [
    await post(`${id}/unsend`, {}),
    await put(id, { text: "Bye" }),
    await post(`${id}/reactions`, { type: "love" }),
  ]) {
    assert.deepEqual([answer.status, answer.error?.code], [409, "ALREADY_UNSENT"]);
  }
  assert.deepEqual(
    (await api.ask("GET", "/v1/messages?status=unsent")).data.messages
      .map((one: { id: string }) => one.id)
      .includes(id),
    true,
  );
});

test("every reaction and its removal returns its type", async () => {
  const id = await sent();
  for (const reaction of ["love", "like", "dislike", "laugh", "emphasize", "question"].flatMap((one) => [
    one,
    `-${one}`,
  ])) {
    const { status, data } = await post(`${id}/reactions`, { type: reaction });
    assert.deepEqual([status, data], [200, { messageId: id, reaction }]);
  }
});

test("a repeated idempotency key returns the first result, and another request with it is a 409", async () => {
  const id = await sent();
  const headers = { "idempotency-key": `unsend ${id}` };
  const first = await post(`${id}/unsend`, undefined, headers);
  const again = await post(`${id}/unsend`, undefined, headers);
  assert.deepEqual([first.status, again.status, again.data], [200, 200, first.data]);
  const other = await post(`${await sent()}/unsend`, undefined, headers);
  assert.deepEqual([other.status, other.error?.code], [409, "IDEMPOTENCY_KEY_REUSED"]);
});

test("any single emoji is a reaction, and with a minus its removal; anything else is a 400 that says so", async () => {
  const id = await sent();
  for (const reaction of ["😂", "-😂", "👩‍👩‍👧‍👦", "-🏳️‍🌈"]) {
    const { status, data } = await post(`${id}/reactions`, { type: reaction });
    assert.deepEqual([status, data], [200, { messageId: id, reaction }]);
  }
  assert.equal((await post(`${id}/reactions`, { reaction: "❤" })).data.reaction, "❤️");
  for (const type of ["😂😂", "-", "", "a", "1", "😂".repeat(100)]) {
    const { status, error } = await post(`${id}/reactions`, { type });
    assert.deepEqual([status, error?.code, error?.details?.[0]?.path], [400, "VALIDATION_ERROR", "type"], type);
    assert.match(error?.details?.[0]?.message ?? "", /love, like, .* or one emoji/);
  }
  const sms = await sent("+15005550102");
  assert.equal((await post(`${sms}/reactions`, { type: "🎉" })).error?.code, "CHANNEL_NOT_SUPPORTED");
});

test("a contact's reply is an inbound message of the thread, listed and counted", async () => {
  const id = await sent("+15005550110", "delivered", "Is anybody there?");
  const isAnswer = ({ text }: Record<string, unknown>) => text === "You said: Is anybody there?";
  await until(() => received("message.inbound", isAnswer).length > 0, { what: "the answer" });
  const [event] = received("message.inbound", isAnswer);
  assert.ok(event !== undefined && !("status" in event) && !("externalMessageId" in event) && !("chatId" in event));
  const { data } = await get(String(event.messageId));
  assert.partialDeepStrictEqual(data, {
    direction: "inbound",
    status: "received",
    from: "+15005550110",
    to: (await get(id)).data.from,
    content: { text: "You said: Is anybody there?", mediaUrls: [] },
    chatId: (await get(id)).data.chatId,
    sentAt: null,
  });
  assert.deepEqual([event.attachments, event.parentMessageId], [[], null]);
  assert.deepEqual(
    data.timeline.map((entry: { status: string }) => entry.status),
    ["received"],
  );
  for (const query of ["direction=inbound&from=%2B15005550110", "status=received"]) {
    const { messages } = (await api.ask("GET", `/v1/messages?${query}`)).data;
    assert.deepEqual(
      messages.map((one: { id: string; status: string }) => [one.id, one.status]),
      [[data.id, "received"]],
    );
  }
  const delivered = (await api.ask("GET", "/v1/messages?status=delivered")).data.messages;
  assert.ok(
    delivered.length > 0 && delivered.every(({ direction }: { direction: string }) => direction === "outbound"),
  );
  const usage = (await api.ask("GET", "/v1/admin/usage")).data;
  assert.ok(usage.totals.messagesReceived >= 1);
  assert.equal((await put(data.id, { text: "Bye" })).error?.code, "INVALID_STATUS");
  assert.equal((await post(`${data.id}/reactions`, { type: "laugh" })).status, 200);
});

test("a contact's reaction is an event of the message", async () => {
  const id = await sent("+15005550111");
  await untilEventTypes(id, ["queued", "sent", "delivered", "reaction"]);
  const [event] = received("message.reaction", ({ messageId }) => messageId === id);
  assert.partialDeepStrictEqual(event, {
    reaction: { type: "love", targetMessageId: id },
    from: "+15005550111",
    channel: "imessage",
    sequence: 4,
  });
});
