/** Requests that one process passes to another: the other one does what is asked, nothing counts twice, and no stranger is trusted. */

import assert from "node:assert/strict";
import { randomBytes } from "node:crypto";
import { once } from "node:events";
import { createServer as createHttpServer } from "node:http";
import { type AddressInfo, createServer, type Socket } from "node:net";
import { type TestContext, test } from "node:test";
import { Type } from "typebox";
import { closed } from "../../contract/schema.ts";
import { BodyBudget } from "../../server/api/pipeline/body-budget.ts";
import type { RequestHop } from "../../server/api/pipeline/edge.ts";
import { publicRoute, type Route, route } from "../../server/api/route.ts";
import { systemClock } from "../../server/clock.ts";
import type { InstanceId } from "../../server/core/id.ts";
import { NotRunningHere } from "../../server/core/not-running-here.ts";
import { HopClient } from "../../server/outgoing/hop.ts";
import { failureOf, KEYS, startEdge, type TestEdge } from "../support/edge.ts";
import { STAYS } from "../support/stays.ts";
import { until } from "../support/wait.ts";

const INSTANCE = "inst_1" as InstanceId;
const SECRET = randomBytes(32);

/** Routes of a process that runs the instance, or does not. */
function routes(isHere: () => boolean, done: string[]): Route[] {
  const need = () => {
    if (!isHere()) throw new NotRunningHere(INSTANCE, "The instance");
  };
  return [
    route({
      method: "POST",
      path: "/v1/react",
      scope: "messages",
      body: closed({ text: Type.String(), idempotencyKey: Type.Optional(Type.String()) }),
      handle: async ({ body, idempotencyKey, correlationId, caller }) => {
        need();
        done.push(body.text);
        return { status: 201, data: { text: body.text, idempotencyKey, correlationId, customerId: caller.customerId } };
      },
    }),
    route({
      method: "GET",
      path: "/v1/file",
      scope: "messages",
      handle: () => {
        need();
        const headers = { "Content-Type": "image/png", "Content-Length": "3000000" };
        return { headers, stream: (response) => void response.end(Buffer.alloc(3_000_000, 7)) };
      },
    }),
    route({
      method: "POST",
      path: "/v1/slow",
      scope: "messages",
      handle: async ({ gone }) => {
        need();
        done.push("begun");
        await once(gone(), "abort");
        done.push(String(gone().reason.message));
        return { data: null };
      },
    }),
    publicRoute({
      method: "POST",
      path: "/headers",
      handle: ({ headers }) => {
        need();
        return { contentType: null, body: Object.keys(headers).join(" ") };
      },
    }),
    publicRoute({
      method: "POST",
      path: "/unread/:id",
      handle: async (request) => {
        need();
        return request.withBody({ owner: "hook", kind: "callback", bytesMax: 1_000 }, async (body) => {
          done.push(Buffer.from(body).toString());
          return { status: 200, contentType: null, body: "" };
        });
      },
    }),
    publicRoute({
      method: "POST",
      path: "/hooks/:id",
      handle: (request) =>
        request.withBody({ owner: "hook", kind: "callback", bytesMax: 1_000 }, async (body) => {
          need();
          done.push(`${request.target} ${Buffer.from(body).toString()} ${request.headers["x-signature"]}`);
          return { status: 202, contentType: "text/xml", body: "<ok/>" };
        }),
    }),
  ];
}

interface Pair {
  first: TestEdge;
  second: TestEdge;
  done: string[];
  ask(path: string, init?: RequestInit): Promise<Response>;
  /** The URL at which the first process finds the second one, and the one at which the second one says that it is. */
  place: { url: string | null; own: string };
  /** The memory for bodies of the first process. */
  bodies: BodyBudget;
}

/** Two processes, of which the second one runs the instance. */
async function pair(t: TestContext, isSecondRunning = true): Promise<Pair> {
  const done: string[] = [];
  const place = { url: null as string | null, own: "" };
  const hopTo = (urlOf: () => string | null, ownUrl: () => string): RequestHop => {
    const client = new HopClient({ secretKey: SECRET, urlOf, ownUrl, now: Date.now, random: randomBytes });
    t.after(() => client.close());
    return client;
  };
  const rateLimit = { limit: 100, windowSeconds: 60 };
  const second = await startEdge(t, {
    routes: routes(() => isSecondRunning, done),
    hop: hopTo(
      () => `http://127.0.0.1:${first.port}`,
      () => place.own,
    ),
    rateLimit,
  });
  const bodies = new BodyBudget(systemClock());
  const first: TestEdge = await startEdge(t, {
    routes: routes(() => false, []),
    hop: hopTo(
      () => place.url,
      () => `http://127.0.0.1:${first.port}`,
    ),
    rateLimit,
    bodyBudget: bodies,
  });
  place.own = `http://127.0.0.1:${second.port}`;
  place.url = place.own;
  const ask = (path: string, init: RequestInit = {}) =>
    fetch(`http://127.0.0.1:${first.port}${path}`, {
      ...init,
      headers: { authorization: `Bearer ${KEYS.customer}`, "content-type": "application/json", ...init.headers },
    });
  return { first, second, done, ask, place, bodies };
}

test("the process that runs the instance answers, with the ids and limits of the process that was asked", async (t) => {
  const { first, second, done, ask } = await pair(t);
  const headers = {
    "Idempotency-Key": "once",
    "X-Request-Id": "mine",
    "X-Correlation-Id": "cor_0123456789abcdef0123456789abcdef",
  };
  const response = await ask("/v1/react", { method: "POST", headers, body: JSON.stringify({ text: "loved" }) });
  const { data, requestId } = (await response.json()) as { data: object; requestId: string };
  assert.equal(response.status, 201);
  assert.deepEqual(data, {
    text: "loved",
    idempotencyKey: "once",
    correlationId: "cor_0123456789abcdef0123456789abcdef",
    customerId: "cust_1",
  });
  assert.deepEqual([requestId, response.headers.get("x-request-id")], ["mine", "mine"]);
  assert.equal(response.headers.get("x-ratelimit-remaining"), "99");
  assert.deepEqual(done, ["loved"]);
  assert.deepEqual(
    [first, second].map(({ counted }) => counted.map(({ keyId, status }) => [keyId, status])),
    [[["key_customer", 201]], [[null, 201]]],
  );
});

test("a response of megabytes passes through whole", async (t) => {
  const { ask } = await pair(t);
  const response = await ask("/v1/file");
  const bytes = new Uint8Array(await response.arrayBuffer());
  assert.deepEqual([response.headers.get("content-type"), bytes.length], ["image/png", 3_000_000]);
  assert.ok(bytes.every((byte) => byte === 7));
});

test("a callback of a peer reaches the process of its instance with its bytes, its query and its headers", async (t) => {
  const { ask, done } = await pair(t);
  const headers = { "content-type": "text/plain", "x-signature": "abc" };
  const response = await ask("/hooks/inst_1?a=%41", { method: "POST", headers, body: "a=1&b=2" });
  assert.deepEqual([response.status, await response.text()], [202, "<ok/>"]);
  assert.deepEqual(done, ["/hooks/inst_1?a=%41 a=1&b=2 abc"]);
});

test("a body that the first process has not read is passed on too", async (t) => {
  const { ask, done } = await pair(t);
  const response = await ask("/unread/inst_1", {
    method: "POST",
    headers: { "content-type": "text/plain" },
    body: "all",
  });
  assert.deepEqual([response.status, done], [200, ["all"]]);
});

test("the process that answers shows nobody the signature with which it was asked", async (t) => {
  const { ask } = await pair(t);
  const response = await ask("/headers", { method: "POST", headers: { "X-Own": "kept" } });
  const names = (await response.text()).split(" ");
  assert.deepEqual([names.includes("x-own"), names.includes("tightbeam-passed-on")], [true, false]);
});

test("a body counts against the memory for bodies until the other process has answered", async (t) => {
  const { ask, bodies, place } = await pair(t);
  const silent = createServer(() => {});
  await new Promise<void>((resolve) => silent.listen(0, "127.0.0.1", resolve));
  const sockets = new Set<Socket>();
  silent.on("connection", (socket) => void sockets.add(socket));
  t.after(() => silent.close());
  place.url = `http://127.0.0.1:${(silent.address() as AddressInfo).port}`;
  const text = "x".repeat(200_000);
  const asked = ask("/v1/react", { method: "POST", body: JSON.stringify({ text }) });
  await until(() => sockets.size > 0, { what: "the request at the other process" });
  assert.ok(bodies.usedBytes > text.length);
  for (const socket of sockets) socket.destroy();
  assert.equal((await asked).status, 500);
  assert.equal(bodies.usedBytes, 0);
});

test("without a process that runs the instance, or if it cannot be reached, the caller gets a 503 with Retry-After", async (t) => {
  const { ask, place } = await pair(t);
  const send = async () => {
    const response = await ask("/v1/react", { method: "POST", body: JSON.stringify({ text: "loved" }) });
    const { error } = (await response.json()) as { error: { code: string } };
    return [response.status, error.code, response.headers.get("retry-after")];
  };
  place.url = null;
  assert.deepEqual(await send(), [503, "SERVICE_UNAVAILABLE", "10"]);
  place.url = "http://127.0.0.1:1";
  assert.deepEqual(await send(), [503, "SERVICE_UNAVAILABLE", "10"]);
});

test("if the process that runs the instance ends the connection, the caller gets a 503 for what may be repeated, else a 500, and the process that was asked goes on", async (t) => {
  const { ask, place } = await pair(t);
  const broken = createServer((socket) => socket.once("data", () => socket.destroy()));
  await new Promise<void>((resolve) => broken.listen(0, "127.0.0.1", resolve));
  t.after(() => broken.close());
  const { url } = place;
  place.url = `http://127.0.0.1:${(broken.address() as AddressInfo).port}`;
  const send = (init: RequestInit = {}) =>
    ask("/v1/react", { method: "POST", body: JSON.stringify({ text: "loved" }), ...init });
  const repeatable = [
    send({ headers: { "Idempotency-Key": "once" } }),
    send({ body: JSON.stringify({ text: "loved", idempotencyKey: "once" }) }),
    ask("/v1/file"),
  ];
  for (const response of await Promise.all(repeatable)) {
    const { error } = (await response.json()) as { error: { code: string } };
    assert.deepEqual(
      [response.status, error.code, response.headers.get("retry-after")],
      [503, "SERVICE_UNAVAILABLE", "1"],
    );
  }
  assert.equal((await send()).status, 500);
  place.url = url;
  assert.equal((await send()).status, 201);
});

test("when the client of a passed request goes, the process that runs the instance ends its work too", async (t) => {
  const { first, second, done, ask } = await pair(t);
  const client = new AbortController();
  const asked = ask("/v1/slow", { method: "POST", body: "{}", signal: client.signal });
  await until(() => done.length > 0, { what: "the request at the other process" });
  client.abort();
  await assert.rejects(asked);
  for (const { counted, lines } of [first, second]) {
    const [{ status } = { status: 0 }] = await until(() => (counted.length > 0 ? counted : null));
    assert.equal(status, 499);
    assert.deepEqual(
      lines.filter(({ event }) => event === "request failed"),
      [],
    );
  }
  assert.deepEqual(done, ["begun", "the client has gone"]);
});

test("a request is passed on once: two processes that each name the other do not pass it to and fro", async (t) => {
  const { first, second, ask } = await pair(t, false);
  const response = await ask("/v1/react", { method: "POST", body: JSON.stringify({ text: "loved" }) });
  assert.equal(response.status, 503);
  assert.deepEqual([first.counted.length, second.counted.length], [1, 1]);
});

test("a request that claims to be passed on, and is not signed by a process, is refused at every address and does nothing", async (t) => {
  const { second, done } = await pair(t);
  const now = Date.now();
  const forged = [
    `t=${now},v1=${"0".repeat(64)}`,
    `t=${now},id=${"0".repeat(32)},body=${"0".repeat(64)},v1=${"0".repeat(64)}`,
    "t=1,v1=",
    "yes",
    "",
  ];
  for (const [index, header] of forged.entries()) {
    for (const request of [
      "GET /v1/file",
      "POST /v1/react",
      "POST /headers",
      "POST /hooks/inst_1",
      "GET /v1/nowhere",
    ]) {
      const [method = "", path = ""] = request.split(" ");
      const response = await fetch(`http://127.0.0.1:${second.port}${path}`, {
        method,
        // A key does not help, nor does its absence matter.
        headers: {
          ...(index === 0 ? {} : { authorization: `Bearer ${KEYS.customer}` }),
          "tightbeam-passed-on": header,
        },
        ...(method === "POST" ? { body: JSON.stringify({ text: "loved" }) } : {}),
      });
      const { error } = failureOf(response.status, await response.text());
      assert.deepEqual([response.status, error.code], [403, "FORBIDDEN"], `${request} ${header}`);
      assert.match(error.message, /^The header tightbeam-passed-on is not accepted: .*Leave it out/);
    }
  }
  assert.deepEqual(done, []);
  const warnings = second.lines.filter(({ event }) => event === "passed request refused");
  assert.equal(warnings.length, 1, "at most one line in ten seconds");
  assert.match(warnings[0]?.fields.reason ?? "", /not signed by a process of this database/);
});

test("a process without others takes no notice of the header", async (t) => {
  const { port, lines } = await startEdge(t, { routes: routes(() => true, []) });
  const headers = { authorization: `Bearer ${KEYS.customer}`, "tightbeam-passed-on": "yes" };
  const response = await fetch(`http://127.0.0.1:${port}/v1/file`, { headers });
  await response.arrayBuffer();
  assert.equal(response.status, 200);
  assert.ok(lines.every(({ event }) => event !== "passed request refused"));
});

/** A request as a process passes it on. */
interface Caught {
  /** Where the process sent it. */
  url: string;
  headers: Record<string, string>;
  body: string;
}

/** Catches a request that a process passes on at `now`, on its way. */
async function caught(t: TestContext, now: () => number): Promise<Caught> {
  const arrived = Promise.withResolvers<Record<string, string>>();
  const tap = createHttpServer((request, response) => {
    arrived.resolve(request.headers as Record<string, string>);
    response.end();
  });
  await new Promise<void>((resolve) => tap.listen(0, "127.0.0.1", resolve));
  t.after(() => tap.close());
  const url = `http://127.0.0.1:${(tap.address() as AddressInfo).port}`;
  const client = new HopClient({ secretKey: SECRET, urlOf: () => url, ownUrl: () => null, now, random: randomBytes });
  t.after(() => client.close());
  const body = JSON.stringify({ text: "loved" });
  const own = { authorization: `Bearer ${KEYS.customer}`, "content-type": "application/json", "x-request-id": "mine" };
  await client.pass(INSTANCE, { method: "POST", target: "/v1/react", headers: own, body: Buffer.from(body) }, STAYS);
  const { connection: _, host: __, "content-length": ___, ...headers } = await arrived.promise;
  return { url, headers, body };
}

test("a passed request counts once, with its own body and headers, and for 30 s; after that it is refused", async (t) => {
  const { second, done, place } = await pair(t);
  const send = async ({ url, headers, body }: Caught) => {
    place.own = url;
    const response = await fetch(`http://127.0.0.1:${second.port}/v1/react`, { method: "POST", headers, body });
    const { error } = (await response.json()) as { error?: { code: string; message: string } };
    return [response.status, error?.code, error?.message.match(/accepted: (.*?)\. /)?.[1]];
  };
  const refused = (why: string) => [403, "FORBIDDEN", why];
  const passed = await caught(t, Date.now);
  assert.deepEqual(await send(passed), [201, undefined, undefined]);
  assert.deepEqual(second.counted.at(-1)?.keyId, null);
  assert.deepEqual(await send(passed), refused("it was used before"), "a repetition");
  const other = await caught(t, Date.now);
  const forged = { ...other, body: JSON.stringify({ text: "hated" }) };
  assert.deepEqual((await send(forged)).slice(0, 2), [403, "FORBIDDEN"], "another body");
  const third = await caught(t, Date.now);
  const headers = { ...third.headers, "idempotency-key": "invented" };
  const unsigned = "it is not signed by a process of this database for this request and this process";
  assert.deepEqual(await send({ ...third, headers }), refused(unsigned), "another header");
  const late = "it is older than 30 s, or the clocks of the processes differ by more";
  assert.deepEqual(await send(await caught(t, () => Date.now() - 31_000)), refused(late), "late");
  assert.deepEqual(await send(await caught(t, () => Date.now() + 60_000)), refused(late), "from a clock that is ahead");
  assert.deepEqual(done, ["loved"]);
});

test("a request that was passed to one process is refused by every other one", async (t) => {
  const { second, done, place } = await pair(t);
  const { url, headers, body } = await caught(t, Date.now);
  const send = () => fetch(`http://127.0.0.1:${second.port}/v1/react`, { method: "POST", headers, body });
  assert.deepEqual([(await send()).status, done], [403, []]);
  place.own = url;
  assert.equal((await send()).status, 201, "the process at the address that it was sent to");
  assert.deepEqual(done, ["loved"]);
});

test("the key of the caller is checked by both processes", async (t) => {
  const { ask, done } = await pair(t);
  const headers = { authorization: `Bearer ${KEYS.revoked}` };
  const response = await ask("/v1/react", { method: "POST", headers, body: JSON.stringify({ text: "loved" }) });
  assert.deepEqual([response.status, done], [401, []]);
});
