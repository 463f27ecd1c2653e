/** Options of a client and of a call, and the details that they answer beside the data. */

import assert from "node:assert/strict";
import { test } from "node:test";
import { closedAddress, startApi } from "../test/support/api.ts";
import { Tightbeam } from "./client.ts";
import type { ClientOptions } from "./request.ts";

const apiKey = "tb_0123456789abcdef0123456789abcdef";
const text = { to: "+15005550100", content: { text: "Hello" } };
const busy = { status: 429, error: { code: "RATE_LIMITED", message: "Wait 7 seconds." } };

/** A client that notes its waits in place of waiting. */
function clientOf(baseUrl: string, options: Partial<ClientOptions> = {}): { client: Tightbeam; waits: number[] } {
  const waits: number[] = [];
  const wait = async (delayMs: number) => void waits.push(delayMs);
  return { client: new Tightbeam({ apiKey, baseUrl, wait, ...options }), waits };
}

for (const [why, address, reason] of [
  ["nothing listens", closedAddress, "ECONNREFUSED"],
  ["a name does not exist", async () => "http://tightbeam.invalid", "ENOTFOUND"],
] as const) {
  test(`if ${why}, the first call fails at once, and says what to do`, async () => {
    const url = await address();
    const { client, waits } = clientOf(url, reason === "ENOTFOUND" ? { fetch: unknownName } : {});
    const message = `Nothing answers at ${url} (${reason}). Start the server, or set baseUrl or TIGHTBEAM_URL to its address.`;
    await assert.rejects(client.numbers(), { code: "CONNECTION_FAILED", status: 0, message });
    await assert.rejects(
      async () => {
        for await (const _ of client.events.stream({ lastEventId: "evt_1" })) assert.fail("an event");
      },
      { message },
    );
    assert.deepEqual(waits, []);
  });
}

/** How Node's fetch fails for a name that does not exist; asking a real resolver would take its time. */
const unknownName: typeof fetch = () =>
  Promise.reject(
    new TypeError("fetch failed", { cause: Object.assign(new Error("no such name"), { code: "ENOTFOUND" }) }),
  );

test("the client waits for a server that responded once and then restarts", async (t) => {
  const api = await startApi(t, { "GET /v1/numbers": { data: [] } });
  let isDown = false;
  const flaky: typeof fetch = (url, init) => {
    if (!isDown) return fetch(url, init);
    isDown = false;
    return Promise.reject(
      new TypeError("fetch failed", { cause: Object.assign(new Error(), { code: "ECONNREFUSED" }) }),
    );
  };
  const { client, waits } = clientOf(api.url, { fetch: flaky });
  await client.numbers();
  isDown = true;
  assert.deepEqual(await client.numbers(), []);
  assert.equal(waits.length, 1);
});

test("retries, time, headers and a signal of one call override those of the client", async (t) => {
  const api = await startApi(t, {
    "GET /v1/numbers": [busy, busy, { data: [] }],
    "POST /v1/messages": { status: 202 },
  });
  const { client } = clientOf(api.url, { maxRetries: 0, headers: { "X-Trace": "client", "X-Team": "a" } });
  await assert.rejects(client.numbers(), { code: "RATE_LIMITED" });
  assert.equal(api.requests.length, 1);
  assert.deepEqual(await client.numbers({ maxRetries: 1, headers: { "X-Trace": "call", "X-None": undefined } }), []);
  const { "x-trace": trace, "x-team": team, "x-none": none } = api.requests.at(-1)?.headers ?? {};
  assert.deepEqual([trace, team, none], ["call", "a", undefined]);
  await client.messages.send(text, { headers: { "Idempotency-Key": "in-headers" } });
  assert.equal(api.requests.at(-1)?.headers["idempotency-key"], "in-headers");

  const never: typeof fetch = (_url, init) =>
    new Promise((_resolve, reject) => init?.signal?.addEventListener("abort", () => reject(init.signal?.reason)));
  const slow = clientOf("http://127.0.0.1:1", { fetch: never, maxRetries: 0, timeoutMs: 3_600_000 }).client;
  await assert.rejects(slow.messages.list({}, { timeoutMs: 5 }), { code: "TIMEOUT", message: /within 5 ms/ });
  const stop = new AbortController();
  const stoppable = clientOf("http://127.0.0.1:1", { fetch: never, signal: stop.signal }).client;
  const reason = new Error("shutting down");
  const waiting = [
    stoppable.numbers({ signal: new AbortController().signal }),
    stoppable.messages.get("msg_1"),
    stoppable.events.stream({ lastEventId: "evt_1" }).next(),
  ];
  stop.abort(reason);
  for (const ended of await Promise.allSettled(waiting))
    assert.equal(ended.status === "rejected" && ended.reason, reason);
});

test("withResponse gives the request id, the rate limit and the headers of a success", async (t) => {
  const headers = { "X-RateLimit-Limit": "100", "X-RateLimit-Remaining": "97", "X-RateLimit-Reset": "1934535600" };
  const api = await startApi(t, {
    "GET /v1/numbers": { data: [], headers },
    "GET /v1/webhooks": [{ data: null }, { status: 400, error: { code: "BAD", message: "Bad." } }],
  });
  const { client } = clientOf(api.url);
  const answered = await client.numbers().withResponse();
  assert.deepEqual([answered.data, answered.requestId, answered.response.status], [[], "req_1", 200]);
  assert.deepEqual(answered.rateLimit, { limit: 100, remaining: 97, resetAt: new Date(1_934_535_600_000) });
  assert.equal((await client.webhooks.get().withResponse()).rateLimit, null);
  // A failure is thrown to who waits, and is no unhandled rejection, which would end this process.
  await assert.rejects(client.webhooks.get().withResponse(), { code: "BAD", requestId: "req_3" });
  await new Promise((resolve) => setImmediate(resolve));
});

test("a logger gets every response and retry, and no key, body or query", async (t) => {
  const api = await startApi(t, { "POST /v1/messages": [{ drop: true }, { status: 202, data: { id: "msg_1" } }] });
  const lines: string[] = [];
  const note = (level: string) => (line: string) => void lines.push(`${level} ${line.replace(/\d+ ms/, "N ms")}`);
  const { client } = clientOf(api.url, { logger: { debug: note("debug"), warn: note("warn") } });
  await client.messages.send(text);
  await assert.rejects(client.messages.list({ to: text.to }), { code: "NOT_FOUND" });
  assert.deepEqual(lines, [
    "debug POST /v1/messages → CONNECTION_FAILED in N ms",
    "warn POST /v1/messages: CONNECTION_FAILED, retry 1 of 3 in N ms",
    "debug POST /v1/messages → 202 req_2 in N ms",
    "debug GET /v1/messages → 404 NOT_FOUND req_3 in N ms",
  ]);
});

test("key and address default to TIGHTBEAM_API_KEY and TIGHTBEAM_URL", async (t) => {
  const api = await startApi(t, { "GET /v1/numbers": { data: [] } });
  const before = { ...process.env };
  t.after(() => {
    process.env = before;
  });
  process.env.TIGHTBEAM_API_KEY = "tb_environment";
  process.env.TIGHTBEAM_URL = api.url;
  await new Tightbeam().numbers();
  await new Tightbeam({ apiKey: undefined, baseUrl: undefined }).numbers();
  await new Tightbeam({ apiKey }).numbers();
  assert.deepEqual(
    api.requests.map((request) => request.headers.authorization),
    ["Bearer tb_environment", "Bearer tb_environment", `Bearer ${apiKey}`],
  );
  process.env.TIGHTBEAM_API_KEY = "";
  assert.throws(() => new Tightbeam(), /apiKey is missing.*TIGHTBEAM_API_KEY/);
});

test("the client works without process, and without permission to read it", () => {
  const before = Object.getOwnPropertyDescriptor(globalThis, "process") ?? assert.fail();
  const descriptors: PropertyDescriptor[] = [
    { value: undefined },
    { value: {} },
    {
      get() {
        throw new Error("PermissionDenied");
      },
    },
  ];
  const clients: Tightbeam[] = [];
  for (const descriptor of descriptors) {
    try {
      Object.defineProperty(globalThis, "process", { ...descriptor, configurable: true });
      clients.push(new Tightbeam({ apiKey }));
    } finally {
      Object.defineProperty(globalThis, "process", before);
    }
  }
  assert.equal(clients.length, descriptors.length);
});
