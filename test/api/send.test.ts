/** Sending over HTTP: files, carousels and conversations. */

import assert from "node:assert/strict";
import { createServer, type Server } from "node:http";
import type { AddressInfo } from "node:net";
import { after, before, describe, test } from "node:test";
import { startTestService, type TestService } from "../support/service.ts";
import { until } from "../support/wait.ts";

const TO = "+15005550100";
const GIF = Buffer.from("GIF89a\0\0");
const PDF = Buffer.from("%PDF-1.4\n");

let api: TestService;
let files: Server;
let filesUrl: string;

before(async () => {
  api = await startTestService({ TB_FETCH_ALLOW: "loopback" });
  files = createServer((request, response) => {
    const isThere = request.url?.startsWith("/gone") === false;
    response.writeHead(isThere ? 200 : 404).end(isThere ? GIF : undefined);
  });
  await new Promise<void>((resolve) => files.listen(0, "127.0.0.1", resolve));
  filesUrl = `http://127.0.0.1:${(files.address() as AddressInfo).port}`;
});

after(async () => {
  await api.stop();
  files.closeAllConnections();
  files.close();
});

const post = (body: object, path = "/v1/messages") => api.ask("POST", path, { body });
const send = (more: object = {}) => post({ to: TO, content: { text: "Hello" }, ...more });
const get = (id: string) => api.ask("GET", `/v1/messages/${id}`);
const reaches = (id: string, status: string) =>
  until(async () => (await get(id)).data?.status === status, { what: `${id} to be ${status}` });
const base64 = (bytes: Buffer) => ({ type: "base64", data: bytes.toString("base64") });

/** The key of another customer, which has a number of its own. */
async function otherKey(): Promise<string> {
  const admin = (path: string, body: object) => api.ask("POST", path, { key: api.adminKey, body });
  const { data: customer } = await admin("/v1/admin/customers", { name: "Other" });
  const number = { phoneNumber: "+15005550199", provider: "sandbox" };
  await admin(`/v1/admin/customers/${customer.id}/numbers`, number);
  return (await admin("/v1/admin/keys", { name: "Other", customerId: customer.id })).data.key;
}

describe("files", () => {
  test("media and attachments arrive, and the record says what they are", async () => {
    const { status, data } = await post({
      to: TO,
      content: { mediaUrl: `${filesUrl}/a.gif` },
      attachments: [{ ...base64(PDF), filename: "offer.pdf" }],
      effect: "confetti",
    });
    assert.deepEqual([status, data.status, data.channel], [202, "queued", "imessage"]);
    await reaches(data.id, "delivered");
    const { data: record } = await get(data.id);
    assert.deepEqual(record.content, { text: null, mediaUrls: [`${filesUrl}/a.gif`] });
    assert.deepEqual([record.messageType, record.effect, record.fallbackTriggered], ["media", "confetti", false]);
    const [file, ...more] = record.attachments;
    assert.deepEqual(
      [file.filename, file.mimeType, file.totalBytes, more.length],
      ["offer.pdf", "application/pdf", 9, 0],
    );
    const download = await fetch(file.downloadUrl);
    assert.deepEqual(Buffer.from(await download.arrayBuffer()), PDF);
    await api.ask("DELETE", `/v1/messages/${data.id}`);
    assert.equal((await fetch(file.downloadUrl)).status, 404);
  });

  test("a file that does not exist fails the message with a reason", async () => {
    const { data } = await send({ content: { mediaUrls: [`${filesUrl}/gone`] } });
    await reaches(data.id, "failed");
    const { data: record } = await get(data.id);
    assert.deepEqual([record.errorCode, record.providerErrorCode], ["REJECTED", "MEDIA_REFUSED"]);
    assert.match(record.errorMessage, /404/);
  });

  test("bodies up to 10 MiB are accepted, larger ones are 413", async () => {
    const large = base64(Buffer.concat([PDF, Buffer.alloc(3_000_000, 0x20)]));
    const { data, status } = await post({ to: TO, attachments: [large] });
    assert.equal(status, 202);
    await reaches(data.id, "delivered");
    const larger = base64(Buffer.alloc(8_000_000, 0x20));
    const refused = await post({ to: TO, attachments: [larger] });
    assert.deepEqual([refused.status, refused.error?.code], [413, "PAYLOAD_TOO_LARGE"]);
  });
});

describe("POST /v1/messages/carousel", () => {
  const carousel = (more: object) => post({ to: TO, ...more }, "/v1/messages/carousel");

  test("is accepted with its type and count, and delivered", async () => {
    const mediaUrls = [`${filesUrl}/a`, `${filesUrl}/b`, `${filesUrl}/c`];
    const { status, data } = await carousel({ mediaUrls, text: "Look", externalMessageId: "mine" });
    assert.equal(status, 202);
    assert.deepEqual([data.messageType, data.imageCount, data.externalMessageId], ["carousel", 3, "mine"]);
    await reaches(data.id, "delivered");
    const { data: record } = await get(data.id);
    assert.deepEqual([record.content, record.messageType], [{ text: "Look", mediaUrls }, "carousel"]);
  });

  test("is idempotent by its key, which is separate from a message's key", async () => {
    const mediaUrls = [`${filesUrl}/a`, `${filesUrl}/b`];
    const first = await carousel({ mediaUrls, idempotencyKey: "carousel-1" });
    const second = await carousel({ mediaUrls, text: "", attachments: [], idempotencyKey: "carousel-1" });
    assert.deepEqual([first.status, second.status, second.data.id], [202, 200, first.data.id]);
    assert.deepEqual([second.data.messageType, second.data.imageCount], ["carousel", 2]);
    const message = await send({ content: { mediaUrls }, idempotencyKey: "carousel-1" });
    assert.equal(message.error?.code, "IDEMPOTENCY_KEY_REUSED");
  });

  const REFUSED: [title: string, body: object, path: string][] = [
    ["one image", { mediaUrls: ["https://example.com/"] }, "mediaUrls"],
    ["none", {}, "mediaUrls"],
    ["a private address", { mediaUrls: ["https://example.com/", "https://10.0.0.1/"] }, "mediaUrls[1]"],
    ["content", { mediaUrls: ["https://a.example/", "https://b.example/"], content: { text: "a" } }, "content"],
  ];
  for (const [title, body, path] of REFUSED) {
    test(`with ${title} is a 400 on ${path}`, async () => {
      const { status, error } = await carousel(body);
      assert.deepEqual([status, error?.code, error?.details?.[0]?.path], [400, "VALIDATION_ERROR", path]);
    });
  }
});

describe("conversations", () => {
  test("a message creates its thread, and later messages can be sent to the thread's id", async () => {
    const to = "+15005550155";
    const { data } = await send({ to });
    const { data: record } = await get(data.id);
    const { data: chat } = await api.ask("GET", `/v1/chats/${record.chatId}`);
    assert.deepEqual([chat.isGroup, chat.participants], [false, [to]]);
    const there = await post({ conversationId: record.chatId, content: { text: "again" }, replyTo: data.id });
    assert.deepEqual([there.status, there.data.to], [202, to]);
    const { data: reply } = await get(there.data.id);
    assert.deepEqual([reply.chatId, reply.replyTo, reply.parentMessageId], [record.chatId, data.id, data.id]);
    const { data: ofReply } = await api.ask("GET", `/v1/events?messageId=${reply.id}&type=message.queued`);
    assert.equal(ofReply.events[0].data.parentMessageId, data.id);
  });

  test("`to` accepts the chat id of a thread or group, also for a carousel; `to` and `chatId` are the same request", async () => {
    const to = "+15005550156";
    const first = await send({ to });
    const { chatId } = (await get(first.data.id)).data;
    const there = await send({ to: chatId, idempotencyKey: "either-field" });
    assert.deepEqual([there.status, there.data.to], [202, to]);
    assert.equal((await get(there.data.id)).data.chatId, chatId);
    const again = await post({ chatId, content: { text: "Hello" }, idempotencyKey: "either-field" });
    assert.deepEqual([again.status, again.data.id], [200, there.data.id]);
    const participants = ["+15005550122", "+15005550123"];
    const { data: group } = await api.ask("POST", "/v1/chats/groups", { body: { participants } });
    const grouped = await send({ to: group.id });
    assert.deepEqual([grouped.status, grouped.data.to], [202, group.id]);
    const mediaUrls = ["https://images.example/a.png", "https://images.example/b.png"];
    const carousel = await post({ to: chatId, mediaUrls }, "/v1/messages/carousel");
    assert.deepEqual([carousel.status, carousel.data.to], [202, to]);
    const { data: rehearsed } = await post({ to: chatId, content: { text: "Hello" } }, "/v1/messages?dryRun=true");
    assert.deepEqual([rehearsed.to, rehearsed.dryRun], [to, true]);
  });

  test("`to` and `chatId` accept iMessage;-;address and SMS;-;address of an existing thread", async () => {
    const to = "+15005550157";
    const { chatId } = (await get((await send({ to })).data.id)).data;
    for (const name of [`iMessage;-;${to}`, `SMS;-;${to}`, chatId, to]) {
      for (const field of ["to", "chatId"]) {
        const { status, data } = await post({ [field]: name, content: { text: "Hello" } });
        assert.deepEqual([status, data?.to], [202, to], `${field}: ${name}`);
        assert.equal((await get(data.id)).data.chatId, chatId);
      }
    }
  });

  test("an unknown conversation in `to` is a 404, and a payment request refuses a conversation", async () => {
    const unknown = ["chat_01890000-0000-7000-8000-000000000000", "iMessage;-;+15005550158", "SMS;-;nobody", "chat_"];
    for (const to of unknown) {
      for (const path of ["/v1/messages", "/v1/messages?dryRun=true"]) {
        const { status, error } = await post({ to, content: { text: "Hello" } }, path);
        assert.deepEqual([status, error?.code], [404, "CONVERSATION_NOT_FOUND"], to);
      }
      const { status, error } = await post({ to, amount: "25.00" }, "/v1/payments/request");
      assert.deepEqual([status, error?.code], [400, "INVALID_PHONE_NUMBER"], to);
    }
    const { status, error } = await send({ to: "iMessage;+;+15005550158" });
    assert.deepEqual([status, error?.code], [400, "INVALID_PHONE_NUMBER"]);
  });

  test("a message reaches a group only by its id", async () => {
    const participants = ["+15005550120", "+15005550121"];
    const { data: group } = await api.ask("POST", "/v1/chats/groups", { body: { participants } });
    const { status, data } = await post({ chatId: group.id, content: { text: "Hi all" } });
    assert.deepEqual([status, data.to, data.channel], [202, group.id, "imessage"]);
    await reaches(data.id, "delivered");
    await api.ask("POST", `/v1/chats/${group.id}/leave`);
    const left = await post({ chatId: group.id, content: { text: "Hi?" } });
    assert.deepEqual([left.status, left.error?.code], [400, "INVALID_STATUS"]);
  });

  test("a repeat with aliases of its fields is the same request", async () => {
    const { data } = await send();
    const { data: record } = await get(data.id);
    const first = await post({ chatId: record.chatId, content: { text: "x" }, idempotencyKey: "synonyms" });
    const second = await post({
      conversationId: record.chatId,
      content: { text: "x" },
      attachments: [],
      createContact: false,
      routing: { fallback: true },
      idempotencyKey: "synonyms",
    });
    assert.deepEqual([first.status, second.status, second.data.id], [202, 200, first.data.id]);
  });

  test("another customer's conversations are 404", async () => {
    const key = await otherKey();
    const { data } = await send();
    const { data: record } = await get(data.id);
    const ask = (body: object) => api.ask("POST", "/v1/messages", { key, body });
    const chat = await ask({ chatId: record.chatId, content: { text: "a" } });
    assert.deepEqual([chat.status, chat.error?.code], [404, "CONVERSATION_NOT_FOUND"]);
    const reply = await ask({ to: TO, content: { text: "a" }, replyTo: data.id });
    assert.deepEqual([reply.status, reply.error?.code], [404, "REPLY_NOT_FOUND"]);
  });
});
