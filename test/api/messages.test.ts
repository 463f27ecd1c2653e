/** Messages over HTTP: the whole service, its sandbox, and a receiver. */

import assert from "node:assert/strict";
import { after, describe, test } from "node:test";
import { startNotifiedService } from "../support/notified.ts";
import { until } from "../support/wait.ts";

const { api, receiver, stop } = await startNotifiedService();
after(stop);

const send = (to: string, more: object = {}) =>
  api.ask("POST", "/v1/messages", { body: { to, content: { text: "Hello" }, ...more } });
const get = (id: string) => api.ask("GET", `/v1/messages/${id}`);
const reaches = (id: string, status: string) =>
  until(async () => (await get(id)).data?.status === status, { what: `${id} to be ${status}` });
const untilEvents = (id: string, count: number) =>
  until(() => receiver.types(id).length >= count, {
    what: `${count} events of ${id}; there are ${receiver.types(id)}`,
  });

/** Recipients of the sandbox, how their messages end, and the events after `message.queued`. */
const SANDBOX: [last4: string, status: string, channel: string, events: string[], errorCode?: string][] = [
  ["0100", "delivered", "imessage", ["sent", "delivered"]],
  ["0101", "read", "imessage", ["sent", "delivered", "read"]],
  ["0102", "delivered", "sms", ["fallback", "sent", "delivered"]],
  ["0103", "sent", "imessage", ["sent"]],
  ["0104", "failed", "sms", ["fallback", "failed"], "REJECTED"],
  ["0105", "failed", "sms", ["fallback", "failed"], "NO_CHANNEL_AVAILABLE"],
  ["0106", "delivered", "imessage", ["sent", "delivered"]],
  ["0107", "delivered", "imessage", ["sent", "delivered"]],
  ["0108", "read", "imessage", ["sent", "delivered", "read"]],
  ["0113", "delivered", "imessage", ["sent", "delivered"]],
  ["0199", "delivered", "imessage", ["sent", "delivered"]],
];

/** The events of each of these messages. */
const endings = new Map<string, string[]>();

describe("the sandbox's recipients", { concurrency: true }, () => {
  for (const [last4, status, channel, events, errorCode] of SANDBOX) {
    test(`+1500555${last4} ends ${status} by ${channel}, with each event once and in order`, async () => {
      const { data } = await send(`+1500555${last4}`);
      assert.equal(data.status, "queued");
      await reaches(data.id, status);
      const expected = ["queued", ...events].map((name) => `message.${name}`);
      await untilEvents(data.id, expected.length);
      assert.deepEqual(receiver.types(data.id), expected);
      endings.set(data.id, expected);
      const sequences = receiver.received.filter(({ event }) => event.data.messageId === data.id);
      assert.deepEqual(
        sequences.map(({ event }) => event.data.sequence),
        expected.map((_, index) => index + 1),
      );
      const last = sequences.at(-1)?.event.data;
      assert.deepEqual([last?.channel, last?.errorCode], [channel, errorCode]);
      const record = (await get(data.id)).data;
      assert.equal(record.channel, channel);
      assert.equal(record.errorCode, errorCode ?? null);
      assert.equal(record.fallbackTriggered, events.includes("fallback"));
    });
  }
});

test("nothing follows the end of a message", async () => {
  const later = await send("+15005550117");
  await reaches(later.data.id, "delivered");
  await untilEvents(later.data.id, 3);
  assert.equal(endings.size, SANDBOX.length);
  for (const [id, expected] of endings) assert.deepEqual(receiver.types(id), expected);
});

test("fallback:false fails on the first channel", async () => {
  const { data } = await send("+15005550102", { routing: { fallback: false } });
  await reaches(data.id, "failed");
  assert.equal((await get(data.id)).data.errorCode, "NO_CHANNEL_AVAILABLE");
  await untilEvents(data.id, 2);
  assert.deepEqual(receiver.types(data.id), ["message.queued", "message.failed"]);
});

test("preference decides the order of channels", async () => {
  const { data } = await send("+15005550100", { routing: { preference: ["sms", "imessage"] } });
  assert.equal(data.channel, "sms");
  await reaches(data.id, "delivered");
});

describe("idempotency", () => {
  test("a repeat returns 200 with the current state of the first message, and sends nothing", async () => {
    const first = await send("+15005550100", { idempotencyKey: "once-1" });
    assert.equal(first.status, 202);
    await reaches(first.data.id, "delivered");
    const second = await send("+15005550100", { idempotencyKey: "once-1", routing: { fallback: true } });
    assert.equal(second.status, 200);
    assert.equal(second.data.id, first.data.id);
    assert.equal(second.data.status, "delivered");
  });

  test("a refusal does not use the key up", async () => {
    assert.equal((await send("nobody", { idempotencyKey: "once-4" })).status, 400);
    assert.equal((await send("+15005550100", { idempotencyKey: "once-4" })).status, 202);
  });

  test("twenty concurrent requests create one message", async () => {
    const answers = await Promise.all(
      Array.from({ length: 20 }, () => send("+15005550100", { idempotencyKey: "once-5" })),
    );
    assert.equal(new Set(answers.map(({ data }) => data.id)).size, 1);
    assert.equal(answers.filter(({ status }) => status === 202).length, 1);
  });
});

describe("schedules", () => {
  const inSeconds = (seconds: number) => new Date(Date.now() + seconds * 1_000).toISOString();

  test("a scheduled message has its event, is queued when due, and is delivered", async () => {
    const { data } = await send("+15005550100", { scheduledAt: inSeconds(1) });
    assert.equal(data.status, "scheduled");
    await reaches(data.id, "delivered");
    await untilEvents(data.id, 4);
    assert.deepEqual(receiver.types(data.id), [
      "message.scheduled",
      "message.queued",
      "message.sent",
      "message.delivered",
    ]);
    const queued = receiver.received.find(
      ({ event }) => event.data.messageId === data.id && event.type === "message.queued",
    );
    assert.ok(Date.parse(queued?.event.timestamp ?? "") >= Date.parse(data.scheduledAt));
  });

  test("a cancelled message is never sent, and cannot be cancelled twice", async () => {
    const { data } = await send("+15005550100", { scheduledAt: inSeconds(3_600) });
    const cancelled = await api.ask("DELETE", `/v1/messages/${data.id}/schedule`);
    assert.equal(cancelled.status, 200);
    assert.equal(cancelled.data.status, "cancelled");
    await untilEvents(data.id, 2);
    assert.deepEqual(receiver.types(data.id), ["message.scheduled", "message.schedule_cancelled"]);
    const again = await api.ask("DELETE", `/v1/messages/${data.id}/schedule`);
    assert.equal(again.error?.code, "NOT_SCHEDULED");
  });

  test("the list of scheduled messages is soonest first and pages without a gap", async () => {
    const late = await send("+15005550100", { scheduledAt: inSeconds(9_000) });
    const soon = await send("+15005550100", { scheduledAt: inSeconds(8_000) });
    const first = await api.ask("GET", "/v1/messages/scheduled?limit=1");
    assert.deepEqual(
      first.data.messages.map(({ id }: { id: string }) => id),
      [soon.data.id],
    );
    const next = await api.ask("GET", `/v1/messages/scheduled?limit=1&cursor=${first.data.pagination.nextCursor}`);
    assert.deepEqual(
      next.data.messages.map(({ id }: { id: string }) => id),
      [late.data.id],
    );
    assert.equal(next.data.pagination.hasMore, false);
  });
});

describe("retry and delete", () => {
  test("retrying queues a failed message again; any other status is INVALID_STATUS", async () => {
    const { data } = await send("+15005550105");
    await reaches(data.id, "failed");
    const retried = await api.ask("POST", `/v1/messages/${data.id}/retry`);
    assert.equal(retried.status, 202);
    assert.equal(retried.data.status, "queued");
    assert.equal(retried.data.retryCount, 1);
    assert.equal(retried.data.errorCode, null);
    await reaches(data.id, "failed");
    const fine = await send("+15005550100");
    await reaches(fine.data.id, "delivered");
    assert.equal((await api.ask("POST", `/v1/messages/${fine.data.id}/retry`)).error?.code, "INVALID_STATUS");
  });

  test("a deleted message is in no GET or list, its text in no event, and deleting it twice is 409", async () => {
    const { data } = await send("+15005550100", { content: { text: "forget me" }, externalMessageId: "to-delete" });
    await reaches(data.id, "delivered");
    await untilEvents(data.id, 3);
    const deleted = await api.ask("DELETE", `/v1/messages/${data.id}`);
    assert.deepEqual(deleted.data, { id: data.id, deleted: true });
    assert.equal((await get(data.id)).status, 404);
    assert.deepEqual((await api.ask("GET", "/v1/messages?externalMessageId=to-delete")).data.messages, []);
    assert.equal((await api.ask("DELETE", `/v1/messages/${data.id}`)).error?.code, "ALREADY_DELETED");
    await untilEvents(data.id, 4);
    await until(async () => {
      const { data: list } = await api.ask("GET", `/v1/events?messageId=${data.id}`);
      return (
        list.events.length === 4 && list.events.every((event: { data: { text: unknown } }) => event.data.text === null)
      );
    });
  });

  test("deleting a scheduled message cancels it first", async () => {
    const { data } = await send("+15005550100", { scheduledAt: new Date(Date.now() + 60_000).toISOString() });
    await api.ask("DELETE", `/v1/messages/${data.id}`);
    await untilEvents(data.id, 3);
    assert.deepEqual(receiver.types(data.id), ["message.scheduled", "message.schedule_cancelled", "message.deleted"]);
  });
});

describe("lists", () => {
  test("messages page newest first, stable while others are added, by cursor", async () => {
    const sent: string[] = [];
    for (let index = 0; index < 5; index += 1)
      sent.push((await send("+15005550100", { externalMessageId: "page" })).data.id);
    const seen: string[] = [];
    let cursor = "";
    do {
      const { data } = await api.ask("GET", `/v1/messages?externalMessageId=page&limit=2${cursor}`);
      seen.push(...data.messages.map(({ id }: { id: string }) => id));
      await send("+15005550100", { externalMessageId: "page" });
      cursor = data.pagination.hasMore ? `&cursor=${data.pagination.nextCursor}` : "";
    } while (cursor !== "");
    assert.deepEqual(seen, sent.toReversed());
  });

  test("filters combine, a leading space of an address counts as a plus, and an unknown parameter is named", async () => {
    const { data } = await send("+15005550142", { externalMessageId: "filter" });
    const found = await api.ask("GET", "/v1/messages?to=+15005550142&direction=outbound");
    assert.deepEqual(
      found.data.messages.map(({ id }: { id: string }) => id),
      [data.id],
    );
    assert.deepEqual((await api.ask("GET", "/v1/messages?to=+15005550142&status=failed")).data.messages, []);
    const ofChat = await api.ask("GET", "/v1/messages?chatId=+15005550142");
    assert.deepEqual(
      ofChat.data.messages.map(({ id }: { id: string }) => id),
      [data.id],
    );
    const unknown = await api.ask("GET", "/v1/messages?colour=red");
    assert.equal(unknown.error?.details?.[0]?.path, "colour");
    assert.equal((await api.ask("GET", "/v1/messages?limit=101")).status, 400);
    assert.equal((await api.ask("GET", "/v1/messages?cursor=nonsense")).status, 400);
  });
});
