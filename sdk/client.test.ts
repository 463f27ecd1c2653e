import assert from "node:assert/strict";
import { test } from "node:test";
import { startApi } from "../test/support/api.ts";
import { until } from "../test/support/wait.ts";
import { Tightbeam } from "./client.ts";
import { TightbeamError } from "./errors.ts";
import type { ClientOptions } from "./request.ts";

const apiKey = "tb_0123456789abcdef0123456789abcdef";
const text = { to: "+15005550100", content: { text: "Hello" } };

/** A client that notes its waits in place of waiting. */
function clientOf(baseUrl: string, options: Partial<ClientOptions> = {}): { client: Tightbeam; waits: number[] } {
  const waits: number[] = [];
  const wait = async (delayMs: number) => void waits.push(delayMs);
  return { client: new Tightbeam({ apiKey, baseUrl, wait, ...options }), waits };
}

const busy = { status: 429, error: { code: "RATE_LIMITED", message: "Wait 7 seconds." } };

test("a request carries the key as a bearer token and JSON, and returns the envelope's data", async (t) => {
  const api = await startApi(t, { "POST /v1/messages": { status: 202, data: { id: "msg_1", status: "queued" } } });
  const { client } = clientOf(`${api.url}/`);
  const accepted = await client.messages.send({ ...text, metadata: { order: 7 } });
  assert.equal(accepted.id, "msg_1");
  const [request] = api.requests;
  assert.equal(request?.headers.authorization, `Bearer ${apiKey}`);
  assert.equal(request?.headers["content-type"], "application/json");
  assert.deepEqual(request?.body, { ...text, metadata: { order: 7 } });
});

test("a refusal is thrown with its code, status, request id and every bad field", async (t) => {
  const details = [
    { path: "to", message: "must be a phone number" },
    { path: "content.text", message: "must not be empty" },
  ];
  const error = { code: "VALIDATION_ERROR", message: "2 fields are wrong.", details };
  const api = await startApi(t, { "POST /v1/messages": { status: 400, error } });
  const { client, waits } = clientOf(api.url);
  await assert.rejects(client.messages.send(text), (thrown) => {
    assert(thrown instanceof TightbeamError);
    assert.equal(thrown.code, "VALIDATION_ERROR");
    assert.equal(thrown.status, 400);
    assert.equal(thrown.requestId, "req_1");
    assert.deepEqual(thrown.details, details);
    return true;
  });
  assert.deepEqual(waits, []);
});

for (const status of [429, 503]) {
  test(`a ${status} is retried after the time in Retry-After`, async (t) => {
    const refused = { ...busy, status, headers: { "Retry-After": "7" } };
    const api = await startApi(t, { "GET /v1/numbers": [refused, refused, { data: [] }] });
    const { client, waits } = clientOf(api.url);
    assert.deepEqual(await client.numbers(), []);
    assert.deepEqual(waits, [7000, 7000]);
  });
}

test("without Retry-After the client waits 10, 20 and 40 s after a 429, and retries at most three times", async (t) => {
  const api = await startApi(t, { "GET /v1/numbers": busy });
  const { client, waits } = clientOf(api.url);
  await assert.rejects(client.numbers(), { code: "RATE_LIMITED", status: 429, retryAfterSeconds: null });
  assert.deepEqual(waits, [10_000, 20_000, 40_000]);
  assert.equal(api.requests.length, 4);
});

test("a lost connection, a 502, a 503 and a 504 are retried within seconds, spread by chance", async (t) => {
  const proxied = { status: 502, raw: "<html>Bad Gateway</html>" };
  const busySoon = { ...busy, status: 503 };
  const api = await startApi(t, {
    "GET /v1/numbers": [{ drop: true }, proxied, busySoon, { ...proxied, status: 504 }, { drop: true }, { data: [] }],
  });
  for (const [chance, expected] of [
    [0, [500, 1_000, 2_000, 4_000, 4_000]],
    [0.5, [750, 1_500, 3_000, 6_000, 6_000]],
    [1 - Number.EPSILON, [1_000, 2_000, 4_000, 8_000, 8_000]],
  ] as const) {
    api.forget();
    const { client, waits } = clientOf(api.url, { random: () => chance, maxRetries: 5 });
    assert.deepEqual(await client.numbers(), []);
    assert.deepEqual(waits, expected);
  }
});

test("an edit that the phone refused is not retried: each retry would cause one more message.edit_failed", async (t) => {
  const refused = { status: 502, error: { code: "EDIT_FAILED", message: "msg_1 could not be edited." } };
  const api = await startApi(t, { "PUT /v1/messages/msg_1": refused });
  const { client, waits } = clientOf(api.url);
  await assert.rejects(client.messages.edit("msg_1", { text: "Bye" }), { code: "EDIT_FAILED", status: 502 });
  assert.deepEqual([waits, api.requests.length], [[], 1]);
});

test("a POST is retried with the same idempotency key, another POST has another", async (t) => {
  const accepted = { status: 202, data: { id: "msg_1" } };
  const api = await startApi(t, { "POST /v1/messages": [{ drop: true }, busy, accepted] });
  const { client, waits } = clientOf(api.url);
  await client.messages.send(text);
  await client.messages.send(text);
  const keys = api.requests.map((request) => String(request.headers["idempotency-key"]));
  assert.equal(keys.length, 4);
  assert.match(keys[0] ?? "", /^[0-9a-f]{32}$/);
  assert.equal(new Set(keys.slice(0, 3)).size, 1);
  assert.notEqual(keys[3], keys[0]);
  assert.deepEqual(waits.length, 2);
});

test("only the caller's own idempotency key is sent, in the header or in the body", async (t) => {
  const api = await startApi(t, { "POST /v1/messages": { status: 202, data: { id: "msg_1" } } });
  const { client } = clientOf(api.url);
  await client.messages.send({ ...text, idempotencyKey: "in-body" });
  await client.messages.send(text, { idempotencyKey: "in-header" });
  assert.deepEqual(
    api.requests.map((request) => request.headers["idempotency-key"]),
    [undefined, "in-header"],
  );
});

test("after a lost connection a repeatable request is retried, and a PATCH is not", async (t) => {
  const webhook = { id: "wh_1", url: "https://example.com" };
  const api = await startApi(t, {
    "DELETE /v1/messages/msg_1": [{ drop: true }, { data: { id: "msg_1", deleted: true } }],
    "PATCH /v1/webhooks/wh_1": [{ drop: true }, { data: webhook }],
  });
  const { client, waits } = clientOf(api.url);
  assert.deepEqual(await client.messages.delete("msg_1"), { id: "msg_1", deleted: true });
  assert.deepEqual(waits.length, 1);
  await assert.rejects(client.webhooks.endpoints.update("wh_1", { active: false }), {
    code: "CONNECTION_FAILED",
    status: 0,
    requestId: null,
  });
  assert.equal(api.requests.length, 3);
});

test("an attempt that exceeds its time fails with TIMEOUT", async () => {
  const never: typeof fetch = (_url, init) =>
    new Promise((_resolve, reject) => init?.signal?.addEventListener("abort", () => reject(init.signal?.reason)));
  const { client, waits } = clientOf("http://127.0.0.1:1", { fetch: never, timeoutMs: 5 });
  await assert.rejects(client.numbers(), { code: "TIMEOUT", status: 0 });
  assert.equal(waits.length, 3);
});

test("a response without the envelope is UNEXPECTED_RESPONSE with its status", async (t) => {
  const api = await startApi(t, {
    "GET /v1/numbers": [
      { status: 501, raw: "<html>Not Implemented</html>" },
      { raw: "null" },
      { raw: '{"success":true}' },
      { status: 302, headers: { Location: "http://127.0.0.1:1/" }, raw: "" },
    ],
  });
  const { client } = clientOf(api.url);
  for (const status of [501, 200, 200, 302]) {
    await assert.rejects(client.numbers(), { code: "UNEXPECTED_RESPONSE", status });
  }
});

test("a caller's signal ends the request, during a wait too", async (t) => {
  const api = await startApi(t, { "GET /v1/numbers": busy });
  const reason = new Error("changed my mind");
  const ended = new Tightbeam({ apiKey, baseUrl: api.url }).request("GET", "/v1/numbers", {
    signal: AbortSignal.abort(reason),
  });
  await assert.rejects(ended, reason);
  assert.equal(api.requests.length, 0);

  const stop = new AbortController();
  const client = new Tightbeam({ apiKey, baseUrl: api.url });
  const waiting = client.request("GET", "/v1/numbers", { signal: stop.signal });
  await until(() => api.requests.length > 0);
  stop.abort(reason);
  await assert.rejects(waiting, reason);
  assert.equal(api.requests.length, 1);
});

test("listAll iterates over every page, keeps the filters, and requests a page only when it is needed", async (t) => {
  const pages = [
    { data: { messages: [{ id: "msg_3" }, { id: "msg_2" }], pagination: { hasMore: true, nextCursor: "c1" } } },
    { data: { messages: [{ id: "msg_1" }], pagination: { hasMore: false, nextCursor: null } } },
  ];
  const api = await startApi(t, { "GET /v1/messages": pages });
  const { client } = clientOf(api.url);
  const ids: string[] = [];
  for await (const message of client.messages.listAll({ to: "+15005550100", status: undefined, limit: 2 })) {
    if (ids.length === 0) assert.equal(api.requests.length, 1);
    ids.push(message.id);
  }
  assert.deepEqual(ids, ["msg_3", "msg_2", "msg_1"]);
  assert.deepEqual(
    api.requests.map((request) => request.query),
    [
      { to: "+15005550100", limit: "2" },
      { to: "+15005550100", limit: "2", cursor: "c1" },
    ],
  );
});

test("an id from a stranger cannot lead to another route", async (t) => {
  const api = await startApi(t, {});
  const { client } = clientOf(api.url);
  await assert.rejects(client.messages.get("../admin/keys?x=#"), { code: "NOT_FOUND" });
  assert.equal(api.requests[0]?.path, "/v1/messages/..%2Fadmin%2Fkeys%3Fx%3D%23");
  for (const id of ["", ".", ".."]) assert.throws(() => client.messages.delete(id), TypeError);
  assert.equal(api.requests.length, 1);
});

test("every method of the client calls its route", async (t) => {
  const api = await startApi(t, {});
  const { client } = clientOf(api.url);
  const since = "2031-05-01T09:00:00.000Z";
  const calls: [string, Promise<unknown>][] = [
    ["GET /v1/messages", client.messages.list()],
    ["GET /v1/messages/scheduled", client.messages.scheduled()],
    ["GET /v1/messages/msg_1", client.messages.get("msg_1")],
    ["DELETE /v1/messages/msg_1/schedule", client.messages.cancel("msg_1")],
    ["DELETE /v1/contacts/con_1", client.contacts.erase("con_1")],
    ["PATCH /v1/messages/msg_1", client.messages.update("msg_1", { content: { text: "Later" } })],
    ["POST /v1/messages/msg_1/retry", client.messages.retry("msg_1")],
    ["DELETE /v1/messages/msg_1", client.messages.delete("msg_1")],
    ["GET /v1/webhooks", client.webhooks.get()],
    ["PUT /v1/webhooks", client.webhooks.set({ url: "https://example.com", events: ["*"] })],
    ["DELETE /v1/webhooks", client.webhooks.delete()],
    ["DELETE /v1/webhooks/wh_1", client.webhooks.delete("wh_1")],
    ["POST /v1/webhooks/test", client.webhooks.test()],
    ["POST /v1/webhooks/wh_1/test", client.webhooks.test("wh_1")],
    ["POST /v1/webhooks/rotate-secret", client.webhooks.rotateSecret()],
    ["POST /v1/webhooks/wh_1/rotate-secret", client.webhooks.rotateSecret("wh_1", { gracePeriodSeconds: 60 })],
    ["POST /v1/webhooks/wh_1/replay", client.webhooks.replay("wh_1", { since })],
    ["GET /v1/webhooks/list", client.webhooks.endpoints.list()],
    ["POST /v1/webhooks", client.webhooks.endpoints.create({ url: "https://example.com", events: ["*"] })],
    ["GET /v1/webhooks/wh_1", client.webhooks.endpoints.get("wh_1")],
    ["PATCH /v1/webhooks/wh_1", client.webhooks.endpoints.update("wh_1", { active: false })],
    ["GET /v1/webhooks/deliveries", client.webhooks.deliveries.list()],
    ["GET /v1/webhooks/deliveries/dlv_1", client.webhooks.deliveries.get("dlv_1")],
    ["POST /v1/webhooks/deliveries/dlv_1/retry", client.webhooks.deliveries.retry("dlv_1")],
    ["GET /v1/events", client.events.list()],
    ["GET /v1/events/evt_1", client.events.get("evt_1")],
    ["GET /v1/numbers", client.numbers()],
    ["GET /v1/admin/usage", client.usage({ granularity: "hour" })],
    ["GET /v1/admin/customers", client.admin.customers.list()],
    ["GET /v1/admin/customers/cust_1", client.admin.customers.get("cust_1")],
    ["POST /v1/admin/customers", client.admin.customers.create({ name: "A" })],
    [
      "POST /v1/admin/customers/cust_1/numbers",
      client.admin.numbers.add("cust_1", { phoneNumber: "+15005550000", provider: "sandbox" }),
    ],
    ["DELETE /v1/admin/customers/cust_1/numbers/num_1", client.admin.numbers.remove("cust_1", "num_1")],
    ["PUT /v1/admin/customers/cust_1/numbers/num_1/default", client.admin.numbers.makeDefault("cust_1", "num_1")],
    ["GET /v1/admin/keys", client.admin.keys.list()],
    ["POST /v1/admin/keys", client.admin.keys.create({ name: "A", customerId: "cust_1" })],
    ["POST /v1/admin/keys/key_1/rotate", client.admin.keys.rotate("key_1")],
    ["DELETE /v1/admin/keys/key_1", client.admin.keys.revoke("key_1")],
    ["GET /v1/sandbox/inbox", client.sandbox.inbox.get()],
    ["DELETE /v1/sandbox/inbox", client.sandbox.inbox.clear()],
    ["PUT /v1/sandbox/inbox/behaviour", client.sandbox.inbox.behave({ failFirst: 2 })],
  ];
  await Promise.all(calls.map(([, call]) => assert.rejects(call, { code: "NOT_FOUND" })));
  const asked = api.requests.map((request) => `${request.method} ${request.path}`);
  assert.deepEqual(asked.toSorted(), calls.map(([route]) => route).toSorted());
});

test("a missing key or an invalid address is refused before anything is sent", () => {
  assert.throws(() => new Tightbeam({ apiKey: "" }), TypeError);
  for (const baseUrl of ["", "localhost:8080", "ftp://example.com"]) {
    assert.throws(() => new Tightbeam({ apiKey, baseUrl }), TypeError);
  }
  for (const bad of [{ timeoutMs: 0 }, { timeoutMs: Number.NaN }, { maxRetries: -1 }, { maxRetries: Number.NaN }]) {
    assert.throws(() => new Tightbeam({ apiKey, ...bad }), TypeError);
  }
});
