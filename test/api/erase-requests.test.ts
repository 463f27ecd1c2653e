/** An erasure masks the requests of the log that name the person, in whatever form they do, and leaves all others whole. */

import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import type { LoggedExchange } from "../../sdk/wire.ts";
import type { Store } from "../../server/store/store.ts";
import { type Asking, startTestService, type TestService } from "../support/service.ts";
import { until } from "../support/wait.ts";

const OTHER = "+15005550101";
/** With so many requests, a log has several pages of an erasure. */
const MANY = 350;
const JSON_TYPE = { "content-type": "application/json" };

let api: TestService;
/** Called after each page that an erasure has masked. */
let afterPage = (): void => {};
before(async () => {
  const onStore = (store: Store) => {
    const eraseRequests = store.eraseRequests.bind(store);
    store.eraseRequests = async (requests) => {
      await eraseRequests(requests);
      afterPage();
    };
  };
  api = await startTestService({}, { onStore });
});
after(() => api.stop());

let people = 0;

/** A contact with a number and an e-mail address of its own. */
async function person(): Promise<{ id: string; to: string; email: string }> {
  people += 1;
  const to = `+15005556${String(people).padStart(3, "0")}`;
  const email = `zoe${people}@erase.example`;
  const { data } = await api.ask("POST", "/v1/contacts", { body: { phoneNumber: to, email } });
  return { id: data.id, to, email };
}

const text = (words: string) => ({ content: { text: words } });
const post = (path: string, body: unknown, more: Asking = {}) => api.ask("POST", path, { body, ...more });
const erase = (id: string) => api.ask("DELETE", `/v1/contacts/${id}?erase=true`);
const isErased = async (id: string) => (await erase(id)).data.erasedAt !== null;
const untilErased = (id: string) => until(() => isErased(id), { limitMs: 60_000 });
const delivered = (id: string) =>
  until(async () => ["delivered", "read"].includes((await api.ask("GET", `/v1/messages/${id}`)).data?.status), {
    limitMs: 60_000,
  });
const logged = async (id: string, key = api.key): Promise<LoggedExchange> =>
  (await api.ask("GET", `/v1/requests/${id}`, { key })).data;

/** Sends a request as it is written, and returns the id of its entry in the log. */
async function raw(line: string, body: string | null = null): Promise<string> {
  const [method = "", path = ""] = line.split(" ");
  const headers = { authorization: `Bearer ${api.key}`, ...(body === null ? {} : JSON_TYPE) };
  const response = await fetch(api.url + path, { method, headers, body });
  await response.text();
  return response.headers.get("x-request-id") ?? "";
}

async function newCustomer(): Promise<string> {
  const key = api.adminKey;
  const { data: customer } = await post("/v1/admin/customers", { name: "Neighbour" }, { key });
  return (await post("/v1/admin/keys", { name: "neighbour", customerId: customer.id }, { key })).data.key;
}

test("a request that names an erased contact in any written form keeps its method, status, time, key and route alone", async () => {
  const { id, to, email } = await person();
  const digits = to.slice(1);
  const { data: sent } = await post("/v1/messages", { to, ...text("Hello") });
  await delivered(sent.id);
  const { data: message } = await api.ask("GET", `/v1/messages/${sent.id}`);
  const json = (address: string) => `{"to":"${address}","content":{"text":"Zanzibar"}}`;
  const quoted = (words: string) => `{"to":"${OTHER}","content":{"text":"Zanzibar ${words}"}}`;
  const rows: [line: string, body?: string][] = [
    ["POST /v1/messages", json(to)],
    ["POST /v1/messages", json(digits)],
    ["POST /v1/messages", json(`\\u002b${digits}`)],
    ["POST /v1/messages", json(`\\u002b\\u0031${digits.slice(1)}`)],
    ["POST /v1/messages", json(email.toUpperCase())],
    ["POST /v1/messages", json(email.replace("@", "\\u0040"))],
    ["POST /v1/messages", quoted(`of +1 (500) 555-${to.slice(-4)}`)],
    ["POST /v1/messages", quoted(`of 1.500.555.${to.slice(-4)}`)],
    ["POST /v1/messages", quoted(`https://example.com/?to=%2B${digits}`)],
    ["POST /v1/messages", quoted(`https://example.com/?to=%252B%31${digits.slice(1)}`)],
    ["POST /v1/messages", `to=%2B${digits}&text=Zanzibar`],
    ["POST /v1/messages", `{"chatId":"${message.chatId}","content":{"text":"Zanzibar"}}`],
    [`GET /v1/chats/${encodeURIComponent(to)}/messages`],
    [`GET /v1/chats/%252B${digits}/messages`],
    [`GET /v1/chats/${encodeURIComponent(email)}/messages`],
    [`GET /v1/messages?to=%2B${digits}&search=Zanzibar`],
    [`PUT /v1/messages/${sent.id}`, '{"text":"Zanzibar"}'],
    [`POST /v1/messages/${sent.id}/reactions`, '{"type":"love"}'],
    [`POST /v1/chats/${message.chatId}/read`, "{}"],
    [`PUT /v1/contacts/${id}`, '{"lastName":"Zanzibar"}'],
  ];
  const ids: string[] = [];
  for (const row of rows) ids.push(await raw(...row));
  const before = await Promise.all(ids.map((one) => logged(one)));
  await untilErased(id);
  for (const [index, one] of ids.entries()) {
    const [was, is] = [before[index] ?? assert.fail(), await logged(one)];
    const { method, status, createdAt, durationMs, keyId, customerId, route, correlationId, errorCode } = was;
    assert.deepEqual(
      { ...is, path: null },
      {
        ...{
          id: one,
          path: null,
          method,
          status,
          createdAt,
          durationMs,
          keyId,
          customerId,
          route,
          correlationId,
          errorCode,
        },
        request: was.request === null ? null : { text: '"erased"', truncated: false },
        response: { text: '"erased"', truncated: false },
      },
      rows[index]?.join(" ") ?? "",
    );
    const named = [to, digits, email, id, sent.id, message.chatId, "Zanzibar"];
    for (const name of named) assert.ok(!decodeURIComponent(is.path).includes(name), is.path);
  }
  assert.equal((await logged(ids[12] ?? "")).path, "/v1/chats/***/messages");
  assert.equal((await logged(ids[15] ?? "")).path, "/v1/messages?to=***&search=***");
});

test("requests that do not name an erased contact stay whole: of the customer, of a neighbour and of admin keys", async () => {
  const { id, to } = await person();
  const neighbour = await newCustomer();
  const kept: [id: string, key: string][] = [];
  const keep = async (key: string, method: string, path: string, body?: object) => {
    const { requestId } = await api.ask(method, path, { key, ...(body === undefined ? {} : { body }) });
    kept.push([requestId, key]);
  };
  await keep(api.key, "POST", "/v1/messages", { to: OTHER, ...text("Somebody else's words") });
  await keep(api.key, "POST", "/v1/messages", { to: `${to.slice(0, -1)}`, ...text("To a number that begins like it") });
  await keep(api.key, "GET", `/v1/chats/${encodeURIComponent(OTHER)}?limit=1`);
  await keep(api.key, "POST", "/v1/messages", { to: "nobody" });
  await keep(neighbour, "POST", "/v1/messages", { to, ...text("A neighbour's words to the same person") });
  await keep(neighbour, "GET", `/v1/chats/${encodeURIComponent(to)}/messages`);
  await keep(neighbour, "POST", "/v1/messages", { to: OTHER, ...text("long ".repeat(2_000)) });
  await keep(api.adminKey, "GET", "/v1/admin/customers?limit=1");
  const before = await Promise.all(kept.map(([one, key]) => logged(one, key)));
  const byAdmin = await api.ask("GET", `/v1/chats/${encodeURIComponent(to)}/messages`, { key: api.adminKey });
  const cut = await post("/v1/messages", { to: OTHER, ...text("long ".repeat(2_000)) });
  await untilErased(id);
  for (const [index, [one, key]] of kept.entries()) assert.deepEqual(await logged(one, key), before[index]);
  assert.equal((await logged(byAdmin.requestId, api.adminKey)).path, "/v1/chats/***/messages");
  assert.equal(
    (await logged(cut.requestId)).request?.text,
    '"erased"',
    "a body that was cut may have lost the address",
  );
});

test("a process that dies between two pages of the log goes on at its next start, and masks nothing twice", async () => {
  const key = await newCustomer();
  const to = "+15005556999";
  const { data: contact } = await post("/v1/contacts", { phoneNumber: to }, { key });
  const ask = async (address: string) =>
    (await api.ask("GET", `/v1/chats/${encodeURIComponent(address)}`, { key })).requestId;
  const [first, kept] = [await ask(to), await ask(OTHER)];
  const before = await logged(kept, key);
  for (let many = 0; many < MANY; many += 1) await ask(to);
  const last = await ask(to);
  const erasing = () => api.ask("DELETE", `/v1/contacts/${contact.id}?erase=true`, { key });
  await new Promise<void>((resolve) => {
    afterPage = () => {
      resolve();
      throw new Error("the process has died");
    };
    void erasing();
  });
  const pathOf = async (id: string) => (await logged(id, key)).path;
  assert.deepEqual([await pathOf(first), await pathOf(last)], ["/v1/chats/***", `/v1/chats/${encodeURIComponent(to)}`]);
  await api.restart(async () => {
    afterPage = () => {};
    return {};
  });
  await until(async () => (await erasing()).data.erasedAt !== null, { limitMs: 60_000 });
  assert.deepEqual([await pathOf(first), await pathOf(last)], ["/v1/chats/***", "/v1/chats/***"]);
  assert.deepEqual(await logged(kept, key), before);
});
