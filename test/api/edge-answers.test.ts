/** Answers of the edge beside their data: caches, compression, cursors of lists, and addresses without `/v1`. */

import assert from "node:assert/strict";
import { test } from "node:test";
import { brotliDecompressSync, gunzipSync } from "node:zlib";
import { publicRoute, route } from "../../server/api/route.ts";
import { ADMIN, AUTH, failureOf, GOOD, http, JSON_TYPE, STUBS, startEdge } from "../support/edge.ts";
import { ask } from "../support/socket.ts";

const LIST = "/v1/chats/chat_1/messages";
const KEY = { authorization: AUTH.replace(/^\w+: /, "") };

test("an answer to a key stays in no cache, whatever it says", async (t) => {
  const metrics = publicRoute({
    method: "GET",
    path: "/metrics",
    handle: () => ({ contentType: "text/plain", body: "up 1" }),
  });
  const { port } = await startEdge(t, { routes: [...STUBS, metrics] });
  const rows: [request: string, status: number, cached: string | undefined][] = [
    [http("GET /v1/messages/msg_1", [AUTH]), 200, "no-store"],
    [http("POST /v1/messages", [AUTH, JSON_TYPE], GOOD), 202, "no-store"],
    [http("GET /v1/admin/keys", [ADMIN]), 200, "no-store"],
    [http("GET /v1/refused", [AUTH]), 404, "no-store"],
    [http("GET /v1/none", [AUTH]), 404, "no-store"],
    [http("GET /v1/messages"), 401, "no-store"],
    [http("GET /v1/broken", [AUTH]), 500, "no-store"],
    [http("GET /metrics", [ADMIN]), 200, "no-store"],
    [http("GET /metrics"), 200, undefined],
  ];
  for (const [request, status, cached] of rows) {
    const answer = await ask(port, request);
    assert.deepEqual([answer.status, answer.headers["cache-control"]], [status, cached], request);
  }
});

test("an answer from 1 KiB on is compressed for who asks, unless it holds a key or a secret", async (t) => {
  const secret = (name: string) =>
    route({
      method: "GET",
      path: `/v1/${name}`,
      scope: "messages",
      handle: () => ({ data: { [name]: "x".repeat(40), text: "y".repeat(4_000), quoted: '"key":' } }),
    });
  const { app } = await startEdge(t, { routes: [...STUBS, secret("key"), secret("secret"), secret("harmless")] });
  const ofList = async (accept: string | undefined, path = LIST) => {
    const headers = { ...KEY, ...(accept === undefined ? {} : { "accept-encoding": accept }) };
    const { rawPayload, headers: got, payload } = await app.inject({ method: "GET", url: path, headers });
    return {
      bytes: rawPayload,
      text: payload,
      encoding: got["content-encoding"],
      length: got["content-length"],
      vary: got.vary,
    };
  };
  const plain = await ofList(undefined);
  assert.deepEqual([plain.encoding, plain.vary], [undefined, "Accept-Encoding"]);
  const inside = (text: string) => JSON.parse(text).data;
  for (const [accept, encoding, decompress] of [
    ["gzip, deflate, br", "br", brotliDecompressSync],
    ["gzip", "gzip", gunzipSync],
    ["br;q=0, *;q=0.5", "gzip", gunzipSync],
  ] as const) {
    const answer = await ofList(accept);
    assert.deepEqual([answer.encoding, answer.length], [encoding, String(answer.bytes.length)], accept);
    assert.ok(answer.bytes.length < plain.bytes.length);
    assert.deepEqual(inside(decompress(answer.bytes).toString()), inside(plain.text));
  }
  for (const accept of ["identity", "gzip;q=0", "deflate", ""])
    assert.equal((await ofList(accept)).encoding, undefined, accept);
  for (const path of [`${LIST}?limit=5`, "/v1/key", "/v1/secret", "/v1/stream"]) {
    assert.equal((await ofList("gzip", path)).encoding, undefined, path);
  }
  assert.equal((await ofList("gzip", "/v1/harmless")).encoding, "gzip");
  const head = await app.inject({ method: "HEAD", url: LIST, headers: { ...KEY, "accept-encoding": "gzip" } });
  assert.deepEqual([head.payload, head.headers["content-encoding"]], ["", "gzip"]);
});

test("a cursor begins a page of its own list and filters alone", async (t) => {
  const { port } = await startEdge(t);
  const get = async (target: string) => JSON.parse((await ask(port, http(`GET ${target}`, [AUTH]))).body);
  const { data } = await get(`${LIST}?status=failed&limit=1`);
  const { nextCursor } = data.pagination;
  assert.equal((await get(`${LIST}?status=failed&cursor=${nextCursor}`)).data.at, "bmV4dA", "another limit");
  const raw = await get("/v1/events");
  assert.equal((await get(`/v1/events?cursor=${raw.data.pagination.nextCursor}`)).data.events[1].cursor, "bmV4dA");
  for (const target of [
    `${LIST}?cursor=${nextCursor}`,
    `${LIST}?status=sent&cursor=${nextCursor}`,
    `/v1/chats/chat_2/messages?status=failed&cursor=${nextCursor}`,
    `/v1/events?cursor=${nextCursor}`,
    `${LIST}?status=failed&cursor=bmV4dA`,
    `${LIST}?status=failed&cursor=%00`,
  ]) {
    const { error } = await get(target);
    assert.deepEqual([error.code, error.details[0].path], ["VALIDATION_ERROR", "cursor"], target);
  }
});

test("an address of the API without /v1 is a 404 that names the right one, before the key is looked at", async (t) => {
  const { port } = await startEdge(t);
  for (const [line, named] of [
    ["GET /messages", "/v1/messages"],
    ["PUT /messages?limit=5", "/v1/messages"],
    ["POST /messages/msg_1/retry", "/v1/messages/msg_1/retry"],
    ["GET /admin/keys", "/v1/admin/keys"],
  ] as const) {
    const { status, body } = await ask(port, http(line));
    const { error } = failureOf(status, body);
    assert.deepEqual([status, error.code], [404, "NOT_FOUND"], line);
    assert.ok(error.message.includes(`Use "${named}".`), error.message);
  }
  for (const line of ["GET /none", "GET /messages/list/retry", "GET /v2/messages"]) {
    const { status, body } = await ask(port, http(line));
    assert.doesNotMatch(failureOf(status, body).error.message, /v1/, line);
  }
  const page = await ask(port, http("GET /messages", ["Accept: text/html"]));
  assert.doesNotMatch(page.body, /v1/);
});
