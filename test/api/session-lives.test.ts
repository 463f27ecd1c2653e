/** The lives of sessions and links: how they begin and end, for whom an admin's session acts, and how often somebody may try. */

import assert from "node:assert/strict";
import { once } from "node:events";
import { request } from "node:http";
import { connect } from "node:net";
import { after, before, type TestContext, test } from "node:test";
import { createLog } from "../../server/log.ts";
import { type BrowserHeaders, originOf, send, signIn } from "../support/browser-session.ts";
import { openStream } from "../support/event-stream.ts";
import { startTestService, type TestService } from "../support/service.ts";
import { until } from "../support/wait.ts";

const PUBLIC = "https://tightbeam.example";
const SAME = { "Sec-Fetch-Site": "same-origin" } as const;
const lines: string[] = [];
let local: TestService;
let remote: TestService;

before(async () => {
  const log = createLog("trace", { write: (line) => void lines.push(line) });
  local = await startTestService({}, { log });
  remote = await startTestService({ TB_PUBLIC_URL: PUBLIC });
});
after(async () => {
  await Promise.all([local.stop(), remote.stop()]);
  const told = lines.join("");
  assert.ok(told.includes('"route":"/session"'), "the log has the requests");
  assert.doesNotMatch(told, /tb[sl]_[A-Za-z0-9]|csrf/i, "no line of the log holds a token");
});

/** The token of a new link, made with a key. */
async function newLink(at: TestService, key = at.adminKey): Promise<string> {
  const { data } = await at.ask("POST", "/session/links", { key });
  assert.match(data.url, /^https?:\/\/[^/]+\/#link=tbl_[A-Za-z0-9_-]{43}$/);
  return data.url.split("#link=")[1];
}

async function statusOf(at: TestService, line: string, headers: BrowserHeaders, body?: unknown): Promise<number> {
  return (await send(at, line, headers, body)).status;
}

const SIGN_INS: readonly (readonly [what: string, headers: BrowserHeaders, body: unknown, status: number])[] = [
  ["by an own page", { Origin: "@" }, { key: "@key" }, 201],
  ["by an own page that says so twice", { Origin: "@", ...SAME }, { key: "@key" }, 201],
  ["without an Origin", {}, { key: "@key" }, 403],
  ["by another site", { Origin: "https://evil.example" }, { key: "@key" }, 403],
  ["by another port of this host", { Origin: "http://127.0.0.1:1" }, { key: "@key" }, 403],
  ["by a page without an origin", { Origin: "null" }, { key: "@key" }, 403],
  ["by another site that claims the Origin", { Origin: "@", "Sec-Fetch-Site": "cross-site" }, { key: "@key" }, 403],
  ["under a name that was pointed here", { Origin: "http://evil.example", Host: "evil.example" }, { key: "@key" }, 403],
  ["as a form would send it", { Origin: "@", "Content-Type": "text/plain" }, { key: "@key" }, 415],
  ["with a body that is no JSON", { Origin: "@" }, "{", 400],
  ["with nothing", { Origin: "@" }, {}, 400],
  ["with a key and a link", { Origin: "@" }, { key: "@key", link: "x" }, 400],
  ["with an unknown field", { Origin: "@" }, { key: "@key", next: "https://evil.example" }, 400],
  ["with a wrong key", { Origin: "@" }, { key: `tb_${"x".repeat(36)}` }, 401],
  ["with no key at all", { Origin: "@" }, { key: "hello" }, 401],
  ["with a wrong link", { Origin: "@" }, { link: `tbl_${"A".repeat(43)}` }, 401],
  ["with the token of a session as a link", { Origin: "@" }, { link: `tbs_${"A".repeat(43)}` }, 401],
  ["with too long a body", { Origin: "@" }, { key: "x".repeat(5_000) }, 413],
];

for (const [what, headers, body, status] of SIGN_INS) {
  test(`a sign-in ${what} is a ${status}`, async () => {
    const filled = typeof body === "string" ? body : JSON.parse(JSON.stringify(body).replace("@key", local.key));
    const more = headers.Origin === "@" ? { Origin: originOf(local) } : {};
    const answer = await send(local, "POST /session", { ...headers, ...more }, filled);
    assert.equal(answer.status, status, answer.body);
    assert.equal(answer.headers["set-cookie"] === undefined, status !== 201);
  });
}

test("a link gives one of several requests the session, and cannot be used again, late or without its key", async () => {
  const link = await newLink(local);
  const Origin = originOf(local);
  const statuses = await Promise.all([1, 2, 3, 4].map(() => statusOf(local, "POST /session", { Origin }, { link })));
  assert.deepEqual(statuses.sort(), [201, 401, 401, 401]);
  assert.equal(await statusOf(local, "POST /session", { Origin }, { link }), 401);
  const late = await newLink(local);
  await local.sql("update sessions set expires_at = 1 where kind = 'link' returning id");
  assert.equal(await statusOf(local, "POST /session", { Origin }, { link: late }), 401);
  const { data: key } = await local.ask("POST", "/v1/admin/keys", {
    key: local.adminKey,
    body: { name: "x", scope: "admin" },
  });
  const orphan = await newLink(local, key.key);
  await local.ask("DELETE", `/v1/admin/keys/${key.id}`, { key: local.adminKey });
  assert.equal(await statusOf(local, "POST /session", { Origin }, { link: orphan }), 401);
});

test("a session ends with its key, when an operator ends it, and when its time is over", async () => {
  const read = (Cookie: string) => statusOf(local, "GET /v1/events", { Cookie, ...SAME });
  const { data: customers } = await local.ask("GET", "/v1/admin/customers", { key: local.adminKey });
  const { data: key } = await local.ask("POST", "/v1/admin/keys", {
    key: local.adminKey,
    body: { name: "x", customerId: customers.customers[0].id },
  });
  const revoked = await signIn(local, { key: key.key });
  assert.equal(await read(revoked.cookie), 200);
  await local.ask("DELETE", `/v1/admin/keys/${key.id}`, { key: local.adminKey });
  assert.equal(await read(revoked.cookie), 401);
  const { data: signedIn } = await local.ask("GET", "/v1/admin/sessions", { key: local.adminKey });
  assert.ok(
    signedIn.sessions.every(({ keyId }: { keyId: string }) => keyId !== key.id),
    "nobody is listed as signed in with it",
  );

  const ended = await signIn(local);
  const listed = await local.ask("GET", "/v1/admin/sessions", { key: local.adminKey });
  assert.ok(listed.data.sessions.some(({ id }: { id: string }) => id === ended.id));
  assert.ok(!JSON.stringify(listed.data).includes("hash"));
  const stream = await openStream(`http://127.0.0.1:${local.service.port}`, {
    key: null,
    headers: { cookie: ended.cookie, ...SAME },
  });
  assert.equal(stream.status, 200);
  const gone = await local.ask("DELETE", `/v1/admin/sessions/${ended.id}`, { key: local.adminKey });
  assert.deepEqual(gone.data, { id: ended.id, deleted: true });
  assert.equal(await read(ended.cookie), 401);
  await until(() => stream.isOver, { what: "the end of its stream" });
  const twice = await local.ask("DELETE", `/v1/admin/sessions/${ended.id}`, { key: local.adminKey });
  assert.equal(twice.status, 404);

  const late = await signIn(local);
  await local.sql("update sessions set expires_at = 1 where id = ? returning id", late.id);
  assert.equal(await read(late.cookie), 401);
});

test("a session that is used goes on: a day from its last use, and 30 days at most", async () => {
  const host = { Host: "tightbeam.example", Origin: PUBLIC };
  const { cookie, id } = await signIn(remote, { key: remote.adminKey }, host);
  const stored = async () => (await remote.sql("select * from sessions where id = ?", id))[0] ?? {};
  const { created_at: begun, expires_at: end } = await stored();
  assert.equal(Number(end) - Number(begun), 86_400_000);
  await remote.sql(
    "update sessions set last_used_at = last_used_at - 3600000, expires_at = created_at + 1000000 where id = ? returning id",
    id,
  );
  const headers = { Host: "tightbeam.example", Cookie: cookie, ...SAME };
  assert.equal(await statusOf(remote, "GET /session", headers), 200);
  await until(async () => Number((await stored()).expires_at) >= Number(end), { what: "the use" });
  await remote.sql(
    "update sessions set last_used_at = 0, created_at = created_at - 2592000000 + 50000 where id = ? returning id",
    id,
  );
  assert.equal(await statusOf(remote, "GET /session", headers), 200);
  await until(async () => Number((await stored()).expires_at) === Number(begun) + 50_000, { what: "the use" });
});

test("on https the cookie is __Host- and Secure, and only the https address may use it", async () => {
  const Host = "tightbeam.example";
  const answer = await send(remote, "POST /session", { Host, Origin: PUBLIC }, { key: remote.key });
  const cookie = answer.headers["set-cookie"] ?? "";
  assert.match(cookie, /^__Host-tightbeam=tbs_\S+; Path=\/; Max-Age=2592000; HttpOnly; SameSite=Strict; Secure$/);
  const Cookie = cookie.split(";")[0] ?? "";
  assert.equal(await statusOf(remote, "GET /session", { Host, Cookie, Origin: PUBLIC }), 200);
  assert.equal(await statusOf(remote, "GET /session", { Host, Cookie, Origin: "http://tightbeam.example" }), 403);
  const plain = `tightbeam_80=${Cookie.split("=")[1]}`;
  assert.equal(
    await statusOf(remote, "GET /session", { Host, Cookie: plain, ...SAME }),
    401,
    "a neighbour could set it",
  );
  const http = { Host, Origin: "http://tightbeam.example" };
  assert.equal(await statusOf(remote, "POST /session", http, { key: remote.key }), 403);
  const behind = { Host: `127.0.0.1:${remote.service.port}`, "X-Forwarded-For": "203.0.113.9", Origin: PUBLIC };
  const proxied = await send(remote, "POST /session", behind, { key: remote.key });
  assert.match(proxied.headers["set-cookie"] ?? "", /^__Host-tightbeam=/, "a proxy may put its own name into Host");
});

test("a sign-in makes a new token, and ends the session that the browser had", async () => {
  const first = await signIn(local);
  const second = await signIn(local, { key: local.adminKey }, { Cookie: first.cookie });
  assert.notEqual(first.cookie, second.cookie);
  assert.equal(await statusOf(local, "GET /session", { Cookie: first.cookie }), 401);
  assert.equal(await statusOf(local, "GET /session", { Cookie: second.cookie }), 200);
});

test("the session of an admin key acts for the customer that it names, and an admin key for none", async () => {
  const admin = await signIn(local);
  const own = { Cookie: admin.cookie, "X-CSRF-Token": admin.csrf, ...SAME };
  const { data: other } = await local.ask("POST", "/v1/admin/customers", {
    key: local.adminKey,
    body: { name: "Other" },
  });
  const message = { to: "+15005550100", content: { text: "hi" } };
  const sent = await send(local, "POST /v1/messages", own, message);
  assert.equal(sent.status, 202, sent.body);
  const { data } = await local.ask("GET", "/v1/messages");
  assert.equal(data.messages[0].id, JSON.parse(sent.body).data.id, "it is the first customer's");
  const listed = await send(local, "GET /v1/messages", { ...own, "Tightbeam-Customer": other.id });
  assert.deepEqual(JSON.parse(listed.body).data.messages, []);
  assert.equal(await statusOf(local, "GET /v1/messages", { ...own, "Tightbeam-Customer": "cust_none" }), 400);
  assert.equal(await statusOf(local, "GET /v1/admin/keys", own), 200);
  const refused = await local.ask("GET", "/v1/messages", {
    key: local.adminKey,
    headers: { "Tightbeam-Customer": other.id },
  });
  assert.equal(refused.status, 403, "only a session acts for a customer");
  const customer = await signIn(local, { key: local.key });
  const foreign = await send(local, "GET /v1/messages", {
    Cookie: customer.cookie,
    ...SAME,
    "Tightbeam-Customer": other.id,
  });
  assert.notDeepEqual(JSON.parse(foreign.body).data.messages, [], "a customer's session sees its own customer");
});

test("a request with a key is served as before, whatever a browser would have to say", async () => {
  const evil = { host: "evil.example", origin: "http://evil.example", "sec-fetch-site": "cross-site" };
  const Authorization = `Bearer ${local.key}`;
  assert.equal(await statusOf(local, "GET /v1/messages", { Authorization, ...evil, Host: null }), 200);
  const { cookie } = await signIn(local);
  const both = await send(local, "GET /v1/admin/keys", { Authorization, Cookie: cookie, ...SAME });
  assert.equal(both.status, 403, "the key counts, not the session");
  const none = await local.ask("GET", "/v1/messages", { key: null });
  assert.deepEqual([none.status, none.error?.message.slice(0, 23)], [401, "The request has no key."]);
  assert.equal((await local.ask("GET", "/session")).status, 401, "a key has no session");
});

test("all sessions of a key share 1,200 requests a minute, and a key has 50 sessions at most", async () => {
  const { data: key } = await local.ask("POST", "/v1/admin/keys", {
    key: local.adminKey,
    body: { name: "many", scope: "admin", rateLimit: { limit: 1, windowSeconds: 60 } },
  });
  const first = await signIn(local, { key: key.key });
  const left = async (Cookie: string) => {
    const { headers } = await send(local, "GET /session", { Cookie });
    return [headers["x-ratelimit-limit"], headers["x-ratelimit-remaining"]];
  };
  assert.deepEqual(await left(first.cookie), ["1200", "1199"]);
  const second = await signIn(local, { key: key.key });
  assert.deepEqual(await left(second.cookie), ["1200", "1198"]);
  for (let more = 0; more < 49; more += 1) await signIn(local, { key: key.key });
  const [{ count } = { count: 0 }] = await local.sql("select count(*) as count from sessions where key_id = ?", key.id);
  assert.equal(Number(count), 50);
  assert.equal(await statusOf(local, "GET /session", { Cookie: first.cookie }), 401, "the oldest one has ended");
});

test("after 20 failures in a minute an address is refused before its key is looked at, and other addresses are not", async () => {
  const attempt = (address: string, key: string) =>
    send(local, "POST /session", { Origin: originOf(local), "X-Forwarded-For": address }, { key });
  for (let failure = 0; failure < 20; failure += 1)
    assert.equal((await attempt("10.0.0.1, 203.0.113.7", "wrong")).status, 401);
  const limited = await attempt("10.0.0.2, 203.0.113.7", local.key);
  assert.equal(limited.status, 429, limited.body);
  assert.ok(Number(limited.headers["retry-after"]) > 0);
  const unread = { Origin: originOf(local), "X-Forwarded-For": "203.0.113.7", "Content-Type": "application/json" };
  const early = await send(local, "POST /session", { ...unread, "Content-Length": "100" });
  assert.equal(early.status, 429, "nothing of the body is waited for");
  assert.equal((await attempt("203.0.113.8", local.key)).status, 201);
  for (let failure = 0; failure < 20; failure += 1) await attempt(`2001:db8:1:2::${failure}`, "wrong");
  assert.equal((await attempt("2001:db8:1:2:ffff::1", local.key)).status, 429, "one owner has all of a /64");
  assert.equal((await attempt("2001:db8:1:3::1", local.key)).status, 201);
});

test("a stranger who names the address of somebody else keeps nobody but strangers from signing in", async () => {
  const Origin = originOf(local);
  for (let failure = 0; failure < 25; failure += 1)
    await send(local, "POST /session", { Origin, "X-Forwarded-For": "127.0.0.1" }, { key: "wrong" });
  assert.equal(await statusOf(local, "POST /session", { Origin }, { key: local.key }), 201);
});

/** Begins 200 sign-ins whose bodies never come, each with these headers. Returns the status of each response so far. */
function beginSlowly(t: TestContext, at: TestService, headersOf: (index: number) => string): string[] {
  const { port } = at.service;
  const statuses: string[] = [];
  for (let index = 0; index < 200; index += 1) {
    const socket = connect(port, "127.0.0.1");
    t.after(() => socket.destroy());
    socket.on("error", () => {}).on("data", (data) => statuses.push(String(data).slice(9, 12)));
    socket.write(
      `POST /session HTTP/1.1\r\nHost: 127.0.0.1:${port}\r\nOrigin: ${originOf(at)}\r\n${headersOf(index)}Content-Type: application/json\r\nContent-Length: 100\r\n\r\n`,
    );
  }
  return statuses;
}

test("a sign-in whose body does not arrive within a second is a 408, and other addresses sign in meanwhile", async (t) => {
  const statuses = beginSlowly(t, local, () => "X-Forwarded-For: 198.51.100.1\r\n");
  await until(() => statuses.includes("503"), { what: "a refusal" });
  const other = { Origin: originOf(local), "X-Forwarded-For": "198.51.100.2" };
  assert.equal(await statusOf(local, "POST /session", other, { key: local.key }), 201);
  await until(() => statuses.length === 200, { what: "an answer to each" });
  assert.deepEqual([...new Set(statuses)].sort(), ["408", "503"]);
});

test("a stranger with invented addresses takes no more places than one, if nobody trusts the stranger as a proxy", async (t) => {
  const guarded = await startTestService({ TB_TRUSTED_PROXIES: "10.0.0.0/8" });
  const statuses = beginSlowly(t, guarded, (index) => `X-Forwarded-For: 198.51.100.${index}\r\n`);
  // After the connections, whose end the stop would wait for.
  t.after(() => guarded.stop());
  await until(() => statuses.includes("503"), { what: "a refusal" });
  const headers = { Origin: originOf(guarded), "Content-Type": "application/json" };
  const body = JSON.stringify({ key: guarded.key });
  const fromElsewhere = request(`${originOf(guarded)}/session`, { method: "POST", headers, localAddress: "127.0.0.2" });
  fromElsewhere.end(body);
  const [response] = await once(fromElsewhere, "response");
  assert.equal(response.statusCode, 201);
  response.resume();
  await until(() => statuses.length === 200, { what: "an answer to each" });
});

test("the clients of a trusted proxy that names none share 200 failures a minute, and health says so", async (t) => {
  const shared = await startTestService();
  t.after(() => shared.stop());
  const attempt = (key: string) =>
    send(shared, "POST /session", { Origin: originOf(shared), Via: "1.1 proxy" }, { key });
  const read = async () => {
    const headers = { authorization: `Bearer ${shared.adminKey}` };
    return await (await fetch(`${shared.url}/health`, { headers })).json();
  };
  const check = async () => JSON.stringify(await read()).includes("X-Forwarded-For");
  assert.equal(await check(), false);
  for (let failure = 0; failure < 200; failure += 1) assert.equal((await attempt("wrong")).status, 401);
  assert.equal((await attempt(shared.key)).status, 429);
  assert.equal(await check(), true);
});

test("no cache keeps a response to a session", async () => {
  const { cookie, csrf } = await signIn(local, { key: local.key });
  const own = { Cookie: cookie, "X-CSRF-Token": csrf, ...SAME };
  for (const line of ["GET /v1/messages", "GET /v1/messages/msg_none", "GET /session", "POST /v1/messages"]) {
    const { headers } = await send(local, line, own, line.startsWith("POST") ? {} : undefined);
    assert.equal(headers["cache-control"], "no-store", line);
  }
});
