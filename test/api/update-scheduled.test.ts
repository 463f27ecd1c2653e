/** `PATCH /v1/messages/:id`: a scheduled message gets other content, another time or other metadata. */

import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import { startTestService, type TestService } from "../support/service.ts";
import { until } from "../support/wait.ts";

const TO = "+15005550100";
const IMAGE = "https://example.com/1.png";
const DAY_MS = 86_400_000;

let api: TestService;

before(async () => {
  api = await startTestService();
});
after(() => api.stop());

const inMs = (ms: number) => new Date(Date.now() + ms).toISOString();
const schedule = async (more: object = {}): Promise<string> => {
  const body = { to: TO, content: { text: "Hello" }, scheduledAt: inMs(DAY_MS), ...more };
  const { status, data } = await api.ask("POST", "/v1/messages", { body });
  assert.equal(status, 202);
  return data.id;
};
const update = (id: string, body: object, key = api.key) => api.ask("PATCH", `/v1/messages/${id}`, { body, key });
const eventsOf = async (id: string) =>
  (await api.ask("GET", `/v1/events?messageId=${id}`)).data.events.reverse() as {
    type: string;
    data: { text: string; sequence: number; scheduledAt: string };
  }[];

test("text, time and metadata change, the other fields stay, and message.scheduled is emitted", async () => {
  const id = await schedule({ externalMessageId: "x-1", metadata: { a: 1 } });
  const scheduledAt = inMs(2 * DAY_MS);
  const { status, data } = await update(id, { content: { text: "Changed" }, scheduledAt, metadata: { b: 2 } });
  assert.equal(status, 200);
  assert.deepEqual(
    [data.id, data.status, data.content.text, data.scheduledAt, data.metadata, data.externalMessageId],
    [id, "scheduled", "Changed", scheduledAt, { b: 2 }, "x-1"],
  );
  assert.equal(data.timeline.at(-1).reason, "changed: content.text, scheduledAt, metadata");
  assert.deepEqual((await api.ask("GET", `/v1/messages/${id}`)).data, data);
  const emitted = (await eventsOf(id)).map(({ type, data: { text, sequence } }) => [type, text, sequence]);
  assert.deepEqual(emitted, [
    ["message.scheduled", "Hello", 1],
    ["message.scheduled", "Changed", 2],
  ]);
  const { data: list } = await api.ask("GET", "/v1/messages/scheduled");
  assert.equal(list.messages.at(-1).id, id, "it is listed at its new time");
});

test("an updated message is sent once, at its new time, with its new content", async () => {
  const id = await schedule();
  const { data } = await update(id, { content: { text: "Sooner" }, scheduledAt: inMs(300) });
  assert.equal(data.status, "scheduled");
  await until(async () => (await api.ask("GET", `/v1/messages/${id}`)).data.status === "delivered");
  const types = (await eventsOf(id)).map(({ type, data: { text } }) => [type, text]);
  assert.deepEqual(types.slice(1), [
    ["message.scheduled", "Sooner"],
    ["message.queued", "Sooner"],
    ["message.sent", "Sooner"],
    ["message.delivered", "Sooner"],
  ]);
});

test("media make it a carousel, [] removes them, segments are recounted, and null removes metadata", async () => {
  const id = await schedule({ routing: { preference: ["sms"] }, metadata: { a: 1 } });
  const more = await update(id, { content: { mediaUrls: [IMAGE, `${IMAGE}?2`] } });
  assert.deepEqual([more.data.messageType, more.data.content.text], ["carousel", "Hello"]);
  const none = await update(id, { content: { text: "😀".repeat(36), mediaUrls: [] }, metadata: null });
  assert.deepEqual(
    [none.data.messageType, none.data.segments, none.data.encoding, none.data.metadata],
    ["text", 2, "UCS-2", null],
  );
});

test("a mention is removed with the text that it covers", async () => {
  const mentions = [
    { address: TO, start: 0, length: 5 },
    { address: TO, start: 6, length: 3 },
  ];
  const id = await schedule({ content: { text: "Hello Ann" }, mentions });
  await update(id, { content: { text: "Hello Bob" } });
  const row = await api.ask("GET", `/v1/messages/${id}`);
  assert.equal(row.data.content.text, "Hello Bob");
});

test("an update that changes nothing emits no event", async () => {
  const id = await schedule();
  const before = (await api.ask("GET", `/v1/messages/${id}`)).data;
  for (const body of [{}, { content: {} }, { content: { text: "Hello" } }]) {
    const { status, data } = await update(id, body);
    assert.deepEqual([status, data], [200, before]);
  }
  assert.equal((await eventsOf(id)).length, 1);
});

test("a repeat of the first request returns the message's current state", async () => {
  const headers = { "idempotency-key": "scheduled once" };
  const body = { to: TO, content: { text: "Hello" }, scheduledAt: inMs(DAY_MS) };
  const first = await api.ask("POST", "/v1/messages", { body, headers });
  const scheduledAt = inMs(3 * DAY_MS);
  await update(first.data.id, { scheduledAt });
  const again = await api.ask("POST", "/v1/messages", { body, headers });
  assert.deepEqual([again.status, again.data.id, again.data.scheduledAt], [200, first.data.id, scheduledAt]);
});

const REFUSED: [title: string, body: object, code: string, path?: string][] = [
  ["a time that has passed", { scheduledAt: "2020-01-01T00:00:00Z" }, "SCHEDULED_IN_PAST", "scheduledAt"],
  ["a time too far", { scheduledAt: inMs(40 * DAY_MS) }, "SCHEDULED_TOO_FAR", "scheduledAt"],
  ["what is no time", { scheduledAt: "tomorrow" }, "INVALID_SCHEDULED_AT", "scheduledAt"],
  ["nothing left to send", { content: { text: "" } }, "VALIDATION_ERROR", "content.text"],
  ["media by http", { content: { mediaUrl: "http://example.com/" } }, "VALIDATION_ERROR", "content.mediaUrl"],
  ["another recipient", { to: "+15005550101" }, "VALIDATION_ERROR", "to"],
];

for (const [title, body, code, path] of REFUSED) {
  test(`${title} is ${code}, and changes nothing`, async () => {
    const id = await schedule();
    const { status, error } = await update(id, body);
    assert.deepEqual([status, error?.code, error?.details?.[0]?.path], [400, code, path]);
    assert.equal((await eventsOf(id)).length, 1);
  });
}

test("a message that is not scheduled is INVALID_STATUS; a deleted or another customer's message is 404", async () => {
  const { data } = await api.ask("POST", "/v1/messages", { body: { to: TO, content: { text: "Now" } } });
  assert.equal((await update(data.id, { content: { text: "Later" } })).error?.code, "INVALID_STATUS");
  const cancelled = await schedule();
  await api.ask("DELETE", `/v1/messages/${cancelled}/schedule`);
  assert.equal((await update(cancelled, { scheduledAt: inMs(DAY_MS) })).error?.code, "INVALID_STATUS");
  await api.ask("DELETE", `/v1/messages/${cancelled}`);
  assert.equal((await update(cancelled, {})).error?.code, "NOT_FOUND");
});
