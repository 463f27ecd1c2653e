/** The routes outside /v1: which callers see which parts, and their errors in the envelope. */

import assert from "node:assert/strict";
import { test } from "node:test";
import { ADMIN, AUTH, failureOf, http, KEYS, startEdge } from "../../test/support/edge.ts";
import { ask } from "../../test/support/socket.ts";
import { until } from "../../test/support/wait.ts";
import { systemClock } from "../clock.ts";
import { ApiError } from "../core/error.ts";
import { type HealthOptions, healthRoutes } from "./health.ts";
import { publicRoute } from "./route.ts";
import type { ServerOptions } from "./server.ts";

const KEY = {
  version: 1,
  permissions: [],
  name: "",
  hash: "",
  last4: "",
  rateLimit: null,
  createdAt: 0,
  lastUsedAt: null,
  expiresAt: null,
  revokedAt: null,
  replacedBy: null,
};

function health(options: Partial<HealthOptions> = {}): Pick<ServerOptions, "routes"> {
  const routes = healthRoutes({
    authenticate: (secret) => {
      if (secret === KEYS.admin) return { ...KEY, id: "key_a", customerId: null, scope: "admin" };
      return secret === KEYS.customer ? { ...KEY, id: "key_c", customerId: "cust_1", scope: "messages" } : null;
    },
    clock: systemClock(),
    checks: () => ({ database: { status: "ok" } }),
    notReady: () => null,
    metrics: { contentType: "text/plain; version=0.0.4", render: async () => "up 1\n" },
    ...options,
  });
  const broken = publicRoute({
    method: "GET",
    path: "/broken",
    handle() {
      throw new Error("inside");
    },
  });
  const refused = publicRoute({
    method: "POST",
    path: "/refused",
    async handle() {
      throw new ApiError("PAYLOAD_TOO_LARGE", "No.");
    },
  });
  return { routes: [...routes, broken, refused] };
}

test("/health returns {status, timestamp, checks}, and its status is degraded if any check is", async (t) => {
  const { port, lines } = await startEdge(t, health());
  const well = await ask(port, http("GET /health", ["X-Request-Id: mine"]));
  const { timestamp, ...rest } = JSON.parse(well.body);
  assert.deepEqual(
    [well.status, rest],
    [200, { status: "ok", checks: { database: { status: "ok" }, channels: { status: "ok" } } }],
  );
  assert.equal(new Date(timestamp).toISOString(), timestamp);
  assert.equal(well.headers["x-request-id"], "mine");
  assert.deepEqual(
    lines.map(({ fields }) => [fields.route, fields.status]),
    [["/health", 200]],
  );
  const ill = await startEdge(
    t,
    health({ checks: async () => ({ database: { status: "degraded", message: "full" } }) }),
  );
  const answer = await ask(ill.port, http("GET /health"));
  assert.deepEqual([answer.status, JSON.parse(answer.body).status], [200, "degraded"]);
});

test("/health shows instance ids and providers' messages to admin keys only, and accepts every other key", async (t) => {
  const words = "the Mac at 10.0.0.5 refuses the password";
  const checks = {
    database: { status: "ok" },
    inst_1: { status: "ok" },
    inst_2: { status: "degraded", message: words },
    rows: { status: "degraded", message: "endpoint wh_1" },
  } as const;
  const { port } = await startEdge(t, health({ checks: () => checks }));
  const shown = async (headers: string[]) => {
    const answer = await ask(port, http("GET /health", headers));
    const { status, checks: parts } = JSON.parse(answer.body);
    assert.deepEqual([answer.status, status], [200, "degraded"]);
    return parts;
  };
  const few = { database: { status: "ok" }, channels: { status: "degraded" }, rows: { status: "degraded" } };
  for (const headers of [
    [],
    [AUTH],
    ["Authorization: Bearer nonsense"],
    [`Authorization: Bearer tb_${"x".repeat(36)}`],
  ]) {
    assert.deepEqual(await shown(headers), few);
  }
  assert.deepEqual(await shown([ADMIN]), checks);
});

test("concurrent requests for /health share one run of the checks", async (t) => {
  let looks = 0;
  let finish = () => {};
  const checks = () => {
    looks += 1;
    return new Promise<{ database: { status: "ok" } }>((resolve) => {
      finish = () => resolve({ database: { status: "ok" } });
    });
  };
  const { app } = await startEdge(t, health({ checks }));
  const asked = Array.from({ length: 20 }, () => app.inject("/health"));
  await until(() => looks > 0, { what: "the look" });
  await app.inject("/healthz");
  finish();
  for (const answer of await Promise.all(asked)) assert.equal(answer.statusCode, 200);
  assert.equal(looks, 1);
  const next = app.inject("/health");
  await until(() => looks === 2, { what: "the next look" });
  finish();
  await next;
});

test("/metrics refuses a foreign host name without an admin key, so that DNS rebinding cannot read it", async (t) => {
  const { port } = await startEdge(t, health());
  const asked = async (host: string, headers: string[] = []) => {
    const lines = ["GET /metrics HTTP/1.1", `Host: ${host}`, ...headers];
    return (await ask(port, `${lines.join("\r\n")}\r\n\r\n`)).status;
  };
  for (const own of ["localhost", "LOCALHOST:8080", "127.0.0.1:8080", "127.1.2.3", "[::1]:80"]) {
    assert.equal(await asked(own), 200, own);
  }
  for (const other of [
    "evil.example",
    "tb.example",
    "TB.example:1",
    "localhost.evil.example",
    "127.0.0.1.evil.example",
    "10.0.0.1",
    "",
    "%",
    "a b",
    "tb.example@x",
  ]) {
    assert.equal(await asked(other), 401, other);
    assert.equal(await asked(other, [ADMIN]), 200, other);
  }
});

test("/healthz returns 200 while the process runs, /readyz only while the service accepts requests", async (t) => {
  const { port } = await startEdge(t, {
    ...health({ notReady: () => "The service is starting." }),
    isClosing: () => true,
    overloadSeconds: () => 1,
  });
  assert.equal((await ask(port, http("GET /healthz"))).status, 200);
  const notReady = await ask(port, http("GET /readyz"));
  assert.equal(failureOf(notReady.status, notReady.body).error.code, "SERVICE_UNAVAILABLE");
  assert.equal(notReady.headers["retry-after"], "1");
  const ready = await startEdge(t, health());
  assert.equal((await ask(ready.port, http("GET /readyz"))).status, 200);
});

test("/metrics is open to this machine, and needs an admin key through a proxy", async (t) => {
  const { port } = await startEdge(t, health());
  const near = await ask(port, http("GET /metrics").replace("Host: x", "Host: localhost"));
  assert.deepEqual(
    [near.status, near.body, near.headers["content-type"]],
    [200, "up 1\n", "text/plain; version=0.0.4"],
  );
  for (const proxied of ["X-Forwarded-For: 127.0.0.1", "Forwarded: for=127.0.0.1", "Via: 1.1 x", "X-Real-IP: ::1"]) {
    const unknown = await ask(port, http("GET /metrics", [proxied]));
    assert.equal(failureOf(unknown.status, unknown.body).error.code, "UNAUTHORIZED");
    const customer = await ask(port, http("GET /metrics", [proxied, AUTH]));
    assert.equal(failureOf(customer.status, customer.body).error.code, "FORBIDDEN");
    assert.equal((await ask(port, http("GET /metrics", [proxied, ADMIN]))).status, 200);
  }
});

test("routes beside /v1 refuse in the envelope: faults, other methods, no host, too large a head", async (t) => {
  const { port, lines } = await startEdge(t, health());
  const rows: [string, number, string][] = [
    [http("GET /broken"), 500, "INTERNAL_ERROR"],
    [http("POST /refused", ["Content-Type: text/plain"], "x"), 413, "PAYLOAD_TOO_LARGE"],
    [http("POST /health", [], "{"), 405, "METHOD_NOT_ALLOWED"],
    ["GET /health HTTP/1.1\r\n\r\n", 400, "VALIDATION_ERROR"],
    [http("GET /health", [`X-A: ${"a".repeat(17_000)}`]), 431, "HEADERS_TOO_LARGE"],
  ];
  for (const [request, status, code] of rows) {
    const answer = await ask(port, request);
    const failure = failureOf(answer.status, answer.body);
    assert.deepEqual([answer.status, failure.error.code], [status, code], request);
    assert.equal(answer.headers["x-request-id"], failure.requestId);
    assert.equal(answer.headers["content-type"], "application/json; charset=utf-8");
  }
  assert.equal(lines.filter(({ event }) => event === "request failed").length, 1);
  assert.ok((await ask(port, http("HEAD /health"), { head: true })).status === 200);
});
