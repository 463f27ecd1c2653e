/** The delivery log, and manual retries. */

import assert from "node:assert/strict";
import { test } from "node:test";
import type { Delivery, DeliveryList } from "../../sdk/wire.ts";
import type { MessageId } from "../../server/core/id.ts";
import { commitAll } from "../support/context.ts";
import { create, emitEvent, log, serveWebhooks, URL_A } from "../support/webhooks.ts";

const eventIds = ({ deliveries }: DeliveryList) => deliveries.map(({ eventId }) => eventId);

test("the log filters by status, endpoint, event and message, newest first", async (t) => {
  const api = await serveWebhooks(t);
  const a = await create(api, { url: URL_A, events: ["*"] });
  const b = await create(api, { url: "https://b.example.com/", events: ["message.read"] });
  const m1 = { messageId: "msg_1" as MessageId };
  const first = await emitEvent(api, { ...m1, sequence: 1, callbackUrl: "https://c.example.com/cb" });
  const second = await emitEvent(api, { ...m1, sequence: 2, type: "message.read" });
  const third = await emitEvent(api, { messageId: "msg_2" });
  assert.deepEqual(eventIds(await log(api)).slice(0, 1), [third]);
  assert.equal((await log(api)).deliveries.length, 5);
  assert.deepEqual(eventIds(await log(api, `?webhookId=${a.id}`)), [third, second, first]);
  assert.deepEqual(eventIds(await log(api, `?webhookId=${b.id}`)), [second]);
  assert.deepEqual(new Set(eventIds(await log(api, "?messageId=msg_1"))), new Set([first, second]));
  assert.equal((await log(api, "?messageId=msg_1")).deliveries.length, 4);
  const ofFirst = (await log(api, `?eventId=${first}`)).deliveries;
  assert.deepEqual(ofFirst.map(({ webhookId, url }) => [webhookId, url]).sort(), [
    [null, "https://c.example.com/cb"],
    [a.id, URL_A],
  ]);
  assert.equal((await log(api, "?status=pending")).deliveries.length, 5);
  assert.equal((await log(api, "?status=exhausted")).deliveries.length, 0);
  assert.deepEqual((await log(api, "?eventId=evt_none&messageId=msg_1")).deliveries, []);
});

test("pages of the log neither miss nor repeat a delivery while others are added", async (t) => {
  const api = await serveWebhooks(t);
  await create(api, { url: URL_A, events: ["*"] });
  const emitted: string[] = [];
  for (let index = 0; index < 5; index += 1) emitted.unshift(await emitEvent(api));
  const seen: string[] = [];
  let query = "?limit=2";
  for (;;) {
    const page = await log(api, query);
    seen.push(...eventIds(page));
    await emitEvent(api);
    const { hasMore, nextCursor } = page.pagination;
    assert.equal(hasMore, nextCursor !== null);
    if (nextCursor === null) break;
    query = `?limit=2&cursor=${nextCursor}`;
  }
  assert.deepEqual(seen, emitted);
});

test("an invalid filter, cursor or limit of the log is a 400 that names it", async (t) => {
  const api = await serveWebhooks(t);
  const foreign = Buffer.from(JSON.stringify("key_1")).toString("base64url");
  const rows: [query: string, path: string][] = [
    ["status=done", "status"],
    ["cursor=x", "cursor"],
    [`cursor=${foreign}`, "cursor"],
    ["limit=0", "limit"],
    ["limit=101", "limit"],
    ["endpoint=wh_1", "endpoint"],
  ];
  for (const [query, path] of rows) {
    const paths = await api.refused("VALIDATION_ERROR", "GET", `/v1/webhooks/deliveries?${query}`);
    assert.deepEqual(paths, [path]);
  }
});

test("a manual retry is due at once; repeating it while it waits adds none, and after it ended adds one", async (t) => {
  const api = await serveWebhooks(t);
  const { id: lane } = await create(api, { url: URL_A, events: ["*"] });
  await emitEvent(api);
  const [delivery] = (await log(api)).deliveries;
  assert.ok(delivery !== undefined);
  await api.clock.advance(10_000);
  const path = `/v1/webhooks/deliveries/${delivery.id}/retry`;
  const asked = await api.data<Delivery>(202, "POST", path, { idempotencyKey: "r" });
  assert.deepEqual(asked, delivery, "it was due already, and keeps its place");
  assert.deepEqual(api.woken.deliveries, [lane]);
  assert.deepEqual(await api.data(202, "POST", path), asked);
  assert.deepEqual(await api.data(200, "POST", path, { idempotencyKey: "r" }), asked);
  await api.refused("NOT_FOUND", "POST", "/v1/webhooks/deliveries/dlv_none/retry");
});

test("a delivery to a paused or deleted endpoint cannot be retried; a delivery to a callback can", async (t) => {
  const api = await serveWebhooks(t);
  const { id } = await create(api, { url: URL_A, events: ["*"] });
  await emitEvent(api, { callbackUrl: "https://c.example.com/cb" });
  const { deliveries } = await log(api);
  const own = deliveries.find(({ webhookId }) => webhookId === id);
  const callback = deliveries.find(({ webhookId }) => webhookId === null);
  const retry = (delivery: Delivery | undefined) => `/v1/webhooks/deliveries/${delivery?.id}/retry`;
  await api.data(200, "PATCH", `/v1/webhooks/${id}`, { body: { active: false } });
  await api.refused("INVALID_STATUS", "POST", retry(own));
  await api.data(200, "DELETE", `/v1/webhooks/${id}`);
  await api.refused("INVALID_STATUS", "POST", retry(own));
  await api.data(202, "POST", retry(callback));
});

test("another customer's deliveries are 404", async (t) => {
  const api = await serveWebhooks(t);
  const { key } = await api.addTenant("Other");
  await create(api, { url: URL_A, events: ["*"] });
  const eventId = await emitEvent(api, { messageId: "msg_1" });
  const [delivery] = (await log(api)).deliveries;
  assert.deepEqual((await log(api, "", { key })).deliveries, []);
  assert.deepEqual((await log(api, "?messageId=msg_1", { key })).deliveries, []);
  assert.deepEqual((await log(api, `?eventId=${eventId}`, { key })).deliveries, []);
  await api.refused("NOT_FOUND", "GET", `/v1/webhooks/deliveries/${delivery?.id}`, { key });
  await api.refused("NOT_FOUND", "POST", `/v1/webhooks/deliveries/${delivery?.id}/retry`, { key });
});

test("responses of addresses that only the operator allowed are hidden once there are two customers", async (t) => {
  const api = await serveWebhooks(t);
  await create(api, { url: "http://127.0.0.1:9/", events: ["*"] });
  await create(api, { url: URL_A, events: ["*"] });
  await emitEvent(api);
  const { deliveries } = await log(api);
  const attempt = { at: api.clock.now(), status: 500, durationMs: 3, response: "inside", error: null };
  const attempts = [attempt, { ...attempt, status: null, error: "TIMEOUT", response: null }];
  await commitAll(
    api.deps,
    deliveries.map(({ id }) => ({ op: "update", table: "deliveries", id, version: 1, set: { attempts } })),
  );
  const responses = async () =>
    Object.fromEntries(
      (await log(api)).deliveries.map(({ url, attempts }) => [url, attempts.map((one) => one.response)]),
    );
  assert.deepEqual(await responses(), { "http://127.0.0.1:9/": ["inside", null], [URL_A]: ["inside", null] });
  await api.addTenant("Other");
  assert.deepEqual(await responses(), { "http://127.0.0.1:9/": [null, null], [URL_A]: ["inside", null] });
  const [first] = (await log(api)).deliveries;
  assert.deepEqual(first?.attempts[1], {
    at: new Date(attempt.at).toISOString(),
    status: null,
    durationMs: 3,
    response: null,
    error: "TIMEOUT",
    retryAfterSeconds: null,
    requestHeaders: null,
  });
});
