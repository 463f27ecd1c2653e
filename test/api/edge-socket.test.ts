/** The edge below the level of requests: bytes that are no HTTP, slow and huge clients, odd methods, pipelines. */

import assert from "node:assert/strict";
import { METHODS as NODE_METHODS } from "node:http";
import { connect } from "node:net";
import { test } from "node:test";
import { ADMIN, AUTH, failureOf, GOOD, http, JSON_TYPE, startEdge } from "../support/edge.ts";
import { ask, type RawAnswer } from "../support/socket.ts";
import { until } from "../support/wait.ts";

const SHORT = { headersMs: 150, requestMs: 300, checkMs: 25 };
const POST = "POST /v1/messages";

function checkFailure(answer: RawAnswer, status: number, code: string, name: string): void {
  assert.equal(answer.status, status, `${name}: ${answer.raw}`);
  const failure = failureOf(status, answer.body);
  assert.equal(failure.error.code, code, name);
  assert.equal(answer.headers["x-request-id"], failure.requestId, name);
  assert.equal(answer.headers["content-type"], "application/json; charset=utf-8", name);
}

const V1 = `GET /v1/nothing HTTP/1.1\r\nHost: x\r\n${AUTH}\r\n`;
const UPLOAD = `${POST} HTTP/1.1\r\nHost: x\r\n${AUTH}\r\n${JSON_TYPE}\r\n`;

const UNPARSABLE: [string, string][] = [
  ["garbage", "\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03\r\n\r\n"],
  ["text", "hello\r\n\r\n"],
  ["unknown method", "FROB / HTTP/1.1\r\nHost: x\r\n\r\n"],
  ["lower-case method", "get / HTTP/1.1\r\nHost: x\r\n\r\n"],
  ["HTTP/0.9", "GET /\r\n\r\n"],
  ["version", "GET / HTTP/9.9\r\nHost: x\r\n\r\n"],
  ["HTTP/2 preface", "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n"],
  ["control character in a header", `${V1}X-A: a\x01b\r\n\r\n`],
  ["NUL in a header", `${V1}X-A: a\0b\r\n\r\n`],
  ["CR alone in a header", `${V1}X-A: a\rb\r\n\r\n`],
  ["space before the colon", `${V1}X-A : b\r\n\r\n`],
  ["no colon", `${V1}X-A\r\n\r\n`],
  ["control character in the address", "GET /v1/\x01 HTTP/1.1\r\nHost: x\r\n\r\n"],
  ["length and chunks", `${UPLOAD}Content-Length: 5\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n`],
  ["two lengths", `${UPLOAD}Content-Length: 2\r\nContent-Length: 3\r\n\r\n{}`],
  ["a length that is none", `${UPLOAD}Content-Length: x\r\n\r\n{}`],
  ["a negative length", `${UPLOAD}Content-Length: -1\r\n\r\n{}`],
  ["unknown transfer encoding", `${UPLOAD}Transfer-Encoding: xchunked\r\n\r\n0\r\n\r\n`],
  ["a chunk size that is none", `${UPLOAD}Transfer-Encoding: chunked\r\n\r\nxyz\r\n{}\r\n0\r\n\r\n`],
  ["a chunk that is too long", `${UPLOAD}Transfer-Encoding: chunked\r\n\r\n2\r\n{}}\r\n0\r\n\r\n`],
  ["no host", `GET /v1/nothing HTTP/1.1\r\n${AUTH}\r\n\r\n`],
  ["two hosts", `${V1}Host: y\r\n\r\n`],
];

test("bytes that are not HTTP get a 400 in the envelope", async (t) => {
  const { port } = await startEdge(t);
  for (const [name, bytes] of UNPARSABLE) {
    checkFailure(await ask(port, Buffer.from(bytes, "latin1")), 400, "VALIDATION_ERROR", name);
  }
});

test("a truncated request gets a 400 in the envelope, or no response", async (t) => {
  const { port, lines } = await startEdge(t);
  checkFailure(await ask(port, V1, { cut: true }), 400, "VALIDATION_ERROR", "cut head");
  checkFailure(
    await ask(port, `${UPLOAD}Content-Length: 50\r\n\r\n{"to"`, { cut: true }),
    400,
    "VALIDATION_ERROR",
    "cut body",
  );
  assert.ok(
    lines.every(({ event }) => event === "request"),
    JSON.stringify(lines),
  );
});

test("headers that are too large get 431 and a URL that is too long gets 414, in any chunks", async (t) => {
  const { port } = await startEdge(t);
  const rows: [string, number, string, string][] = [
    ["17 KB of a header", 431, "HEADERS_TOO_LARGE", `${V1}X-A: ${"a".repeat(17_000)}\r\n\r\n`],
    ["17 KB of headers", 431, "HEADERS_TOO_LARGE", `${V1}${`X-A: ${"a".repeat(100)}\r\n`.repeat(170)}\r\n`],
    ["600 headers", 431, "HEADERS_TOO_LARGE", `${V1}${"a:\r\n".repeat(600)}\r\n`],
    ["5,000 headers", 431, "HEADERS_TOO_LARGE", `${V1}${"a:\r\n".repeat(5_000)}\r\n`],
    ["a header without end", 431, "HEADERS_TOO_LARGE", `${V1}X-A: ${"a".repeat(200_000)}`],
    ["9 KB of address", 414, "URI_TOO_LONG", http(`GET /v1/${"a".repeat(9_000)}`)],
    ["60 KB of address", 414, "URI_TOO_LONG", http(`GET /${"a".repeat(60_000)}`)],
    ["an address without end", 414, "URI_TOO_LONG", `GET /${"a".repeat(50_000)}`],
  ];
  for (const [name, status, code, bytes] of rows) checkFailure(await ask(port, bytes), status, code, name);
});

test("a client that is too slow with its headers or body gets 408", async (t) => {
  const { port, lines } = await startEdge(t, { timeouts: SHORT });
  checkFailure(await ask(port, "GET / HT"), 408, "REQUEST_TIMEOUT", "headers");
  checkFailure(await ask(port, ""), 408, "REQUEST_TIMEOUT", "nothing at all");
  checkFailure(await ask(port, `${UPLOAD}Content-Length: 50\r\n\r\n{"to"`), 408, "REQUEST_TIMEOUT", "body");
  await until(() => lines.length === 4, { what: "a line for each, and one for the request that was cut off" });
  assert.deepEqual(lines.map(({ fields }) => fields.status).sort(), [408, 408, 408, 499]);
});

test("an endless refused body is cut off in time, and gets one response", async (t) => {
  const { port } = await startEdge(t, { timeouts: SHORT });
  const socket = connect({ port, host: "127.0.0.1" });
  let received = "";
  socket.on("data", (chunk) => {
    received += String(chunk);
  });
  socket.on("error", () => {});
  socket.write(`${POST} HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\n`);
  const timer = setInterval(() => socket.write("1\r\n \r\n"), 10);
  t.after(() => clearInterval(timer));
  await until(() => socket.destroyed || socket.closed, { what: "the end of the connection" });
  assert.equal(received.match(/HTTP\/1\.1 /g)?.length, 1, received);
  assert.match(received, /^HTTP\/1\.1 401 /);
});

test("every parsable method gets a response in the envelope", async (t) => {
  const { port } = await startEdge(t);
  for (const method of NODE_METHODS) {
    if (["CONNECT", "GET", "POST"].includes(method)) continue;
    const head = method === "HEAD";
    const unknown = await ask(port, http(`${method} /v1/nothing`), { head });
    assert.equal(unknown.status, 401, method);
    const known = await ask(port, http(`${method} /v1/nothing`, [AUTH]), { head });
    if (head) assert.equal(known.status, 200);
    else checkFailure(known, 405, "METHOD_NOT_ALLOWED", method);
    if (!head) assert.equal(known.headers.allow, "GET, HEAD", method);
    if (!head) checkFailure(await ask(port, http(`${method} /x`, [JSON_TYPE], "{")), 404, "NOT_FOUND", method);
  }
  const tunnel = await ask(port, "CONNECT example.com:443 HTTP/1.1\r\nHost: example.com:443\r\n\r\n");
  checkFailure(tunnel, 405, "METHOD_NOT_ALLOWED", "CONNECT");
  assert.equal(tunnel.headers.allow, "GET, POST, PUT, PATCH, DELETE");
});

test("a client that sends 30 MB can read its 413, with Content-Length and in chunks", async (t) => {
  const { port } = await startEdge(t);
  const big = Buffer.alloc(30_000_000, 0x20);
  const auth = { authorization: AUTH.slice("Authorization: ".length), "content-type": "application/json" };
  for (const [path, headers, status] of [
    ["/v1/messages", auth, 413],
    ["/v1/messages/carousel", auth, 413],
    ["/v1/messages", { "content-type": "application/json" }, 401],
    ["/v1/none", auth, 404],
    ["/v1/messages", { ...auth, "content-type": "image/png" }, 415],
  ] as const) {
    const url = `http://127.0.0.1:${port}${path}`;
    const whole = await fetch(url, { method: "POST", headers, body: big });
    assert.equal(failureOf(status, await whole.text()).success, false, path);
    const init = { method: "POST", headers, body: new Blob([big]).stream(), duplex: "half" } as RequestInit;
    const chunked = await fetch(url, init);
    assert.equal(failureOf(status, await chunked.text()).success, false, path);
  }
});

test("bodies are limited to 256 KiB, or 10 MiB on routes with attachments", async (t) => {
  const { port } = await startEdge(t);
  const bodyOf = (bytes: number) => `{"text":"${"x".repeat(bytes - 11)}"}`;
  const post = (path: string, bytes: number) => ask(port, http(`POST ${path}`, [AUTH, JSON_TYPE], bodyOf(bytes)));
  assert.equal((await post("/v1/messages", 262_144)).status, 400);
  assert.equal((await post("/v1/messages", 262_145)).status, 413);
  assert.equal((await post("/v1/messages/carousel", 10_485_760)).status, 200);
  assert.equal((await post("/v1/messages/carousel", 10_485_761)).status, 413);
});

test("600,000 unknown fields are refused without blocking the service", async (t) => {
  const { port } = await startEdge(t);
  const body = `{${Array.from({ length: 600_000 }, (_, index) => `"k${index}":1`).join(",")}}`;
  const startedAt = performance.now();
  checkFailure(
    await ask(port, http("POST /v1/messages/carousel", [AUTH, JSON_TYPE], body)),
    413,
    "PAYLOAD_TOO_LARGE",
    "fields",
  );
  assert.ok(performance.now() - startedAt < 5_000);
});

test("100 Continue is sent if the body will be read, otherwise the refusal", async (t) => {
  const { port } = await startEdge(t);
  const expecting = (headers: string[]) =>
    http(POST, [...headers, "Expect: 100-continue", `Content-Length: ${GOOD.length}`]);
  const refused = await ask(port, expecting([JSON_TYPE]));
  checkFailure(refused, 401, "UNAUTHORIZED", "no key");
  assert.ok(!refused.raw.includes("100 Continue"));
  const taken = await ask(port, expecting([AUTH, JSON_TYPE]) + GOOD);
  assert.equal(taken.status, 202);
  assert.ok(taken.raw.startsWith("HTTP/1.1 100 Continue\r\n\r\n"), taken.raw);
});

test("invalid bytes after a valid request get their 400 after its response", async (t) => {
  const { port } = await startEdge(t, { authenticate: async () => null });
  const both = `${http("GET /v1/nothing", [AUTH])}garbage\r\n\r\n`;
  const second = await ask(port, both, { answers: 2 });
  assert.match(second.raw, /^HTTP\/1\.1 401 /);
  checkFailure(second, 400, "VALIDATION_ERROR", "garbage");
});

test("pipelined requests, also after a refused body, get responses in order on one connection", async (t) => {
  const { port } = await startEdge(t);
  const refused = http(POST, [JSON_TYPE], GOOD);
  const last = await ask(port, refused + http("GET /v1/raw", [AUTH]) + http("GET /v1/admin/keys", [ADMIN]), {
    answers: 3,
  });
  assert.deepEqual(last.raw.match(/HTTP\/1\.1 \d+/g), ["HTTP/1.1 401", "HTTP/1.1 200", "HTTP/1.1 200"]);
  assert.ok(last.body.includes('"keys":[]'));
});

test("a client that disconnects in the middle of its body is logged and gets no response", async (t) => {
  const { port, lines } = await startEdge(t);
  const socket = connect({ port, host: "127.0.0.1" });
  socket.on("error", () => {});
  socket.write(`${UPLOAD}Content-Length: 50\r\n\r\n{"to"`);
  await new Promise((resolve) => socket.once("connect", resolve));
  await ask(port, http("GET /v1/nothing", [AUTH]));
  socket.resetAndDestroy();
  await until(() => lines.some(({ fields }) => fields.status === 499), { what: "the line of the request" });
});
