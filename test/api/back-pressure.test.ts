/** Requests to send wait while sending lags; nothing else does, and receivers that send inside their handler never time out. */

import assert from "node:assert/strict";
import { test } from "node:test";
import { startReceiver } from "../support/receiver.ts";
import { routesOf } from "../support/routes.ts";
import { served } from "../support/served.ts";
import { startTestService } from "../support/service.ts";
import { until } from "../support/wait.ts";

const TO = "+15005550100";
const MESSAGE = { to: TO, content: { text: "Hello" } };
/** Requests that wait while sending lags. */
const WAITING: Record<string, object> = {
  "/v1/messages": MESSAGE,
  "/v1/messages/carousel": { to: TO, mediaUrls: ["https://example.com/a.png", "https://example.com/b.png"] },
  "/v1/payments/request": { to: TO, amount: "25.00" },
};

test("sending, carousels and payment requests wait while sending lags; reads, dry runs and other writes do not", async (t) => {
  const api = await served(t, routesOf);
  api.lagMs.dispatch = 5_000;
  const accepted = Object.entries(WAITING).map(([path, body]) => api.data(202, "POST", path, { body }));
  await until(() => api.deps.backPressure.waiting === 3);
  await api.data(200, "GET", "/v1/messages");
  await api.data(200, "POST", "/v1/messages?dryRun=true", { body: MESSAGE });
  await api.data(201, "POST", "/v1/contacts", { body: { phoneNumber: "+15005550101" } });
  assert.equal(api.deps.backPressure.waiting, 3);
  await api.clock.advance(1_000);
  await Promise.all(accepted);
});

test("a client that disconnects leaves the queue, and a stop finishes the requests that wait", async (t) => {
  const api = await served(t, routesOf);
  api.lagMs.deliver = 5_000;
  const leaves = new AbortController();
  const left = assert.rejects(api.data(202, "POST", "/v1/messages", { body: MESSAGE, signal: leaves.signal }));
  const accepted = api.data(202, "POST", "/v1/messages", { body: MESSAGE });
  await until(() => api.deps.backPressure.waiting === 2);
  leaves.abort();
  await left;
  await until(() => api.deps.backPressure.waiting === 1);
  api.deps.backPressure.stop();
  await accepted;
  assert.equal(api.observed.accepted, 1, "that of the client that left was not");
});

test("a receiver that sends a message inside its handler gets its 202 in time, while another customer sends without a pause", async (t) => {
  const api = await startTestService({}, { inThreads: true });
  t.after(() => api.stop());
  const receiver = await startReceiver();
  t.after(() => receiver.stop());
  const flooder = await otherKey();
  await api.ask("PUT", "/v1/webhooks", { body: { url: receiver.url, events: ["message.delivered"] } });
  await api.ask("PUT", "/v1/webhooks", { key: flooder, body: { url: `${receiver.url}/other`, events: ["*"] } });
  const tookMs: number[] = [];
  receiver.answer = async ({ path }, response) => {
    if (!path.endsWith("/other") && tookMs.length < 20) {
      const startedAt = performance.now();
      const { status } = await api.ask("POST", "/v1/messages", { body: MESSAGE });
      tookMs.push(performance.now() - startedAt);
      assert.equal(status, 202);
    }
    response.end();
  };
  let isOver = false;
  const flood = async () => {
    for (let count = 0; !isOver && count < 300; count += 1) {
      const { status } = await api.ask("POST", "/v1/messages", { key: flooder, body: MESSAGE });
      assert.equal(status, 202);
    }
  };
  const floods = Array.from({ length: 16 }, flood);
  for (let count = 0; count < 4; count += 1) await api.ask("POST", "/v1/messages", { body: MESSAGE });
  await until(() => tookMs.length >= 20, { what: "20 messages from inside the handler", limitMs: 60_000 });
  isOver = true;
  await Promise.all(floods);
  assert.ok(Math.max(...tookMs) < 10_000, `a handler waited ${Math.max(...tookMs)} ms`);
  const attempts = receiver.received.filter(({ path }) => !path.endsWith("/other"));
  assert.equal(
    new Set(attempts.map(({ event }) => event.id)).size,
    attempts.length,
    "no attempt timed out and was repeated",
  );

  async function otherKey(): Promise<string> {
    const admin = (path: string, body: object) => api.ask("POST", path, { key: api.adminKey, body });
    const { data: customer } = await admin("/v1/admin/customers", { name: "Other" });
    await admin(`/v1/admin/customers/${customer.id}/numbers`, { phoneNumber: "+15005550199", provider: "sandbox" });
    return (await admin("/v1/admin/keys", { name: "Other", customerId: customer.id })).data.key;
  }
});
