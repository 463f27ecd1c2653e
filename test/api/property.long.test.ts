/** Any request to any route of the running service gets a response in the envelope, without a fault of the service. */

import assert from "node:assert/strict";
import { randomInt } from "node:crypto";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { type TestContext, test } from "node:test";
import fc from "fast-check";
import type { Log, LogFields } from "../../server/log.ts";
import { checkAnswered, type MayFail } from "../support/answered.ts";
import { assertAnswered } from "../support/contract.ts";
import { type AnyRequest, anyRequest } from "../support/requests.ts";
import { listRoutes } from "../support/routes.ts";
import { startTestService, type TestService } from "../support/service.ts";
import {
  ECHO,
  IMAGE_URL,
  type Kind,
  MEMBER,
  PHONE,
  PNG,
  STAND_INS,
  shapesOf,
  WAV,
  type World,
} from "../support/shapes.ts";
import type { RawAnswer } from "../support/socket.ts";
import { until } from "../support/wait.ts";

/** `TB_PROPERTY_RUNS` sets how many requests are tried, `TB_PROPERTY_SEED` which: a number, or `random` to look for new faults. */
const RUNS = Number(process.env.TB_PROPERTY_RUNS ?? 10_000);
const SEED =
  process.env.TB_PROPERTY_SEED === "random" ? randomInt(2 ** 31) : Number(process.env.TB_PROPERTY_SEED ?? 20261123);
/** How many more requests a route gets if none of them succeeded. */
const RUNS_MORE = 500;
/** After so many requests the records that they used up are made anew; the keys that the test itself goes by are none. */
const REFRESH_EVERY = 200;
/** After a provider that reaches people was connected: everything that this forbids ends soon. */
const REFRESH_REAL_AFTER = 20;

/** Addresses of the generator that would leave this machine, and their replacements. */
const OUTSIDE = ["https://example.com", "https://127.0.0.1:9"] as const;

/** Commands of providers: of these the contract has 502, 503 and 504. So it has of files that phones send by address. */
const COMMANDS =
  /^(PUT \/v1\/messages\/:id|POST \/v1\/messages\/:id\/(unsend|reactions)|(POST|PUT|DELETE) \/v1\/chats\/|GET \/v1\/(capabilities|attachments|contacts\/:phone)\/|POST \/v1\/sandbox\/phones\/:number\/messages)/;
const COMMAND_CODES: ReadonlySet<string> = new Set([
  "EDIT_FAILED",
  "PROVIDER_ERROR",
  "PROVIDER_TIMEOUT",
  "SERVICE_UNAVAILABLE",
]);
const mayFail: MayFail = ({ name }, code) => name !== null && COMMANDS.test(name) && COMMAND_CODES.has(code);

/** A replay of the few events of this test is over before a request can stop it: `replays.test.ts` stops one. */
const PASSING: ReadonlySet<string> = new Set(["DELETE /v1/webhooks/:id/replay"]);

/** Creates records of every kind; records from `before` that are left stay. */
async function makeWorld(api: TestService, before?: World): Promise<World> {
  const asked = async (method: string, path: string, body?: object, key = api.key) => {
    const answer = await api.ask(method, path, { key, ...(body === undefined ? {} : { body }) });
    assert.ok(answer.status < 300, `${method} ${path}: ${JSON.stringify(answer.error)}`);
    return answer.data;
  };
  const own = (method: string, path: string, body?: object) => asked(method, path, body);
  const admin = (method: string, path: string, body?: object) => asked(method, path, body, api.adminKey);
  await leaveReality(api, admin, before);
  for (const { id } of await own("GET", "/v1/webhooks/list")) await own("DELETE", `/v1/webhooks/${id}`);
  for (const phone of [PHONE, ECHO, MEMBER]) {
    await own("PUT", `/v1/sandbox/phones/${phone}/settings`, {
      online: true,
      imessage: true,
      readReceipts: false,
      edits: true,
      latencyMs: 0,
      lossPercent: 0,
    });
    await api.ask("DELETE", `/v1/opt-outs/+15005550001/${phone}?reason=test`);
  }
  await own("PUT", "/v1/webhooks", { url: "http://127.0.0.1:9/", events: ["*"] });
  const send = (to: string, more: object = {}) =>
    own("POST", "/v1/messages", { to, content: { text: "Hello" }, ...more });
  await send(ECHO);
  const webhook = await own("POST", "/v1/webhooks", { url: "http://127.0.0.1:9/b", events: ["message.read"] });
  const delivery = await own("POST", `/v1/webhooks/${webhook.id}/test`);
  const customer = await admin("POST", "/v1/admin/customers", { name: "Other" });
  numbers += 1;
  const number = await admin("POST", `/v1/admin/customers/${customer.id}/numbers`, {
    phoneNumber: `+1555${String(numbers).padStart(7, "0")}`,
    provider: "sandbox",
  });
  const attachments = [{ type: "base64", data: WAV, filename: "one.wav", isAudioMessage: true }];
  const message = await send(PHONE, { attachments });
  const { downloadUrl } = (await own("GET", `/v1/messages/${message.id}`)).attachments[0];
  const call = await own("POST", `/v1/sandbox/phones/${MEMBER}/calls`, { action: "ring" });
  await own("POST", `/v1/sandbox/phones/${MEMBER}/calls`, { action: "hangup" });
  const world = {
    message: message.id,
    inbound: (await own("POST", `/v1/sandbox/phones/${PHONE}/messages`, { text: "Hi" })).id,
    scheduled: (await send(PHONE, { scheduledAt: new Date(Date.now() + 30 * 3_600_000).toISOString() })).id,
    failed: (await send("+15005550105")).id,
    event: delivery.eventId,
    webhook: webhook.id,
    delivery: delivery.id,
    customer: customer.id,
    number: number.id,
    key: (await admin("POST", "/v1/admin/keys", { name: "spare", customerId: customer.id })).id,
    chat: (await own("POST", "/v1/chats/groups", { participants: [ECHO, MEMBER, PHONE] })).id,
    thread: (await own("GET", `/v1/chats/${PHONE}`)).id,
    contact: (await own("POST", "/v1/contacts", { phoneNumber: `+1557${String(numbers).padStart(7, "0")}` })).id,
    payment: (await own("POST", "/v1/payments/request", { to: PHONE, amount: 25 })).id,
    call: call.id,
    instance: (await admin("POST", "/v1/admin/instances", { name: "spare", provider: "sandbox", config: {} })).id,
    session: await signIn(api),
    token: new URL(downloadUrl).pathname.split("/").at(-1) ?? "",
  };
  const ends = { [world.message]: "delivered", [world.failed]: "failed" };
  for (const [id, status] of Object.entries(ends)) {
    await until(async () => (await own("GET", `/v1/messages/${id}`)).status === status, { what: `${id} ${status}` });
  }
  // The log is written after the responses, and not at all while an instance reaches people.
  const [request] = (await own("GET", "/v1/requests?limit=1")).requests;
  return { ...world, request: request?.id ?? STAND_INS.request };
}

/** Signs a browser in, and returns the id of its session. */
async function signIn({ url, key }: TestService): Promise<string> {
  const headers = { "Content-Type": "application/json", Origin: url };
  const response = await fetch(`${url}/session`, { method: "POST", headers, body: JSON.stringify({ key }) });
  return ((await response.json()) as { data: { id: string } }).data.id;
}

let numbers = 0;

type Asked = (method: string, path: string, body?: object) => Promise<Record<string, { id: string }[]>>;

/** Takes down every provider that reaches people, so that the sandbox's clock moves and loopback is open. */
async function leaveReality(api: TestService, admin: Asked, before?: World): Promise<void> {
  const numbers = `/v1/admin/customers/${before?.customer}`;
  const { numbers: there = [] } = before === undefined ? {} : await admin("GET", numbers);
  for (const { id, provider } of there as { id: string; provider: string }[]) {
    if (provider !== "sandbox") await admin("DELETE", `${numbers}/numbers/${id}`);
  }
  const { instances = [] } = await admin("GET", "/v1/admin/instances?limit=100");
  for (const { id, provider } of instances as { id: string; provider: string }[]) {
    if (provider === "sandbox") continue;
    const { status } = await api.ask("DELETE", `/v1/admin/instances/${id}`, { key: api.adminKey });
    assert.equal(status, 200, "it has no number any more");
  }
}

/** The request with existing ids in place of its stand-ins, and without addresses of other machines. */
function grounded(request: AnyRequest, world: World, imageUrl: string): AnyRequest {
  let text = request.bytes.toString("latin1");
  for (const [kind, standIn] of Object.entries(STAND_INS)) {
    assert.equal(world[kind as Kind].length, standIn.length, kind);
    text = text.replaceAll(standIn, world[kind as Kind]);
  }
  const bytes = Buffer.from(text.replaceAll(...OUTSIDE).replaceAll(IMAGE_URL, imageUrl), "latin1");
  assert.equal(bytes.length, request.bytes.length);
  return { ...request, bytes };
}

/** An admin may know the database's engine and the data directory: `GET /v1/admin/service` states them in this form, however it is asked. */
const TOLD_TO_ADMINS = /"database":\{"engine":"sqlite"|"name":"TB_DATA_DIR","value":"[^"]*"/g;
/** Signs of internals: a stack, a file, SQL, a driver. */
const INSIDE = /\n\s*at |node:internal|node_modules|\.[jt]s:\d|SQLITE|sqlite_|\bselect .* from\b|\binsert into\b/i;

/** Checks that a refusal names the invalid field, if there is one, and that no response reveals internals. */
function checkNamed({ status, body }: RawAnswer, line: string, secrets: readonly string[]): void {
  const told = status === 200 ? body.replaceAll(TOLD_TO_ADMINS, "") : body;
  assert.doesNotMatch(told, INSIDE, line);
  for (const secret of secrets) assert.ok(!told.includes(secret), `${line}: ${body}`);
  if (status !== 400 || body === "") return;
  const { error } = JSON.parse(body) as { error: { code: string; message: string; details?: unknown[] } };
  if (
    error.code !== "VALIDATION_ERROR" ||
    /^This is not a valid HTTP|further endpoints, the most/.test(error.message)
  ) {
    return;
  }
  assert.ok((error.details?.length ?? 0) > 0, `${line}: a bad field has to be named: ${body}`);
}

/** Checks that the reference allows the response. */
async function checkDocumented({ line, head }: AnyRequest, { status, headers, body }: RawAnswer): Promise<void> {
  if (head || !headers["content-type"]?.startsWith("application/json")) return;
  const [method = "", path = ""] = line.split(" ");
  assertAnswered(method, path, status, JSON.parse(body));
}

/** An image on loopback; its address has a port of five digits, however it is written. */
async function serveImage(t: TestContext): Promise<string> {
  const server = createServer((_, response) => void response.end(Buffer.from(PNG, "base64")));
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  t.after(() => {
    server.closeAllConnections();
    server.close();
  });
  return IMAGE_URL.replace("00009", String((server.address() as AddressInfo).port).padStart(5, "0"));
}

test(`${RUNS.toLocaleString("en-US")} requests at every route: none gets a 5xx, and every response is in the envelope`, {
  timeout: 600_000,
}, async (t) => {
  t.diagnostic(`TB_PROPERTY_SEED=${SEED}`);
  const settings = { TB_SANDBOX_INBOX: "on", TB_FETCH_ALLOW: "loopback", TB_WEBHOOK_ALLOW: "loopback" };
  const faults = new Map<string, number>();
  const log = logTo((event, fields) =>
    tally(faults, `${event} ${fields.error instanceof Error ? fields.error.stack : ""}`),
  );
  const api = await startTestService(settings, { log, inThreads: true });
  t.after(() => api.stop());
  const imageUrl = await serveImage(t);
  const shapes = shapesOf(await listRoutes());
  const statuses = new Map<string, number>();
  const succeeded = new Map<string, number>();
  let world = await makeWorld(api);
  let count = 0;
  let refreshAt = REFRESH_EVERY;
  const keys = { messages: api.key, admin: api.adminKey };
  const ask = async (generated: AnyRequest) => {
    count += 1;
    if (count >= refreshAt) {
      world = await makeWorld(api, world);
      refreshAt = count + REFRESH_EVERY;
    }
    const request = grounded(generated, world, imageUrl);
    const answer = await checkAnswered(api.service.port, request, mayFail);
    await checkDocumented(request, answer);
    checkNamed(answer, request.line, [api.dataDir, process.cwd()]);
    tally(statuses, String(answer.status));
    if (answer.status >= 500) tally(statuses, `${answer.status} ${generated.name}`);
    if (answer.status >= 300 || generated.name === null) return;
    tally(succeeded, generated.name);
    if (generated.name === "POST /v1/sandbox/reset") refreshAt = count;
    if (generated.name === "POST /v1/admin/instances") refreshAt = Math.min(refreshAt, count + REFRESH_REAL_AFTER);
  };
  const terms = { seed: SEED, endOnFailure: true };
  await fc.assert(fc.asyncProperty(anyRequest(shapes, keys), ask), { ...terms, numRuns: RUNS });
  for (const [name, own] of Map.groupBy(shapes, ({ name = "" }) => name)) {
    // By chance a route may have got no request that succeeds; then it gets more requests, of its own.
    for (const generated of fc.sample(anyRequest(own, keys), { seed: SEED, numRuns: RUNS_MORE })) {
      if (succeeded.has(name)) break;
      await ask(generated);
    }
  }
  t.diagnostic(JSON.stringify(Object.fromEntries([...statuses].sort())));
  for (const status of [200, 201, 202, 400, 401, 403, 404, 405, 409, 413, 414, 415, 431]) {
    assert.ok(statuses.has(String(status)), `the generator never got a ${status}`);
  }
  // A signal of a phone at the very moment of a reset names no record any more, and is only logged.
  const odd = [...faults].filter(([what]) => !/ names no message of this service/.test(what));
  assert.deepEqual(odd, [], "nor did anything go wrong that nobody asked for");
  t.diagnostic(
    `seldom taken: ${[...succeeded]
      .sort(([, a], [, b]) => a - b)
      .slice(0, 5)
      .join("; ")}`,
  );
  const names = new Set(shapes.map(({ name = "" }) => name)).difference(PASSING);
  const unreached = [...names].filter((name) => !succeeded.has(name));
  assert.deepEqual(unreached, [], "routes at which no request succeeded: what lies behind their checks was not tried");
  assert.equal(Object.hasOwn(Object.prototype, "polluted"), false);
  assert.equal((await api.ask("GET", "/v1/messages")).status, 200, "it goes on as if nothing had been");
  const health = (await (await fetch(`${api.url}/health`)).json()) as { status: string };
  assert.equal(health.status, "ok");
});

/** A log of errors only. */
function logTo(error: (event: string, fields: LogFields) => void): Log {
  const nothing = () => {};
  return { debug: nothing, info: nothing, warn: nothing, error: (event, fields = {}) => error(event, fields) };
}

function tally<Key>(counts: Map<Key, number>, key: Key): void {
  counts.set(key, (counts.get(key) ?? 0) + 1);
}
