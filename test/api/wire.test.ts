/** `GET /v1/wire`: one stream of requests, events, deliveries and timelines. */

import assert from "node:assert/strict";
import { type TestContext, test } from "node:test";
import type { KyselyPlugin } from "kysely";
import type { Store } from "../../server/store/store.ts";
import { startReceiver } from "../support/receiver.ts";
import { startTestService, type TestService } from "../support/service.ts";
import { until } from "../support/wait.ts";
import { readWire } from "../support/wire.ts";

const TO = "+15005550101";
const RETRIED = { TB_WEBHOOK_RETRY_SCHEDULE: "50ms,50ms", TB_WEBHOOK_ALLOW: "loopback" };

async function serve(t: TestContext, env: Record<string, string> = RETRIED): Promise<TestService> {
  const service = await startTestService(env);
  t.after(() => service.stop());
  return service;
}

const send = (service: TestService, headers: Record<string, string> = {}) =>
  service.ask("POST", "/v1/messages", { body: { to: TO, content: { text: "Hello" } }, headers });

test("a message that is sent appears as its request, its events, its timeline, and the deliveries with their attempts", async (t) => {
  const service = await serve(t);
  const receiver = await startReceiver();
  t.after(() => receiver.stop());
  await service.ask("PUT", "/v1/webhooks", { body: { url: receiver.url, events: ["*"] } });
  const wire = await readWire(t, service);
  const sent = await send(service);
  const request = await wire.until("request", ({ id }) => id === sent.requestId);
  assert.deepEqual([request.status, request.path, "request" in request], [202, "/v1/messages", false]);
  const event = await wire.until("event", ({ type }) => type === "message.delivered");
  assert.equal(event.data.messageId, sent.data.id);
  const delivery = await wire.until("delivery", (one) => one.eventId === event.id && one.status === "succeeded");
  assert.deepEqual([delivery.attempts.length, delivery.attempts[0].status], [1, 200]);
  // The contact reads the message soon after: a slow look finds it read already.
  const message = await wire.until("message", ({ status }) => status === "delivered" || status === "read");
  assert.equal(message.id, sent.data.id);
  assert.ok(message.timeline.length >= 3 && typeof message.timeline[0].reason === "string");
});

test("a failed delivery is sent again whenever it changes, until its end", async (t) => {
  const service = await serve(t);
  await service.ask("PUT", "/v1/webhooks", { body: { url: "http://127.0.0.1:9/nobody", events: ["message.queued"] } });
  const wire = await readWire(t, service);
  await send(service);
  const ended = await wire.until("delivery", ({ status }) => status === "exhausted");
  assert.equal(ended.attempts.length, 3);
  const seen = wire.all("delivery").filter(({ id }) => id === ended.id);
  assert.deepEqual(
    seen.map(({ attempts }) => attempts.length),
    [...new Set(seen.map(({ attempts }) => attempts.length))],
    "each state once",
  );
});

test("a change that a look of the Wire could not read is sent by the next look", async (t) => {
  let fails = 0;
  const failing: KyselyPlugin = {
    transformQuery({ node }) {
      const text = JSON.stringify(node);
      if (fails === 0 || node.kind !== "SelectQueryNode" || !/"deliveries".*"version"/.test(text)) return node;
      fails -= 1;
      throw new Error("the database is busy");
    },
    transformResult: async ({ result }) => result,
  };
  const onStore = (store: Store) =>
    Object.defineProperty(store, "db", { value: store.db.withPlugin(failing), configurable: true });
  const service = await startTestService(RETRIED, { onStore });
  t.after(() => service.stop());
  const receiver = await startReceiver();
  t.after(() => receiver.stop());
  await service.ask("PUT", "/v1/webhooks", { body: { url: receiver.url, events: ["message.queued"] } });
  await send(service);
  const find = async () => (await service.ask("GET", "/v1/webhooks/deliveries")).data.deliveries[0];
  const { id } = await until(async () => ((await find())?.status === "succeeded" ? find() : null));
  const wire = await readWire(t, service);
  fails = 1;
  await service.ask("POST", `/v1/webhooks/deliveries/${id}/retry`);
  await wire.until("delivery", (one) => one.id === id && one.attempts.length === 2);
  assert.equal(fails, 0);
});

test("a delivery of an old event appears when it is retried: by its schedule behind a hundred newer ones, or by hand", async (t) => {
  const service = await serve(t, { ...RETRIED, TB_WEBHOOK_RETRY_SCHEDULE: "1h" });
  await service.ask("PUT", "/v1/webhooks", { body: { url: "http://127.0.0.1:9/nobody", events: ["message.queued"] } });
  const { data: message } = await send(service);
  const find = async () => {
    const { data } = await service.ask("GET", `/v1/webhooks/deliveries?messageId=${message.id}`);
    return data.deliveries[0];
  };
  const old = await until(async () => {
    const found = await find();
    return found?.attempts.length === 1 ? found : null;
  });
  await service.ask("PATCH", `/v1/webhooks/${old.webhookId}`, { body: { events: ["webhook.test"] } });
  // Each makes several deliveries to the inbox.
  for (let index = 0; index < 40; index += 1) await send(service);
  const wire = await readWire(t, service);
  await service.ask("POST", "/v1/sandbox/clock", { body: { advance: "2h" } });
  const ended = await wire.until("delivery", ({ id, status }) => id === old.id && status === "exhausted");
  assert.equal(ended.attempts.length, 2);
  wire.close();
  const later = await readWire(t, service);
  await service.ask("POST", `/v1/webhooks/deliveries/${old.id}/retry`);
  await later.until("delivery", ({ id, attempts }) => id === old.id && attempts.length === 3);
});

test("deliveries of a replay appear, though no event is new", async (t) => {
  const service = await serve(t);
  const receiver = await startReceiver();
  t.after(() => receiver.stop());
  const { data: message } = await send(service);
  const { data: endpoint } = await service.ask("PUT", "/v1/webhooks", { body: { url: receiver.url, events: ["*"] } });
  const wire = await readWire(t, service);
  const body = { since: "2020-01-01T00:00:00.000Z", types: ["message.queued"] };
  const replayed = await service.ask("POST", `/v1/webhooks/${endpoint.id}/replay`, { body });
  assert.equal(replayed.data.deliveries, 1);
  const isReplayed = (one: { webhookId: string; eventType: string }) =>
    one.webhookId === endpoint.id && one.eventType === "message.queued";
  const delivery = await wire.until("delivery", (one) => isReplayed(one) && one.status === "succeeded");
  assert.equal(delivery.messageId, message.id);
});

test("events continue after Last-Event-ID, and only a message's own appear with messageId", async (t) => {
  const service = await serve(t);
  const first = await send(service);
  const before = await readWire(t, service);
  const second = await send(service);
  const queued = await before.until(
    "event",
    ({ type, data }) => type === "message.queued" && data.messageId === second.data.id,
  );
  before.close();
  const again = await readWire(t, service, `?messageId=${second.data.id}`, queued.id);
  const event = await again.until("event", () => true);
  assert.notEqual(event.id, queued.id);
  await service.ask("GET", `/v1/messages/${first.data.id}`);
  const about = await service.ask("GET", `/v1/messages/${second.data.id}`);
  await again.until("request", ({ id }) => id === about.requestId);
  const shown = new Set([second.requestId, about.requestId]);
  assert.ok(again.all("request").every(({ id }) => shown.has(id)));
  assert.ok(again.all("event").every(({ data }) => data.messageId === second.data.id));
});

test("a customer's key sees its own requests, and nothing of another customer", async (t) => {
  const service = await serve(t);
  const { adminKey } = service;
  const customer = await service.ask("POST", "/v1/admin/customers", { key: adminKey, body: { name: "Another" } });
  const body = { name: "another", customerId: customer.data.id };
  const { data: other } = await service.ask("POST", "/v1/admin/keys", { key: adminKey, body });
  const wire = await readWire(t, service, "", undefined, other.key);
  await send(service);
  await service.ask("GET", "/v1/messages");
  const own = await service.ask("GET", "/v1/chats", { key: other.key });
  await wire.until("request", ({ id }) => id === own.requestId);
  assert.deepEqual([wire.all("request").length, wire.all("event").length, wire.all("message").length], [1, 0, 0]);
  assert.equal((await service.ask("GET", "/v1/wire", { key: adminKey })).status, 403);
});
