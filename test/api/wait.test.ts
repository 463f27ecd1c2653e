/** `GET /v1/sandbox/wait`: waiting for an event without polling. */

import assert from "node:assert/strict";
import { get } from "node:http";
import { after, before, test } from "node:test";
import { startTestService, type TestService } from "../support/service.ts";
import { until } from "../support/wait.ts";

let api: TestService;

before(async () => {
  api = await startTestService();
});
after(() => api.stop());

const wait = (query: string, key = api.key) => api.ask("GET", `/v1/sandbox/wait?${query}`, { key });

async function send(to = "+15005550100"): Promise<string> {
  const { status, data } = await api.ask("POST", "/v1/messages", { body: { to, content: { text: "Hi" } } });
  assert.equal(status, 202);
  return data.id;
}

test("it returns the first matching event at once, with the bytes of the list", async () => {
  const id = await send("+15005550109");
  // Slow: 5 s a step, so that the second event is not there yet.
  const startedAt = performance.now();
  const { status, data } = await wait(`type=message.sent&messageId=${id}`);
  assert.ok(performance.now() - startedAt < 9_000);
  assert.equal(status, 200);
  assert.deepEqual([data.type, data.data.messageId], ["message.sent", id]);
  const { data: same } = await api.ask("GET", `/v1/events/${data.id}`);
  assert.deepEqual(data, same);
});

test("past events count too: the first match after `after`", async () => {
  const id = await send();
  const delivered = await wait(`type=message.delivered&messageId=${id}`);
  const first = await wait(`messageId=${id}&timeoutSeconds=0`);
  assert.equal(first.data.type, "message.queued");
  const next = await wait(`messageId=${id}&after=${first.data.id}&timeoutSeconds=0`);
  assert.equal(next.data.type, "message.sent");
  const none = await wait(`messageId=${id}&after=${delivered.data.id}&timeoutSeconds=0`);
  assert.deepEqual([none.status, none.data], [200, null]);
});

test("without a match it returns null after the timeout", async () => {
  const startedAt = performance.now();
  const { status, data, requestId } = await wait("type=message.read&messageId=msg_none&timeoutSeconds=0.3");
  const tookMs = performance.now() - startedAt;
  assert.deepEqual([status, data], [200, null]);
  assert.match(requestId, /^req_/);
  assert.ok(tookMs >= 290 && tookMs < 5_000, `${tookMs} ms`);
});

test("all waiting requests get their event, and other events end no wait", async () => {
  const waiting = Array.from({ length: 100 }, (_, index) =>
    wait(`type=message.schedule_cancelled&timeoutSeconds=${10 + (index % 3)}`),
  );
  await send();
  const scheduledAt = new Date(Date.now() + 3_600_000).toISOString();
  const body = { to: "+15005550100", content: { text: "later" }, scheduledAt };
  const { data: later } = await api.ask("POST", "/v1/messages", { body });
  await api.ask("DELETE", `/v1/messages/${later.id}/schedule`);
  for (const { data } of await Promise.all(waiting)) assert.equal(data.data.messageId, later.id);
});

test("another customer's events are never returned", async () => {
  const id = await send();
  const asAdmin = { key: api.adminKey };
  const { data: customer } = await api.ask("POST", "/v1/admin/customers", { ...asAdmin, body: { name: "Other" } });
  const body = { name: "Other", customerId: customer.id };
  const { data: key } = await api.ask("POST", "/v1/admin/keys", { ...asAdmin, body });
  const { data } = await wait(`messageId=${id}&timeoutSeconds=0`, key.key);
  assert.equal(data, null);
});

test("a stop ends every wait at once with a response; a disconnected client's wait ends too", async () => {
  const waiting = wait("type=message.read&messageId=msg_none");
  const gone = get(`${api.url}/v1/sandbox/wait?messageId=msg_none`, {
    headers: { authorization: `Bearer ${api.key}` },
    agent: false,
  }).on("error", () => {});
  await until(() => gone.socket?.writableLength === 0, { what: "the request" });
  // Responds after both requests were accepted.
  await api.ask("GET", "/v1/numbers");
  gone.destroy();
  const startedAt = performance.now();
  await api.restart();
  assert.ok(performance.now() - startedAt < 20_000);
  const { status, data } = await waiting;
  assert.deepEqual([status, data], [200, null]);
});
