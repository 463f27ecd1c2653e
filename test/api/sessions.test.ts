/** Sessions of browsers: every refusal, by what the browser says about a request, and the lives of sessions and links. */

import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import { type BrowserHeaders, originOf, type SignedIn, send, signIn } from "../support/browser-session.ts";
import { startTestService, type TestService } from "../support/service.ts";

let local: TestService;
let inboxless: TestService;

before(async () => {
  [local, inboxless] = await Promise.all([
    startTestService({ TB_SANDBOX_INBOX: "on" }),
    startTestService({ TB_SANDBOX_INBOX: "off" }),
  ]);
});
after(async () => {
  await Promise.all([local.stop(), inboxless.stop()]);
});

test("a browser signs in with a key, reads, changes something with the CSRF token, and signs out", async () => {
  const answer = await send(local, "POST /session", { Origin: originOf(local) }, { key: local.key });
  assert.equal(answer.status, 201, answer.body);
  assert.match(
    answer.headers["set-cookie"] ?? "",
    new RegExp(
      `^tightbeam_${local.service.port}=tbs_[A-Za-z0-9_-]{43}; Path=/; Max-Age=2592000; HttpOnly; SameSite=Strict$`,
    ),
  );
  const { data } = JSON.parse(answer.body);
  assert.deepEqual(
    { ...data, id: "", keyId: "", customerId: "", csrfToken: "", expiresAt: "", version: "" },
    {
      id: "",
      keyId: "",
      keyName: "First key",
      scope: "customer",
      customerId: "",
      csrfToken: "",
      isSandbox: true,
      isClockMoved: false,
      isInboxOn: true,
      expiresAt: "",
      version: "",
    },
  );
  assert.ok(!answer.body.includes("tbs_"), "the token is in the cookie alone");
  const Cookie = (answer.headers["set-cookie"] ?? "").split(";")[0] ?? "";
  const own = { Cookie, "Sec-Fetch-Site": "same-origin" };
  const again = await send(local, "GET /session", own);
  assert.deepEqual(JSON.parse(again.body).data, data);
  assert.equal((await send(local, "GET /v1/messages", own)).status, 200);
  const message = { to: "+15005550100", content: { text: "hi" } };
  const sent = await send(local, "POST /v1/messages", { ...own, "X-CSRF-Token": data.csrfToken }, message);
  assert.equal(sent.status, 202, sent.body);
  const out = await send(local, "DELETE /session", { ...own, "X-CSRF-Token": data.csrfToken });
  assert.equal(out.status, 200, out.body);
  assert.match(out.headers["set-cookie"] ?? "", /=; Path=\/; Max-Age=0; /);
  assert.equal((await send(local, "GET /session", own)).status, 401);
});

test("a session tells that the sandbox's inbox is off", async () => {
  const { cookie } = await signIn(inboxless, { key: inboxless.key });
  const { body } = await send(inboxless, "GET /session", { Cookie: cookie, "Sec-Fetch-Site": "same-origin" });
  assert.equal(JSON.parse(body).data.isInboxOn, false);
});

/** A request with a session, and the response's status. `@` stands for the service's own host and port. */
const REFUSALS: readonly (readonly [what: string, line: string, headers: BrowserHeaders, status: number])[] = [
  ["a read by an own page", "GET /v1/messages", { "Sec-Fetch-Site": "same-origin" }, 200],
  ["a read by another site", "GET /v1/messages", { "Sec-Fetch-Site": "cross-site" }, 403],
  ["a read by another port of this host", "GET /v1/messages", { "Sec-Fetch-Site": "same-site" }, 403],
  ["a read that a person typed", "GET /v1/messages", { "Sec-Fetch-Site": "none" }, 403],
  ["a read with a foreign Origin", "GET /v1/messages", { Origin: "http://evil.example" }, 403],
  ["a read with the Origin of another port", "GET /v1/messages", { Origin: "http://127.0.0.1:1" }, 403],
  ["a read with the Origin null", "GET /v1/messages", { Origin: "null" }, 403],
  ["a read with an own Origin", "GET /v1/messages", { Origin: "http://@" }, 200],
  ["a read with neither header", "GET /v1/messages", {}, 403],
  ["a read with neither header, and the CSRF token", "GET /v1/messages", { "X-CSRF-Token": "@csrf" }, 200],
  ["its session, with neither header", "GET /session", {}, 200],
  ["its session, for another site", "GET /session", { "Sec-Fetch-Site": "cross-site" }, 403],
  ["a change without the CSRF token", "POST /v1/sandbox/reset", { "Sec-Fetch-Site": "same-origin" }, 403],
  ["a change with another's", "POST /v1/sandbox/reset", { "Sec-Fetch-Site": "same-origin", "X-CSRF-Token": "x" }, 403],
  [
    "a change with the CSRF token",
    "POST /v1/sandbox/reset",
    { "Sec-Fetch-Site": "same-origin", "X-CSRF-Token": "@csrf" },
    200,
  ],
  [
    "a change by another site that knows the token",
    "POST /v1/sandbox/reset",
    { "Sec-Fetch-Site": "cross-site", "X-CSRF-Token": "@csrf" },
    403,
  ],
  [
    "a change with a foreign Origin and the token",
    "POST /v1/sandbox/reset",
    { Origin: "http://evil.example", "X-CSRF-Token": "@csrf" },
    403,
  ],
  ["signing out without the token", "DELETE /session", { "Sec-Fetch-Site": "same-origin" }, 403],
  ["a name that was pointed here", "GET /v1/messages", { Host: "evil.example", "Sec-Fetch-Site": "same-origin" }, 403],
  [
    "a name with an own name as user",
    "GET /v1/messages",
    { Host: "localhost@evil.example", "Sec-Fetch-Site": "same-origin" },
    403,
  ],
  [
    "a name that begins like an own name",
    "GET /v1/messages",
    { Host: "localhost.evil.example", "Sec-Fetch-Site": "same-origin" },
    403,
  ],
  ["the session of a name that was pointed here", "GET /session", { Host: "evil.example" }, 403],
  ["an unknown path", "GET /v1/nowhere", { "Sec-Fetch-Site": "same-origin" }, 404],
  ["an unknown path, for another site", "GET /v1/nowhere", { "Sec-Fetch-Site": "cross-site" }, 403],
  [
    "another's cookie beside its own",
    "GET /v1/messages",
    { Cookie: "@cookie; @cookie", "Sec-Fetch-Site": "same-origin" },
    401,
  ],
  [
    "a cookie of another port",
    "GET /v1/messages",
    { Cookie: "tightbeam_1=tbs_x", "Sec-Fetch-Site": "same-origin" },
    401,
  ],
  [
    "an invented token",
    "GET /v1/messages",
    { Cookie: `@name=tbs_${"A".repeat(43)}`, "Sec-Fetch-Site": "same-origin" },
    401,
  ],
  [
    "the token of a link as that of a session",
    "GET /v1/messages",
    { Cookie: `@name=tbl_${"A".repeat(43)}`, "Sec-Fetch-Site": "same-origin" },
    401,
  ],
  ["an admin's route with a customer's session", "GET /v1/admin/keys", { "Sec-Fetch-Site": "same-origin" }, 403],
  ["a link for a session", "POST /session/links", { "Sec-Fetch-Site": "same-origin", "X-CSRF-Token": "@csrf" }, 403],
];

/** The session of all these requests. */
let shared: SignedIn | null = null;

for (const [what, line, headers, status] of REFUSALS) {
  test(`with a session, ${what} is a ${status}`, async () => {
    shared ??= await signIn(local, { key: local.key });
    const browser = shared;
    const host = `127.0.0.1:${local.service.port}`;
    const name = `tightbeam_${local.service.port}`;
    const fill = (text: string) =>
      text
        .replaceAll("@cookie", browser.cookie)
        .replaceAll("@csrf", browser.csrf)
        .replaceAll("@name", name)
        .replace(/^http:\/\/@$/, `http://${host}`);
    const filled = Object.fromEntries(Object.entries(headers).map(([key, value]) => [key, fill(value ?? "")]));
    const hosted = filled.Host === undefined ? {} : { Host: filled.Host };
    // The cookie's name follows the port of `Host`; a page under a foreign name would have none to send.
    const port = hosted.Host === undefined ? {} : { Cookie: `tightbeam_80=${browser.cookie.split("=")[1]}` };
    const answer = await send(local, line, { Cookie: browser.cookie, ...port, ...filled });
    assert.equal(answer.status, status, answer.body);
    assert.ok(!answer.body.includes("tbs_"));
  });
}
