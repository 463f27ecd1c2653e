/** Every response of the edge: ids, rate limit, Retry-After, the log line, and faults that reveal nothing of the inside. */

import assert from "node:assert/strict";
import { test } from "node:test";
import { ADMIN, AUTH, check, failureOf, GOOD, http, JSON_TYPE, KEYS, startEdge } from "../support/edge.ts";
import { ask, type RawAnswer } from "../support/socket.ts";

const POST = "POST /v1/messages";

test("valid X-Request-Id and X-Correlation-Id headers are echoed, invalid ones replaced", async (t) => {
  const { port } = await startEdge(t);
  const good = ["a", "my-id_1.2:3", "x".repeat(128)];
  for (const id of good) {
    const answer = await ask(port, http("GET /v1/nothing", [AUTH, `X-Request-Id: ${id}`]));
    assert.equal(JSON.parse(answer.body).requestId, id);
  }
  for (const id of ["", "x".repeat(129), "a b", "a/b", "é", '"', "a\r\nX-Request-Id: b"]) {
    const answer = await ask(port, http("GET /v1/nothing", [AUTH, `X-Request-Id: ${id}`]));
    assert.match(answer.headers["x-request-id"] ?? "", /^req_[0-9a-f]{8}-[0-9a-f]{4}-7[0-9a-f-]{21}$/, id);
    assert.equal(JSON.parse(answer.body).requestId, answer.headers["x-request-id"]);
  }
  const correlation = `cor_${"0f".repeat(16)}`;
  const post = (id: string) => ask(port, http(POST, [AUTH, JSON_TYPE, `X-Correlation-Id: ${id}`], GOOD));
  const kept = await post(correlation);
  assert.equal(kept.headers["x-correlation-id"], correlation);
  assert.equal(JSON.parse(kept.body).data.correlationId, correlation);
  for (const id of ["cor_1", `${correlation}0`, "x"])
    assert.match((await post(id)).headers["x-correlation-id"] ?? "", /^cor_[0-9a-f]{32}$/);
});

test("two Authorization headers are a 400, whichever of them would be valid", async (t) => {
  const { port } = await startEdge(t);
  for (const [first, second] of [
    [AUTH, ADMIN],
    [AUTH, AUTH],
    [ADMIN, "authorization: Basic x"],
    ["AUTHORIZATION: x", AUTH],
  ] as const) {
    const answer = await ask(port, http("GET /v1/nothing", [first, "X-Between: 1", second]));
    const { error } = failureOf(answer.status, answer.body);
    assert.deepEqual([error.code, error.details?.[0]?.path], ["VALIDATION_ERROR", "Authorization"]);
  }
  assert.equal((await ask(port, http("GET /v1/nothing", [AUTH]))).status, 200);
});

test("every authenticated response has rate limit headers, and a 429 has Retry-After", async (t) => {
  const { port, counted } = await startEdge(t, { rateLimit: { limit: 3, windowSeconds: 60 } });
  const lines = ["GET /v1/nothing", "GET /v1/none", "PUT /v1/messages", "GET /v1/nothing", "GET /v1/none"];
  const answers: RawAnswer[] = [];
  for (const line of lines) answers.push(await ask(port, http(line, [AUTH])));
  assert.deepEqual(
    answers.map(({ status }) => status),
    [200, 404, 405, 429, 429],
  );
  assert.deepEqual(
    answers.map(({ headers }) => headers["x-ratelimit-remaining"]),
    ["2", "1", "0", "0", "0"],
  );
  assert.deepEqual([...new Set(answers.map(({ headers }) => headers["x-ratelimit-limit"]))], ["3"]);
  const resetIn = Number(answers[3]?.headers["x-ratelimit-reset"]) - Date.now() / 1000;
  assert.ok(resetIn > 50 && resetIn <= 61, String(resetIn));
  const last = answers[3];
  assert.ok(last !== undefined);
  const wait = last.headers["retry-after"];
  assert.match(wait ?? "", /^(60|59|5\d)$/);
  const { error } = failureOf(429, last.body);
  assert.ok(error.message.includes(`${wait} s`), error.message);
  assert.deepEqual(
    counted.map(({ limited }) => limited),
    [false, false, false, true, true],
  );
  const unknown = await ask(port, http("GET /v1/nothing"));
  assert.equal(unknown.headers["x-ratelimit-limit"], undefined);
  const admin = await ask(port, http("GET /v1/admin/keys", [ADMIN]));
  assert.equal(admin.headers["x-ratelimit-remaining"], "2", "a window for each key");
});

test("overload refuses writes before authentication; reads and admin requests continue", async (t) => {
  const { port } = await startEdge(t, { overloadSeconds: () => 7 });
  const refused = await ask(port, http(POST));
  check(refused, {
    name: "overload",
    request: "",
    status: 503,
    code: "SERVICE_UNAVAILABLE",
    headers: { "retry-after": "7" },
  });
  assert.equal((await ask(port, http("GET /v1/nothing", [AUTH]))).status, 200);
  assert.equal((await ask(port, http("POST /v1/admin/keys", [ADMIN]))).status, 200);
});

test("a service that shuts down refuses everything under /v1 and closes the connection", async (t) => {
  const { port } = await startEdge(t, { isClosing: () => true });
  for (const line of [POST, "GET /v1/none", "GET /v1/messages/%zz"]) {
    const headers = { "retry-after": "5", connection: "close" };
    check(await ask(port, http(line)), { name: line, request: "", status: 503, code: "SERVICE_UNAVAILABLE", headers });
  }
});

test("Idempotency-Key may be a header or a field, and is a 400 if they differ", async (t) => {
  const { port } = await startEdge(t);
  const post = (header: string | null, field: string | null) => {
    const body = { to: "+12", content: { text: "hi" }, ...(field === null ? {} : { idempotencyKey: field }) };
    return ask(
      port,
      http(POST, [AUTH, JSON_TYPE, ...(header === null ? [] : [`Idempotency-Key: ${header}`])], JSON.stringify(body)),
    );
  };
  const keyOf = async (header: string | null, field: string | null) =>
    JSON.parse((await post(header, field)).body).data.idempotencyKey;
  assert.equal(await keyOf(null, null), null);
  assert.equal(await keyOf("a b", null), "a b");
  assert.equal(await keyOf(null, "ü"), "ü");
  assert.equal(await keyOf("k", "k"), "k");
  const rows: [string | null, string | null, string][] = [
    ["k", "l", "idempotencyKey"],
    ["x".repeat(256), null, "Idempotency-Key"],
    ["é", null, "Idempotency-Key"],
    ["", null, "Idempotency-Key"],
    [null, "x".repeat(256), "idempotencyKey"],
    [null, "", "idempotencyKey"],
  ];
  for (const [header, field, path] of rows) {
    check(await post(header, field), {
      name: `${header} ${field}`,
      request: "",
      status: 400,
      code: "VALIDATION_ERROR",
      paths: [path],
    });
  }
});

test("an exception is a 500 that reveals no internals, and is logged with its cause", async (t) => {
  const { port, lines } = await startEdge(t);
  const answer = await ask(port, http("GET /v1/broken", [AUTH]));
  check(answer, { name: "broken", request: "", status: 500, code: "INTERNAL_ERROR" });
  assert.ok(!/SELECT|TypeError|\/var/.test(answer.raw), answer.raw);
  const line = lines.find(({ event }) => event === "request failed");
  assert.ok(line?.fields.error instanceof TypeError);
  assert.equal(line.fields.requestId, answer.headers["x-request-id"]);
});

test("the log has one line per request, with the route's pattern, without path, key or number", async (t) => {
  const { port, lines, counted } = await startEdge(t);
  await ask(port, http("GET /v1/messages/+15005550100?to=+15005550100", [AUTH]));
  await ask(port, http("GET /v1/+15005550100", [AUTH]));
  await ask(port, http("GET /v1/messages/+15005550100"));
  const requests = lines.filter(({ event }) => event === "request");
  assert.deepEqual(
    requests.map(({ fields }) => [fields.route, fields.status, fields.keyId]),
    [
      ["/v1/messages/:id", 400, "key_customer"],
      [undefined, 404, "key_customer"],
      ["/v1/messages/:id", 401, null],
    ],
  );
  assert.equal(lines.length, 3);
  assert.ok(!/1500555|tb_/.test(JSON.stringify(lines)));
  assert.deepEqual(
    counted.map(({ route, status, customerId }) => [route, status, customerId]),
    [
      ["/v1/messages/:id", 400, "cust_1"],
      [null, 404, "cust_1"],
      ["/v1/messages/:id", 401, null],
    ],
  );
});

test("an event stream has the ids in its headers and no envelope", async (t) => {
  const { port } = await startEdge(t, { rateLimit: { limit: 3, windowSeconds: 60 } });
  const response = await fetch(`http://127.0.0.1:${port}/v1/stream`, {
    headers: { authorization: `Bearer ${KEYS.customer}` },
  });
  assert.equal(await response.text(), ": hi\n\n");
  assert.equal(response.headers.get("content-type"), "text/event-stream");
  assert.equal(response.headers.get("x-ratelimit-remaining"), "2");
  assert.ok(response.headers.get("x-request-id"));
});

test("a slow key lookup is awaited, and a failing one is a 500", async (t) => {
  const { port } = await startEdge(t, {
    authenticate: async (secret) => {
      await new Promise((resolve) => setImmediate(resolve));
      if (secret === KEYS.customer) throw new Error("the store is down");
      return null;
    },
  });
  assert.equal((await ask(port, http("GET /v1/nothing", [AUTH]))).status, 500);
  assert.equal((await ask(port, http(POST, [ADMIN, JSON_TYPE], GOOD))).status, 401);
});

test("an injected request gets the same response as one over a socket", async (t) => {
  const { app } = await startEdge(t, { rateLimit: { limit: 3, windowSeconds: 60 } });
  const headers = { authorization: `Bearer ${KEYS.customer}` };
  const taken = await app.inject({ method: "POST", url: "/v1/messages", headers, payload: JSON.parse(GOOD) });
  assert.deepEqual([taken.statusCode, taken.json().data.body], [202, JSON.parse(GOOD)]);
  assert.equal(taken.headers["x-ratelimit-remaining"], "2");
  assert.equal(taken.headers["x-request-id"], taken.json().requestId);
  const refused = await app.inject({ method: "POST", url: "/v1/none", payload: "x" });
  assert.equal(failureOf(refused.statusCode, refused.body).error.code, "UNAUTHORIZED");
});
