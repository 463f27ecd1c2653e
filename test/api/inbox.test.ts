/** The sandbox's inbox as a receiver, and as its customer sees and controls it. */

import assert from "node:assert/strict";
import { once } from "node:events";
import { connect } from "node:net";
import { test } from "node:test";
import type { Inbox, InboxRequest } from "../../sdk/wire.ts";
import { signatureHeaders } from "../../server/core/signature.ts";
import { type AdminApi, startAdminApi } from "../support/admin-api.ts";
import { failureOf } from "../support/edge.ts";
import { ask } from "../support/socket.ts";
import { until } from "../support/wait.ts";

const INBOX = "GET /v1/sandbox/inbox";

/** The inbox as its customer's first key sees it. */
type OwnInbox = Inbox & { secret: string };

interface Owner {
  key: string;
  inbox: OwnInbox;
  read(): Promise<OwnInbox>;
  behave(behaviour: object): Promise<OwnInbox>;
}

/** A customer made by the API, with a key and its inbox. */
async function makeOwner(api: AdminApi): Promise<Owner> {
  const { id } = await api.data("POST /v1/admin/customers", { body: { name: "Acme" } }, 201);
  const { key } = await api.makeKey({ customerId: id });
  const read = () => api.data(INBOX, { key });
  const behave = (body: object) => api.data("PUT /v1/sandbox/inbox/behaviour", { key, body });
  return { key, inbox: await read(), read, behave };
}

const BODY = '{"id":"evt_1","type":"message.sent","timestamp":"2026-01-01T00:00:00.000Z","data":{"text":"ü 🎈"}}';

function signed(api: AdminApi, secret: string, body: string | Buffer = BODY, secondsOff = 0): Record<string, string> {
  const sentAtSeconds = Math.floor(api.clock.real() / 1_000) + secondsOff;
  return signatureHeaders({ eventId: "evt_1", body, secret, previousSecret: null, sentAtSeconds });
}

async function post(url: string, headers: Record<string, string>, body: string | Buffer = BODY) {
  const response = await fetch(url, { method: "POST", headers, body: new Uint8Array(Buffer.from(body)) });
  return { status: response.status, text: await response.text(), headers: response.headers };
}

test("a new customer has an empty inbox with its own URL and secret", async (t) => {
  const api = await startAdminApi(t);
  const { inbox } = await makeOwner(api);
  assert.match(inbox.url, new RegExp(`^${api.url}/sandbox/inbox/[0-9a-f]{32}$`));
  assert.match(inbox.secret, /^whsec_/);
  assert.deepEqual(inbox.behaviour, { status: 200, delayMs: 0, failFirst: 0 });
  assert.deepEqual(inbox.requests, []);
  const other = await makeOwner(api);
  assert.notEqual(other.inbox.url, inbox.url);
  assert.notEqual(other.inbox.secret, inbox.secret);
});

test("the inbox stores validly signed requests byte for byte with their headers, and returns 200", async (t) => {
  const api = await startAdminApi(t);
  const { inbox, read } = await makeOwner(api);
  const headers = { "content-type": "application/json", "x-correlation-id": "cor_1", ...signed(api, inbox.secret) };
  const answer = await post(inbox.url, headers);
  assert.equal(answer.status, 200, answer.text);
  const requestId = answer.headers.get("x-request-id");
  assert.deepEqual(JSON.parse(answer.text), { success: true, data: { received: true }, requestId });
  const [request, ...others] = (await read()).requests;
  assert.ok(request !== undefined && others.length === 0);
  assert.deepEqual(
    { ...request, headers: null },
    { receivedAt: "2026-01-01T00:00:00.000Z", verified: true, status: 200, headers: null, body: BODY },
  );
  for (const [name, value] of Object.entries(headers)) assert.equal(request.headers[name.toLowerCase()], value);
});

test("an unknown inbox URL is a 404 before the body is read", async (t) => {
  const api = await startAdminApi(t);
  const { inbox } = await makeOwner(api);
  const { port, pathname } = new URL(inbox.url);
  for (const path of [pathname.replace(/.{32}$/, "0".repeat(32)), "/sandbox/inbox/nothing"]) {
    const head = `POST ${path} HTTP/1.1\r\nHost: x\r\nContent-Length: 1000000\r\n\r\n`;
    assert.equal((await ask(Number(port), head)).status, 404);
  }
});

test("an unsigned request, or one signed with another secret, body or time, gets 401 and is listed", async (t) => {
  const api = await startAdminApi(t);
  const { inbox, read } = await makeOwner(api);
  const other = await makeOwner(api);
  const bad: Record<string, string>[] = [
    {},
    signed(api, other.inbox.secret),
    signed(api, inbox.secret, `${BODY} `),
    signed(api, inbox.secret, BODY, -301),
    signed(api, inbox.secret, BODY, 301),
  ];
  for (const headers of bad) {
    const answer = await post(inbox.url, headers);
    assert.equal(failureOf(401, answer.text).error.code, "UNAUTHORIZED");
  }
  const { requests } = await read();
  assert.deepEqual(
    requests.map(({ verified, status }) => [verified, status]),
    bad.map(() => [false, 401]),
  );
  assert.equal((await post(inbox.url, signed(api, inbox.secret, BODY, -300))).status, 200);
});

test("a body may be of any type and up to 1 MiB; a larger one is a 413", async (t) => {
  const api = await startAdminApi(t);
  const { inbox, read } = await makeOwner(api);
  const bytes = Buffer.from([0, 255, 254, 10]);
  const rows: [body: string | Buffer, type: string][] = [
    ["", "text/plain"],
    ["not json", "application/json"],
    [bytes, "application/octet-stream"],
    ["x".repeat(1_048_576), "text/plain"],
  ];
  for (const [body, type] of rows) {
    const headers = { "content-type": type, ...signed(api, inbox.secret, body) };
    assert.equal((await post(inbox.url, headers, body)).status, 200, type);
  }
  const shown = (await read()).requests.map(({ body }: InboxRequest) => body).reverse();
  assert.deepEqual(
    shown,
    rows.map(([body]) => (typeof body === "string" ? body : body.toString("latin1"))),
  );
  const large = await post(inbox.url, {}, "x".repeat(1_048_577));
  assert.equal(failureOf(413, large.text).error.code, "PAYLOAD_TOO_LARGE");
});

test("an unknown inbox URL is a 404, and every inbox is a 404 when inboxes are off", async (t) => {
  const api = await startAdminApi(t, { settings: { sandboxInbox: false } });
  const { id } = await api.data("POST /v1/admin/customers", { body: { name: "Acme" } }, 201);
  const { key } = await api.makeKey({ customerId: id });
  const endpoints = await api.deps.store.db.selectFrom("endpoints").selectAll().execute();
  const urls = ["/sandbox/inbox/x", `/sandbox/inbox/${"0".repeat(32)}`, ...endpoints.map(({ url }) => url)];
  assert.equal(urls.length, 3);
  for (const url of urls) {
    assert.equal(failureOf(404, (await post(api.url + url, {})).text).error.code, "NOT_FOUND");
  }
  for (const line of [INBOX, "DELETE /v1/sandbox/inbox", "PUT /v1/sandbox/inbox/behaviour"]) {
    assert.equal((await api.failure(line, { key }, 404)).code, "NOT_FOUND", line);
  }
});

test("the inbox keeps the last 500 requests, newest first, until it is emptied", async (t) => {
  const api = await startAdminApi(t);
  const { key, inbox, read } = await makeOwner(api);
  for (let index = 1; index <= 505; index += 1) {
    const body = String(index);
    await post(inbox.url, signed(api, inbox.secret, body), body);
  }
  const { requests } = await read();
  assert.deepEqual([requests.length, requests[0]?.body, requests.at(-1)?.body], [500, "505", "6"]);
  const emptied = await api.data("DELETE /v1/sandbox/inbox", { key });
  assert.deepEqual(emptied, { ...inbox, requests: [] });
  assert.deepEqual(await read(), emptied);
});

test("the inbox fails the first `failFirst` requests, then returns `status`, until its behaviour changes", async (t) => {
  const api = await startAdminApi(t);
  const { inbox, read, behave } = await makeOwner(api);
  const statuses = async (count: number) => {
    const found: number[] = [];
    for (let index = 0; index < count; index += 1) {
      found.push((await post(inbox.url, signed(api, inbox.secret))).status);
    }
    return found;
  };
  const updated = await behave({ failFirst: 2, status: 201 });
  assert.deepEqual(updated.behaviour, { status: 201, delayMs: 0, failFirst: 2 });
  assert.deepEqual(await statuses(3), [503, 503, 201]);
  assert.equal((await read()).behaviour.failFirst, 0);
  for (const status of [204, 304, 404, 410, 418, 500, 599]) {
    await behave({ status });
    const answer = await post(inbox.url, signed(api, inbox.secret));
    assert.equal(answer.status, status);
    if (status >= 400) assert.equal(JSON.parse(answer.text).success, false);
  }
  assert.deepEqual((await behave({})).behaviour, inbox.behaviour);
  assert.deepEqual(await statuses(1), [200]);
});

test("the inbox delays its response by `delayMs`, also if the sender disconnects first", async (t) => {
  const api = await startAdminApi(t);
  const { inbox, read, behave } = await makeOwner(api);
  await behave({ delayMs: 60_000 });
  let answered = false;
  const answer = post(inbox.url, signed(api, inbox.secret)).finally(() => {
    answered = true;
  });
  await until(async () => (await read()).requests.length === 1);
  await api.clock.advance(59_999);
  await read();
  assert.equal(answered, false);
  await api.clock.advance(1);
  assert.equal((await answer).status, 200);

  const leaving = connect(Number(new URL(api.url).port), "127.0.0.1");
  const lines = [`POST ${new URL(inbox.url).pathname} HTTP/1.1`, "Host: x", "Content-Length: 4"];
  const headers = Object.entries(signed(api, inbox.secret, "body")).map(([name, value]) => `${name}: ${value}`);
  leaving.write([...lines, ...headers, "", "body"].join("\r\n"));
  await until(async () => (await read()).requests.length === 2);
  assert.equal(api.clock.pending, 1);
  leaving.destroy();
  await once(leaving, "close");
  await until(() => api.clock.pending === 0, { what: "the end of the delay" });
});

test("a behaviour outside its bounds is a 400 that names the field", async (t) => {
  const api = await startAdminApi(t);
  const { key } = await makeOwner(api);
  const rows: [body: object, path: string][] = [
    [{ status: 199 }, "status"],
    [{ status: 600 }, "status"],
    [{ delayMs: 60_001 }, "delayMs"],
    [{ delayMs: 1.5 }, "delayMs"],
    [{ failFirst: -1 }, "failFirst"],
    [{ failFirst: 1_001 }, "failFirst"],
    [{ behaviour: 1 }, "behaviour"],
  ];
  for (const [body, path] of rows) {
    const failure = await api.failure("PUT /v1/sandbox/inbox/behaviour", { key, body }, 400);
    assert.deepEqual(failure.paths, [path], JSON.stringify(body));
  }
});

test("an inbox belongs to one customer, and admin keys have none", async (t) => {
  const api = await startAdminApi(t);
  const owner = await makeOwner(api);
  const other = await makeOwner(api);
  await post(owner.inbox.url, signed(api, owner.inbox.secret));
  await other.behave({ status: 500 });
  assert.deepEqual((await other.read()).requests, []);
  assert.equal((await owner.read()).behaviour.status, 200);
  assert.equal((await api.failure(INBOX, {}, 403)).code, "FORBIDDEN");
});

test("all inboxes together are limited in bytes: the fullest loses its older half", async (t) => {
  const api = await startAdminApi(t);
  const { inbox, read } = await makeOwner(api);
  const small = await makeOwner(api);
  await post(small.inbox.url, signed(api, small.inbox.secret));
  const body = "x".repeat(1_048_000);
  const headers = signed(api, inbox.secret, body);
  for (let index = 0; index < 66; index += 1) assert.equal((await post(inbox.url, headers, body)).status, 200);
  const { length } = (await read()).requests;
  assert.ok(length >= 32 && length < 66, String(length));
  assert.equal((await small.read()).requests.length, 1);
});
