/** The edge over a socket: the order of its checks, its headers and its envelope, as tables of scenarios. */

import assert from "node:assert/strict";
import { test } from "node:test";
import {
  ADMIN,
  AUTH,
  check,
  failureOf,
  GOOD,
  http,
  JSON_TYPE,
  KEYS,
  type Scenario,
  startEdge,
} from "../support/edge.ts";
import { ask } from "../support/socket.ts";

const POST = "POST /v1/messages";

/** Each row fails at two or more checks: the response must come from the earliest. */
const ORDER: Scenario[] = [
  { name: "key before route", request: http("GET /v1/none"), status: 401, code: "UNAUTHORIZED" },
  { name: "key before route, /v1 itself", request: http("GET /v1"), status: 401, code: "UNAUTHORIZED" },
  { name: "key before method", request: http("PATCH /v1/messages"), status: 401, code: "UNAUTHORIZED" },
  { name: "key before URL decoding", request: http("GET /v1/messages/%zz"), status: 401, code: "UNAUTHORIZED" },
  {
    name: "key before length",
    request: http(`GET /v1/messages/${"x".repeat(600)}`),
    status: 401,
    code: "UNAUTHORIZED",
  },
  { name: "key before content type and JSON", request: http(POST, [], "{"), status: 401, code: "UNAUTHORIZED" },
  { name: "malformed key", request: http(POST, ["Authorization: Bearer tb_x"]), status: 401, code: "UNAUTHORIZED" },
  { name: "other scheme", request: http(POST, ["Authorization: Basic dDp0"]), status: 401, code: "UNAUTHORIZED" },
  {
    name: "unknown key",
    request: http(POST, [`Authorization: Bearer tb_${"z".repeat(36)}`]),
    status: 401,
    code: "UNAUTHORIZED",
    headers: { "www-authenticate": "Bearer" },
  },
  ...[KEYS.revoked, KEYS.expired].map((key) => ({
    name: "revoked or expired key",
    request: http("GET /v1/messages", [`Authorization: Bearer ${key}`]),
    status: 401,
    code: "UNAUTHORIZED",
  })),
  { name: "route before scope", request: http("GET /v1/none", [ADMIN]), status: 404, code: "NOT_FOUND" },
  {
    name: "method before scope",
    request: http("PUT /v1/messages", [ADMIN], "{"),
    status: 405,
    code: "METHOD_NOT_ALLOWED",
    headers: { allow: "GET, HEAD, POST" },
  },
  { name: "scope before content type", request: http(POST, [ADMIN], "{"), status: 403, code: "FORBIDDEN" },
  {
    name: "customers have no admin routes",
    request: http("GET /v1/admin/keys", [AUTH]),
    status: 403,
    code: "FORBIDDEN",
  },
  {
    name: "content type before size",
    request: http(POST, [AUTH, "Content-Length: 9999999", "Content-Type: text/plain"]),
    status: 415,
    code: "UNSUPPORTED_MEDIA_TYPE",
  },
  { name: "no content type", request: http(POST, [AUTH], GOOD), status: 415, code: "UNSUPPORTED_MEDIA_TYPE" },
  {
    name: "encoded body",
    request: http(POST, [AUTH, JSON_TYPE, "Content-Encoding: gzip"], GOOD),
    status: 415,
    code: "UNSUPPORTED_MEDIA_TYPE",
  },
  {
    name: "another charset than that of JSON",
    request: http(POST, [AUTH, "Content-Type: application/json; charset=iso-8859-1"], GOOD),
    status: 415,
    code: "UNSUPPORTED_MEDIA_TYPE",
  },
  {
    name: "UTF-16, quoted, after another parameter",
    request: http(POST, [AUTH, 'Content-Type: application/json; a=b ;Charset="UTF-16"'], GOOD),
    status: 415,
    code: "UNSUPPORTED_MEDIA_TYPE",
  },
  {
    name: "UTF-8 by any of its names, and a byte order mark",
    request: http(POST, [AUTH, 'Content-Type: Application/JSON;charset="Utf-8"'], '\ufeff{"to":1}'),
    status: 400,
    code: "VALIDATION_ERROR",
    paths: ["to", "content"],
  },
  {
    name: "a name twice before fields",
    request: http(
      POST,
      [AUTH, "Content-Type: application/json;charset=utf8"],
      '{"to":1,"content":{"text":"a","text":"b"}}',
    ),
    status: 400,
    code: "INVALID_JSON",
    paths: ["content.text"],
  },
  {
    name: "size before JSON",
    request: http(POST, [AUTH, JSON_TYPE], "{".repeat(262_145)),
    status: 413,
    code: "PAYLOAD_TOO_LARGE",
  },
  {
    name: "depth",
    request: http(POST, [AUTH, JSON_TYPE], "[".repeat(33) + "]".repeat(33)),
    status: 413,
    code: "PAYLOAD_TOO_LARGE",
  },
  {
    name: "JSON before fields of the query",
    request: http(`${POST}?x=1`, [AUTH, JSON_TYPE], '{"to":'),
    status: 400,
    code: "INVALID_JSON",
  },
  {
    name: "all fields of query and body at once",
    request: http(`${POST}?x=1`, [AUTH, JSON_TYPE], '{"to":1,"y":2}'),
    status: 400,
    code: "VALIDATION_ERROR",
    paths: ["x", "to", "content", "y"],
  },
];

test("checks run in their documented order, and each refusal is in the envelope", async (t) => {
  const { port } = await startEdge(t);
  for (const scenario of ORDER) check(await ask(port, scenario.request), scenario);
});

test("a request with Basic authentication is told to send its key as a bearer", async (t) => {
  const { port } = await startEdge(t);
  const { body } = await ask(port, http(POST, ["Authorization: Basic dDp0"]));
  assert.match(
    String(body),
    /Basic authentication is not accepted\. Send your key in the header Authorization: Bearer/,
  );
});

const ANSWERS: Scenario[] = [
  { name: "raw data", request: http("GET /v1/raw", [AUTH]), status: 200, data: [{ id: "evt_1" }] },
  { name: "data is always there", request: http("GET /v1/nothing", [AUTH]), status: 200, data: null },
  { name: "any scope", request: http("GET /v1/nothing", [ADMIN]), status: 200, data: null },
  { name: "admin", request: http("GET /v1/admin/keys", [ADMIN]), status: 200, data: { keys: [] } },
  { name: "scheme in any case", request: http("GET /v1/nothing", [AUTH.replace("Bearer", "bEARER")]), status: 200 },
  { name: "absolute form", request: http("GET http://x/v1/nothing?", [AUTH]), status: 200, data: null },
  { name: "a refusal of a handler", request: http("GET /v1/refused", [AUTH]), status: 404, code: "REPLY_NOT_FOUND" },
  {
    name: "defaults of a query",
    request: http("GET /v1/messages?to=+15005550100&active=true", [AUTH]),
    status: 200,
    data: { to: "+15005550100", active: true, limit: 50 },
  },
  {
    name: "no plus at all",
    request: http("GET /v1/messages?to=%2015005550100", [AUTH]),
    status: 200,
    data: { to: "+15005550100", limit: 50 },
  },
  {
    name: "encoded plus",
    request: http("GET /v1/messages?to=%2B15005550100", [AUTH]),
    status: 200,
    data: { to: "+15005550100", limit: 50 },
  },
  {
    name: "unknown parameters",
    request: http("GET /v1/messages?a=1&__proto__=2&constructor=3", [AUTH]),
    status: 400,
    code: "VALIDATION_ERROR",
    paths: ["a", "__proto__", "constructor"],
  },
  ...["0", "101", "x", "", "1.5", "-1", "5&limit=6", "%00"].map((limit) => ({
    name: `limit ${limit}`,
    request: http(`GET /v1/messages?limit=${limit}`, [AUTH]),
    status: 400,
    code: "VALIDATION_ERROR",
    paths: ["limit"],
  })),
  {
    name: "a parameter of 512 characters",
    request: http(`GET /v1/messages/${"x".repeat(512)}`, [AUTH]),
    status: 200,
    data: "x".repeat(512),
  },
  {
    name: "one of 513",
    request: http(`GET /v1/messages/${"x".repeat(513)}`, [AUTH]),
    status: 414,
    code: "URI_TOO_LONG",
  },
  { name: "decoded parameter", request: http("GET /v1/messages/a%2Fb%2B", [AUTH]), status: 200, data: "a/b+" },
  {
    name: "a long address",
    request: http(`GET /v1/messages?x=${"x".repeat(9_000)}`, [AUTH]),
    status: 414,
    code: "URI_TOO_LONG",
  },
  { name: "bad encoding", request: http("GET /v1/messages/%c3%28", [AUTH]), status: 400, code: "VALIDATION_ERROR" },
  { name: "bad encoding elsewhere", request: http("GET /x/%zz"), status: 400, code: "VALIDATION_ERROR" },
  { name: "NUL is no id", request: http("GET /v1/messages/%00", [AUTH]), status: 404, code: "NOT_FOUND" },
  { name: "trailing slash", request: http("GET /v1/messages/", [AUTH]), status: 404, code: "NOT_FOUND" },
  { name: "outside of /v1", request: http("GET /nothing"), status: 404, code: "NOT_FOUND" },
  { name: "like /v1", request: http("GET /v1x/messages"), status: 404, code: "NOT_FOUND" },
  { name: "the asterisk", request: http("OPTIONS *"), status: 404, code: "NOT_FOUND" },
  {
    name: "no CORS",
    request: http("OPTIONS /v1/messages", [AUTH, "Origin: https://x"]),
    status: 405,
    code: "METHOD_NOT_ALLOWED",
  },
  {
    name: "an unknown upgrade is ignored",
    request: http("GET /v1/nothing", [AUTH, "Upgrade: websocket", "Connection: Upgrade"]),
    status: 200,
  },
  {
    name: "an unknown expectation is ignored",
    request: http("GET /v1/nothing", [AUTH, "Expect: miracles"]),
    status: 200,
  },
  { name: "HTTP/1.0 without a host", request: `GET /v1/nothing HTTP/1.0\r\n${AUTH}\r\n\r\n`, status: 200 },
];

test("every response is in the envelope, and every error names the problem", async (t) => {
  const { port } = await startEdge(t);
  for (const scenario of ANSWERS) check(await ask(port, scenario.request), scenario);
});

test("fixed path words are never ids", async (t) => {
  const { port } = await startEdge(t);
  const rows: [string, number, string | undefined][] = [
    ["GET /v1/messages/scheduled", 200, undefined],
    ["DELETE /v1/messages/scheduled", 405, "GET, HEAD"],
    ["GET /v1/messages/carousel", 405, "POST"],
    ["GET /v1/messages/bulk", 404, undefined],
    ["POST /v1/messages/list/retry", 404, undefined],
    ["GET /v1/messages/sched%75led", 200, undefined],
    ["DELETE /v1/messages/sched%75led", 405, "GET, HEAD"],
  ];
  for (const [line, status, allow] of rows) {
    const answer = await ask(port, http(line, [AUTH]));
    assert.deepEqual([answer.status, answer.headers.allow], [status, allow], line);
    if (status >= 400) failureOf(status, answer.body);
  }
});

test("an empty body with a content type counts as no body, on every method", async (t) => {
  const { port } = await startEdge(t);
  for (const type of [JSON_TYPE, "Content-Type: text/plain", "Content-Type: nonsense;;"]) {
    for (const length of [[], ["Content-Length: 0"], ["Transfer-Encoding: chunked"]]) {
      const end = length[0]?.startsWith("Transfer") ? "0\r\n\r\n" : "";
      for (const line of ["GET /v1/nothing", "DELETE /v1/messages/msg_1", "POST /v1/messages/msg_1/retry"]) {
        const answer = await ask(port, http(line, [AUTH, type, ...length]) + end);
        assert.equal(answer.status, 200, `${line} ${type} ${length}: ${answer.body}`);
      }
    }
  }
});

test("a route without a body accepts {} and refuses any field by name, on DELETE too", async (t) => {
  const { port } = await startEdge(t);
  for (const line of ["GET /v1/nothing", "DELETE /v1/messages/msg_1", "POST /v1/messages/msg_1/retry"]) {
    assert.equal((await ask(port, http(line, [AUTH, JSON_TYPE], " { } "))).status, 200, line);
    const scenario = { name: line, status: 400, code: "VALIDATION_ERROR", paths: ["a", "__proto__"], request: "" };
    check(await ask(port, http(line, [AUTH, JSON_TYPE], '{"a":1,"__proto__":2}')), scenario);
    check(await ask(port, http(line, [AUTH, JSON_TYPE], "[]")), { ...scenario, paths: ["body"] });
    check(await ask(port, http(line, [AUTH, JSON_TYPE], "{")), {
      name: line,
      status: 400,
      code: "INVALID_JSON",
      request: "",
    });
  }
});

test("HEAD returns the headers of GET without the body", async (t) => {
  const { port } = await startEdge(t);
  for (const [path, status] of [
    ["/v1/raw", 200],
    ["/v1/stream", 200],
    ["/v1/none", 404],
    ["/v1/messages/carousel", 405],
  ] as const) {
    const answer = await ask(port, http(`HEAD ${path}`, [AUTH]), { head: true });
    assert.deepEqual([answer.status, answer.body], [status, ""], path);
    assert.ok(answer.raw.endsWith("\r\n\r\n"), path);
    assert.ok(answer.headers["x-request-id"], path);
  }
});
