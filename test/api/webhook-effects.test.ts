/** Events that endpoints get, and no longer get: by filters, by tests, after a pause. */

import assert from "node:assert/strict";
import { test } from "node:test";
import type { Delivery, TestedDelivery } from "../../sdk/wire.ts";
import { deliveryTo } from "../../server/core/delivery.ts";
import { findDelivery } from "../../server/store/deliveries.ts";
import { findEvent } from "../../server/store/events.ts";
import { StoreFull } from "../../server/store/store.ts";
import { findWebhook } from "../../server/store/webhooks.ts";
import { commitAll } from "../support/context.ts";
import { readDue } from "../support/due.ts";
import { startTestService } from "../support/service.ts";
import { until } from "../support/wait.ts";
import { addInbox, create, emitEvent, eventOf, log, put, serveWebhooks, URL_A, URL_B } from "../support/webhooks.ts";

test("the inbox is in no list of endpoints and has no id in the API", async (t) => {
  const api = await serveWebhooks(t);
  const inbox = await addInbox(api);
  assert.deepEqual(await api.data(200, "GET", "/v1/webhooks/list"), []);
  assert.equal(await api.data(200, "GET", "/v1/webhooks"), null);
  for (const method of ["GET", "PATCH", "DELETE"]) {
    await api.refused("WEBHOOK_NOT_FOUND", method, `/v1/webhooks/${inbox.id}`);
  }
  await emitEvent(api);
  assert.deepEqual(await api.data(200, "GET", "/v1/webhooks/deliveries"), {
    deliveries: [],
    pagination: { hasMore: false, nextCursor: null },
  });
});

test("POST test sends webhook.test to that endpoint whatever its filter, and to no other endpoint of the customer", async (t) => {
  const api = await serveWebhooks(t);
  await put(api, { url: URL_A, events: ["*"] });
  const extra = await create(api, { url: URL_B, events: ["message.read"] });
  const headers = { "x-correlation-id": `cor_${"a".repeat(32)}` };
  const tested = await api.data<TestedDelivery>(200, "POST", `/v1/webhooks/${extra.id}/test`, { headers });
  const { delivered, responseStatus, ...delivery } = tested;
  assert.deepEqual([delivered, responseStatus], [false, null], "no attempt was made yet");
  assert.deepEqual(
    [delivery.webhookId, delivery.eventType, delivery.url, delivery.status, delivery.messageId, delivery.attempts],
    [extra.id, "webhook.test", URL_B, "pending", null, []],
  );
  const event = await findEvent(api.deps.store.db, api.customer.id, delivery.eventId);
  const { data, ...envelope } = JSON.parse(event?.bytes ?? "{}");
  assert.deepEqual(envelope, { id: delivery.eventId, type: "webhook.test", timestamp: delivery.createdAt });
  assert.deepEqual(data, { message: data.message, webhookId: extra.id, customerId: api.customer.id });
  assert.equal(event?.correlationId, headers["x-correlation-id"]);
  assert.deepEqual(api.woken.deliveries, [extra.id]);
  assert.deepEqual(await api.data(200, "GET", `/v1/webhooks/deliveries/${delivery.id}`), delivery);
  const list = await api.data<{ deliveries: Delivery[] }>(200, "GET", "/v1/webhooks/deliveries");
  assert.deepEqual(list.deliveries, [delivery]);
});

test("a test event goes to the inbox too, which receives every event", async (t) => {
  const api = await serveWebhooks(t);
  const inbox = await addInbox(api);
  const { id } = await put(api, { url: URL_A, events: ["message.sent"] });
  await api.data(200, "POST", "/v1/webhooks/test", { idempotencyKey: "t" });
  await api.data(200, "POST", "/v1/webhooks/test", { idempotencyKey: "t" });
  const rows = await api.deps.store.db.selectFrom("deliveries").select("endpoint_id").orderBy("endpoint_id").execute();
  assert.deepEqual(rows.map((row) => row.endpoint_id).sort(), [id, inbox.id].sort());
});

test("pausing or deleting an endpoint cancels its waiting deliveries, and a paused endpoint refuses a test", async (t) => {
  const api = await serveWebhooks(t);
  const paused = await create(api, { url: URL_A, events: ["message.sent"] });
  const deleted = await create(api, { url: URL_B, events: ["message.sent"] });
  for (let index = 0; index < 3; index += 1) await emitEvent(api);
  await api.data(200, "PATCH", `/v1/webhooks/${paused.id}`, { body: { active: false } });
  await api.data(200, "DELETE", `/v1/webhooks/${deleted.id}`);
  for (const { id } of [paused, deleted]) {
    const path = `/v1/webhooks/deliveries?webhookId=${id}`;
    const { deliveries } = await api.data<{ deliveries: Delivery[] }>(200, "GET", path);
    assert.deepEqual(
      deliveries.map(({ status, nextAttemptAt }) => [status, nextAttemptAt]),
      Array(3).fill(["cancelled", null]),
    );
  }
  await api.refused("INVALID_STATUS", "POST", `/v1/webhooks/${paused.id}/test`);
  await emitEvent(api);
  assert.equal(
    (await api.data<{ deliveries: Delivery[] }>(200, "GET", "/v1/webhooks/deliveries")).deliveries.length,
    6,
  );
});

test("a delivery made after an endpoint was resumed is not cancelled by the pause before it", async (t) => {
  const api = await serveWebhooks(t);
  const { id } = await create(api, { url: URL_A, events: ["message.sent"] });
  await emitEvent(api);
  const endpoint = await findWebhook(api.deps.store.db, api.customer.id, id);
  assert.ok(endpoint !== null);
  assert.equal(await api.deps.store.cancelDeliveries(endpoint.id, 500), 0);
  await api.data(200, "PATCH", `/v1/webhooks/${id}`, { body: { active: false } });
  assert.equal(await api.deps.store.cancelDeliveries(endpoint.id, 500), 0);
});

test("a delivered delivery stays so if its endpoint is paused before a manual retry", async (t) => {
  const api = await serveWebhooks(t);
  const { id } = await create(api, { url: URL_A, events: ["message.sent"] });
  await emitEvent(api);
  const { deps } = api;
  const [due] = await readDue(deps.store, [id], deps.clock.now(), 1);
  assert.ok(due !== undefined);
  const { delivery } = due;
  await commitAll(deps, [
    {
      op: "update",
      table: "deliveries",
      id: delivery.id,
      version: delivery.version,
      set: { status: "succeeded", dueAt: null, attemptCount: 1 },
    },
  ]);
  await api.data(202, "POST", `/v1/webhooks/deliveries/${delivery.id}/retry`);
  await api.data(200, "PATCH", `/v1/webhooks/${id}`, { body: { active: false } });
  const after = await findDelivery(deps.store.db, delivery);
  assert.deepEqual([after?.status, after?.dueAt, after?.byHand], ["succeeded", null, false]);
  await api.data(200, "PATCH", `/v1/webhooks/${id}`, { body: { active: true } });
  const again = await api.data<Delivery>(202, "POST", `/v1/webhooks/deliveries/${delivery.id}/retry`);
  assert.ok(again.nextAttemptAt !== null);
});

test("an event goes to the primary endpoint and to further endpoints, each by its own filter", async (t) => {
  const api = await serveWebhooks(t);
  await put(api, { url: URL_A, events: ["message.read"] });
  const extra = await create(api, { url: URL_B, events: ["message.sent"] });
  await emitEvent(api);
  const { deliveries } = await api.data<{ deliveries: Delivery[] }>(200, "GET", "/v1/webhooks/deliveries");
  assert.deepEqual(
    deliveries.map(({ webhookId, url }) => [webhookId, url]),
    [[extra.id, URL_B]],
  );
  const endpoint = await findWebhook(api.deps.store.db, api.customer.id, extra.id);
  const event = await findEvent(api.deps.store.db, api.customer.id, deliveries[0]?.eventId ?? "");
  assert.ok(endpoint !== null && event !== null);
  assert.equal(deliveryTo(event, endpoint, event.createdAt).id, deliveries[0]?.id);
});

test("pausing an endpoint with very many deliveries returns before all of them are cancelled", async (t) => {
  const api = await serveWebhooks(t);
  const { id } = await create(api, { url: URL_A, events: ["message.sent"] });
  const events = Array.from({ length: 5_600 }, () => eventOf(api));
  await commitAll(
    api.deps,
    events.map((event) => ({ op: "event", event, callbackUrl: null })),
  );
  await api.data(200, "PATCH", `/v1/webhooks/${id}`, { body: { active: false } });
  await until(async () => (await log(api, "?status=pending")).deliveries.length === 0);
  assert.deepEqual(api.observed.faults, []);
});

test("a pause takes effect even if the disk is too full to cancel waiting deliveries", async (t) => {
  const api = await serveWebhooks(t);
  const { id } = await create(api, { url: URL_A, events: ["message.sent"] });
  const full = new StoreFull("no room");
  api.deps.store.cancelDeliveries = () => Promise.reject(full);
  const paused = await api.data<{ active: boolean }>(200, "PATCH", `/v1/webhooks/${id}`, { body: { active: false } });
  assert.equal(paused.active, false);
  assert.deepEqual(api.observed.faults, [{ where: "cancel-deliveries", error: full }]);
});

test("a repeated rotation returns the current primary endpoint, or null for its fields once it was deleted", async (t) => {
  const api = await startTestService();
  t.after(() => api.stop());
  const put = () => api.ask("PUT", "/v1/webhooks", { body: { url: "http://127.0.0.1:9/hooks", events: ["*"] } });
  const rotate = () => api.ask("POST", "/v1/webhooks/rotate-secret", { headers: { "idempotency-key": "rotation" } });
  const first = (await put()).data;
  const rotated = await rotate();
  assert.deepEqual([rotated.status, rotated.data.id, "secret" in rotated.data], [200, first.id, true]);
  const repeated = await rotate();
  assert.deepEqual([repeated.status, repeated.data.id, "secret" in repeated.data], [200, first.id, false]);
  await api.ask("DELETE", "/v1/webhooks");
  const without = await rotate();
  assert.deepEqual([without.status, without.data.id, "secret" in without.data], [200, null, false]);
  const second = (await put()).data;
  assert.notEqual(second.id, first.id);
  assert.equal((await rotate()).data.id, second.id);
});
