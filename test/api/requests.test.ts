/** The request log: which requests are in it, whose, with what of their bodies, and what a client finds by its request id. */

import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import { CORRELATION_ID } from "../../contract/samples.ts";
import type { LoggedRequest } from "../../sdk/wire.ts";
import { startTestService, type TestService } from "../support/service.ts";
import { until } from "../support/wait.ts";

let service: TestService;
before(async () => {
  service = await startTestService();
});
after(() => service.stop());

const TO = "+15005550101";
const send = (more: { key?: string; headers?: Record<string, string>; body?: unknown } = {}) =>
  service.ask("POST", "/v1/messages", { body: { to: TO, content: { text: "Hello" } }, ...more });

async function list(query = "", key?: string): Promise<LoggedRequest[]> {
  const { data, error } = await service.ask("GET", `/v1/requests${query}`, key === undefined ? {} : { key });
  assert.equal(error, undefined, JSON.stringify(error));
  return data.requests;
}

async function newCustomer(): Promise<{ key: string; id: string }> {
  const { adminKey } = service;
  const customer = await service.ask("POST", "/v1/admin/customers", { key: adminKey, body: { name: "Another" } });
  const made = await service.ask("POST", "/v1/admin/keys", {
    key: adminKey,
    body: { name: "another", customerId: customer.data.id },
  });
  return { key: made.data.key, id: customer.data.id };
}

test("a request is found by the requestId of its response, with its bodies, its key and its correlation id", async () => {
  const sent = await send({ headers: { "x-correlation-id": CORRELATION_ID } });
  assert.match(sent.requestId, /^req_/);
  const { data } = await service.ask("GET", `/v1/requests/${sent.requestId}`);
  const { durationMs, keyId, customerId, createdAt, response, ...rest } = data;
  assert.deepEqual(rest, {
    id: sent.requestId,
    method: "POST",
    path: "/v1/messages",
    route: "/v1/messages",
    status: 202,
    correlationId: CORRELATION_ID,
    errorCode: null,
    request: { text: JSON.stringify({ to: TO, content: { text: "Hello" } }), truncated: false },
  });
  assert.equal(JSON.parse(response.text).data.id, sent.data.id);
  assert.equal(response.truncated, false);
  assert.ok(durationMs > 0 && Math.abs(Date.parse(createdAt) - Date.now()) < 60_000);
  assert.match(`${keyId} ${customerId}`, /^key_\S+ cust_\S+$/);
  assert.deepEqual(
    (await list(`?messageId=${sent.data.id}`)).map(({ id }) => id),
    [sent.requestId],
    "the request that created a message",
  );
});

test("refusals are logged with their code, also those of addresses that do not exist, and strangers are not", async () => {
  const bad = await send({ body: { to: TO } });
  const lost = await service.ask("GET", "/v1/nothing?token=abc");
  const stranger = await service.ask("GET", "/v1/messages", { key: `tb_${"x".repeat(36)}` });
  const found = await list("?status=4xx&limit=2");
  assert.deepEqual(
    found.map(({ id, status, errorCode, route, path }) => [id, status, errorCode, route, path]),
    [
      [lost.requestId, 404, "NOT_FOUND", null, "/v1/nothing?token=***"],
      [bad.requestId, 400, "VALIDATION_ERROR", "/v1/messages", "/v1/messages"],
    ],
  );
  const all = await list("", service.adminKey);
  assert.ok(!all.some(({ id }) => id === stranger.requestId));
  assert.ok(
    all.every(({ path }) => !path.startsWith("/v1/requests")),
    "reads of the log are not in it",
  );
});

test("keys and secrets are masked in both bodies", async () => {
  const { adminKey } = service;
  const made = await service.ask("POST", "/v1/admin/keys", { key: adminKey, body: { name: "x", scope: "admin" } });
  const hooked = await service.ask("PUT", "/v1/webhooks", {
    body: { url: "http://127.0.0.1:9/hook", events: ["*"], secret: "s3cret-of-ours-1234" },
  });
  const { data } = await service.ask("GET", `/v1/requests/${made.requestId}`, { key: adminKey });
  assert.equal(JSON.parse(data.response.text).data.key, "***");
  assert.ok(!JSON.stringify(data).includes(made.data.key));
  const secret = await service.ask("GET", `/v1/requests/${hooked.requestId}`);
  assert.ok(!JSON.stringify(secret.data).includes("s3cret"));
  assert.equal(JSON.parse(secret.data.request.text).secret, "***");
  const rows = await service.sql("select request, response from requests");
  assert.ok(!JSON.stringify(rows).includes("s3cret"));
});

test("no writing of a secret brings it into the log: escapes, duplicates, nesting, forms, queries, broken JSON", async () => {
  const needle = "needle-7c1f-needle-7c1f";
  const json = { "Content-Type": "application/json", Authorization: `Bearer ${service.key}` };
  const form = { ...json, "Content-Type": "application/x-www-form-urlencoded" };
  const url = '"url":"http://127.0.0.1:9/hook","events":["*"]';
  const writings: [string, RequestInit][] = [
    ["PUT /v1/webhooks", { headers: json, body: `{${url},"secr\\u0065t":"${needle}"}` }],
    ["PUT /v1/webhooks", { headers: json, body: `{${url},"secret":"${needle}","secret":"${needle}"}` }],
    ["PUT /v1/webhooks", { headers: json, body: `{${url},"more":{"deep":[{"Token":["${needle}"]}]}}` }],
    ["PUT /v1/webhooks", { headers: json, body: `{${url},"more":"{\\"secret\\":\\"${needle}\\"}"}` }],
    ["PUT /v1/webhooks", { headers: json, body: `{${url}, "secret: "${needle}"}` }],
    ["PUT /v1/webhooks", { headers: json, body: `{'secret': '${needle}'}` }],
    ["PUT /v1/webhooks", { headers: form, body: `url=a&s%65cret=${needle}` }],
    [`PUT /v1/webhooks?s%65cret=${needle}`, { headers: json, body: "{}" }],
    [`GET /v1/messages?token=${needle}&apiKey=${needle}`, { headers: json }],
  ];
  for (const [route, init] of writings) {
    const [method, path] = route.split(" ");
    await fetch(`${service.url}${path}`, { ...init, method: method ?? "" });
  }
  const paths = () => service.sql("select path, request, response from requests");
  await until(async () => (await paths()).some(({ path }) => String(path).includes("apiKey=***")));
  for (const row of await paths()) assert.ok(!JSON.stringify(row).includes(needle), JSON.stringify(row));
});

test("an admin key sees the bodies of its own requests only: those of customers hold texts", async () => {
  const { requestId } = await send({});
  const bodiesFor = async (key: string) => {
    const { data } = await service.ask("GET", `/v1/requests/${requestId}`, { key });
    return [data.request, data.response];
  };
  assert.deepEqual(await bodiesFor(service.adminKey), [null, null]);
  for (const body of await bodiesFor(service.key)) assert.ok(body.text.length > 0);
});

test("a key sees its own requests only, an admin key all, and another customer's request does not exist", async () => {
  const other = await newCustomer();
  const id = "the-same-id";
  const ours = await send({ headers: { "x-request-id": id } });
  const theirs = await service.ask("GET", "/v1/chats", { key: other.key, headers: { "x-request-id": id } });
  assert.deepEqual([ours.requestId, theirs.requestId], [id, id]);
  assert.equal((await service.ask("GET", `/v1/requests/${id}`)).data.method, "POST");
  assert.equal((await service.ask("GET", `/v1/requests/${id}`, { key: other.key })).data.method, "GET");
  assert.deepEqual(
    (await list("", other.key)).map(({ path }) => path),
    ["/v1/chats"],
  );
  const seen = await list(`?customerId=${other.id}`, service.adminKey);
  assert.deepEqual([seen.length, seen[0]?.customerId], [1, other.id]);
  const [keyId = "", customerId = ""] = [seen[0]?.keyId, seen[0]?.customerId ?? ""];
  assert.equal((await list(`?keyId=${keyId}`, service.adminKey)).length, 1);
  for (const query of [`?keyId=${keyId}`, `?customerId=${customerId}`]) {
    assert.equal((await service.ask("GET", `/v1/requests${query}`)).error?.code, "FORBIDDEN");
    assert.equal((await service.ask("GET", `/v1/requests/errors${query}`)).error?.code, "FORBIDDEN");
  }
  const mine = await service.ask("GET", "/v1/chats");
  assert.equal((await service.ask("GET", `/v1/requests/${mine.requestId}`, { key: other.key })).status, 404);
});

test("filters narrow the list, and pages go on in either order without a gap", async () => {
  const { key } = await newCustomer();
  const ids: string[] = [];
  for (const path of ["/v1/chats", "/v1/contacts?limit=1", "/v1/chats/chat_none", "/v1/webhooks", "/v1/messages/x"])
    ids.push((await service.ask("GET", path, { key })).requestId);
  ids.push((await service.ask("DELETE", "/v1/contacts/con_x", { key })).requestId);
  const found = async (query: string) => (await list(query, key)).map(({ id }) => ids.indexOf(id));
  assert.deepEqual(await found(""), [5, 4, 3, 2, 1, 0]);
  assert.deepEqual(await found("?status=404"), [5, 4, 2]);
  assert.deepEqual(await found("?status=2xx"), [3, 1, 0]);
  assert.deepEqual(await found("?method=DELETE"), [5]);
  assert.deepEqual(await found("?path=/v1/chats"), [2, 0]);
  assert.deepEqual(await found("?code=NOT_FOUND&method=GET"), [4]);
  assert.deepEqual(await found("?messageId=x"), [4]);
  assert.deepEqual(await found(`?since=2000-01-01&until=2999-01-01&path=/v1/we`), [3]);
  assert.deepEqual(await found("?until=2000-01-01"), []);
  assert.deepEqual(await found(`?after=${ids[3]}`), [4, 5]);
  const read: number[] = [];
  for (let query = `?limit=2&after=${ids[0]}`; ; ) {
    const { data } = await service.ask("GET", `/v1/requests${query}`, { key });
    read.push(...data.requests.map(({ id }: LoggedRequest) => ids.indexOf(id)));
    if (data.pagination.nextCursor === null) break;
    query = `?limit=2&cursor=${data.pagination.nextCursor}`;
  }
  assert.deepEqual(read, [1, 2, 3, 4, 5]);
  for (const query of ["?status=9xx", "?since=x", "?after=req_none", "?cursor=x", "?method=BREW"])
    assert.equal((await service.ask("GET", `/v1/requests${query}`, { key })).status, 400, query);
});

test("errors come in groups by code and route, the largest first", async () => {
  const { key } = await newCustomer();
  for (const id of ["a", "b", "c"]) await service.ask("GET", `/v1/messages/${id}`, { key });
  const last = await service.ask("GET", "/v1/messages/d", { key });
  const bad = await send({ key, body: {} });
  const { data } = await service.ask("GET", "/v1/requests/errors", { key });
  assert.deepEqual(
    data.errors.map(({ lastAt, ...group }: { lastAt: string }) => group),
    [
      { code: "NOT_FOUND", method: "GET", route: "/v1/messages/:id", status: 404, count: 4, lastId: last.requestId },
      {
        code: "INVALID_RECIPIENT",
        method: "POST",
        route: "/v1/messages",
        status: 400,
        count: 1,
        lastId: bad.requestId,
      },
    ],
  );
  assert.deepEqual((await service.ask("GET", "/v1/requests/errors?until=2000-01-01", { key })).data.errors, []);
});

test("a body is cut to 4 KiB and a file in it is shortened", async () => {
  const text = "long ".repeat(2_000);
  const sent = await send({ body: { to: TO, content: { text } } });
  const { data } = await service.ask("GET", `/v1/requests/${sent.requestId}`);
  assert.deepEqual([data.request.truncated, data.request.text.length], [true, 4_096]);
  const file = "QUJD".repeat(30_000);
  const refused = await service.ask("POST", "/v1/messages", { body: { to: TO, nonsense: { data: file }, z: 1 } });
  const { data: short } = await service.ask("GET", `/v1/requests/${refused.requestId}`);
  assert.ok(short.request.text.length < 200, short.request.text);
});

test("a stream is logged when it ends, with the time that it was open", async () => {
  const opened = await fetch(`${service.url}/v1/events?events=*`, {
    headers: { authorization: `Bearer ${service.key}` },
  });
  const id = opened.headers.get("x-request-id") ?? "";
  await opened.body?.cancel();
  await until(async () => (await service.ask("GET", `/v1/requests/${id}`)).status === 200);
  const { data } = await service.ask("GET", `/v1/requests/${id}`);
  assert.deepEqual([data.path, data.status, data.response], ["/v1/events?events=*", 200, null]);
});

test("TB_REQUEST_LOG decides what is logged, and the log survives a restart", async () => {
  const { requestId } = await send();
  await service.restart(async () => ({ TB_REQUEST_LOG: "on" }));
  assert.equal((await service.ask("GET", `/v1/requests/${requestId}`)).data.status, 202);
  const without = await send();
  const { data } = await service.ask("GET", `/v1/requests/${without.requestId}`);
  assert.deepEqual([data.status, data.request, data.response], [202, null, null]);
  await service.restart(async () => ({ TB_REQUEST_LOG: "off" }));
  const none = await send();
  assert.equal((await service.ask("GET", `/v1/requests/${none.requestId}`)).status, 404);
});

test("the log is off by default once an instance is not a sandbox", async () => {
  await service.restart();
  const { adminKey } = service;
  const config = { host: "127.0.0.1", port: 9, systemId: "a", bindMode: "transceiver", password: "secret-of-carrier" };
  const made = await service.ask("POST", "/v1/admin/instances", {
    key: adminKey,
    body: { name: "carrier", provider: "smpp", config },
  });
  assert.equal(made.status, 201, JSON.stringify(made.error));
  const sent = await send();
  assert.equal((await service.ask("GET", `/v1/requests/${sent.requestId}`)).status, 404);
});
