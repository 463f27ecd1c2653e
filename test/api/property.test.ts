/** Whatever is asked of the whole running service at any of its routes, it answers in its envelope, and with no fault of its own. */

import assert from "node:assert/strict";
import { randomInt } from "node:crypto";
import { test } from "node:test";
import fc from "fast-check";
import { startReceiver } from "../support/receiver.ts";
import { type AnyRequest, anyRequest, checkAnswered, type RouteShape } from "../support/requests.ts";
import { listRoutes } from "../support/routes.ts";
import { startTestService, type TestService } from "../support/service.ts";
import type { RawAnswer } from "../support/socket.ts";

/** `TB_PROPERTY_RUNS` sets how many requests are tried, `TB_PROPERTY_SEED` which. */
const RUNS = Number(process.env.TB_PROPERTY_RUNS ?? 10_000);
const SEED = Number(process.env.TB_PROPERTY_SEED ?? randomInt(2 ** 31));
/** After so many requests the records that they used up are made anew. */
const REFRESH_EVERY = 200;

/**
 * Ids that the generator writes: each is swapped for that of a record which is there, of the same length, when the
 * request is sent. So a seed makes the same requests, and they still reach what lies behind the checks.
 */
const STAND_INS = {
  message: "msg_00000000-0000-7000-8000-0000000000a1",
  scheduled: "msg_00000000-0000-7000-8000-0000000000a2",
  failed: "msg_00000000-0000-7000-8000-0000000000a3",
  event: "evt_00000000-0000-7000-8000-0000000000a4",
  webhook: "wh_00000000-0000-7000-8000-0000000000a5",
  delivery: "dlv_00000000-0000-7000-8000-0000000000a6",
  customer: "cust_00000000-0000-7000-8000-0000000000a7",
  number: "num_00000000-0000-7000-8000-0000000000a8",
  key: "key_00000000-0000-7000-8000-0000000000a9",
} as const;
type Kind = keyof typeof STAND_INS;

/** Addresses that the generator likes and that would leave this machine, and where they go instead. */
const OUTSIDE = ["https://example.com", "https://127.0.0.1:9"] as const;

interface Schema {
  type?: string;
  format?: string;
  properties?: Record<string, Schema>;
  items?: Schema;
  anyOf?: Schema[];
  required?: string[];
  enum?: unknown[];
  minimum?: number;
  maximum?: number;
  minLength?: number;
  maxLength?: number;
  maxItems?: number;
}

/** Values of a field that are as far out as they may be, and a little farther; ids are of records that are there. */
function extremesOf(name: string, schema: Schema): unknown[] {
  const ids = Object.entries(STAND_INS).filter(([kind]) => name.toLowerCase().includes(`${kind}id`));
  if (ids.length > 0) return ids.map(([, id]) => id);
  if (name === "after") return [STAND_INS.event];
  if (schema.format === "instant" || ["scheduledAt", "from", "to"].includes(name)) return INSTANTS;
  if (name === "url" || name === "callbackUrl") return URLS;
  const { type, minimum, maximum, minLength = 0, maxLength } = schema;
  if (type === "integer" || type === "number") {
    const around = [minimum, maximum]
      .filter((edge) => edge !== undefined)
      .flatMap((edge) => [edge - 1, edge, edge + 1]);
    return [...around, 0, -1, 1.5, Number.MAX_SAFE_INTEGER, 1e308];
  }
  if (type === "string" && maxLength !== undefined) {
    const long = Math.min(maxLength, 20_000);
    const emoji = "\u{1f600}";
    return [
      "x".repeat(minLength),
      "x".repeat(long),
      "x".repeat(long + 1),
      emoji.repeat(long / 2),
      "\u202e\u200d\ufeff",
      " ",
    ];
  }
  return [];
}

const INSTANTS = [
  "0000-01-01T00:00:00Z",
  "0000-01-01T00:00:00+23:59",
  "9999-12-31T23:59:59.999999999Z",
  "9999-12-31T23:59:59.999-23:59",
  "1970-01-01T00:00:00Z",
  "2024-02-29T00:00:00Z",
  "2026-06-30T23:59:60Z",
  "0000-01-01",
  "9999-12-31",
  "+15005550001",
  "+15005550100",
];

const URLS = [
  "http://127.0.0.1:9/hook",
  "http://localhost:9/",
  "http://[::1]:9/",
  "https://0x7f.1/",
  `http://127.0.0.1:9/${"x".repeat(2_000)}`,
  `http://127.0.0.1:9/${"x".repeat(2_100)}`,
  "http://127.0.0.1:9/?q=\u00e9#f",
  "http://u:p@127.0.0.1:9/",
  "https://metadata.google.internal/",
];

const inMs = (ms: number) => new Date(Date.now() + ms).toISOString();

/** Values that a request needs to be taken, by the field: whoever sends them reaches what lies behind the checks. */
const PLAUSIBLE: Readonly<Record<string, readonly unknown[]>> = {
  to: [..."0123456789"].map((last) => `+1500555010${last}`).concat("+15005550116", "a@example.com", "+19995550123"),
  from: ["+15005550001"],
  text: ["Hello", "\u{1f600}".repeat(5_000), "\u202e\ufeff", "x".repeat(10_000)],
  scheduledAt: [inMs(30_000), inMs(86_400_000), inMs(29 * 86_400_000)],
  expiresAt: [inMs(86_400_000), "9999-12-31T23:59:59Z"],
  since: ["0000-01-01T00:00:00Z", inMs(-600_000)],
  until: [inMs(600_000), "9999-12-31T23:59:59Z"],
  callbackUrl: ["http://127.0.0.1:9/callback"],
  url: [..."0123456789"].map((path) => `http://127.0.0.1:9/${path}`),
  name: ["Other", "\u{1f600}"],
  secret: ["", "a secret", "~".repeat(256)],
  phoneNumber: Array.from({ length: 300 }, (_, index) => `+1556${String(index).padStart(7, "0")}`),
  instanceId: ["inst_none"],
  customerId: [STAND_INS.customer],
};

/** The schema with each field narrowed to what `valuesOf` gives for it; a field that gets none stays as it is. */
function narrowed(schema: Schema, valuesOf: (name: string, schema: Schema) => readonly unknown[], name = ""): Schema {
  if (schema.properties !== undefined) {
    const entries = Object.entries(schema.properties).map(([field, inner]) => [
      field,
      narrowed(inner, valuesOf, field),
    ]);
    return { ...schema, properties: Object.fromEntries(entries) };
  }
  if (schema.items !== undefined) return { ...schema, items: narrowed(schema.items, valuesOf, name) };
  const values = schema.enum === undefined ? valuesOf(name, schema) : [];
  return values.length > 0 ? { enum: [...values] } : schema;
}

/** What a path's parameter stands for, by what comes before it. */
function standInsFor(path: string): string[] {
  if (path.startsWith("/v1/messages")) return [STAND_INS.message, STAND_INS.scheduled, STAND_INS.failed];
  if (path.startsWith("/v1/events")) return [STAND_INS.event];
  if (path.startsWith("/v1/webhooks/deliveries")) return [STAND_INS.delivery];
  if (path.startsWith("/v1/webhooks")) return [STAND_INS.webhook];
  if (path.startsWith("/v1/admin/keys")) return [STAND_INS.key];
  if (path.startsWith("/v1/admin/customers")) return [STAND_INS.customer];
  return [];
}

/** The shape without a query, and of its body only what has to be there or is known to be taken. */
function sparseOf(shape: RouteShape): RouteShape {
  if (shape.body === null) return { ...shape, query: null };
  const body = shape.body as Schema;
  const kept = Object.entries(body.properties ?? {}).filter(
    ([name]) => name in PLAUSIBLE || body.required?.includes(name),
  );
  const required = [...(body.required ?? []), "to", "customerId", "phoneNumber"];
  return {
    ...shape,
    query: null,
    body: { ...body, properties: Object.fromEntries(kept), required } as RouteShape["body"],
  };
}

/** Every route as it is, with ids of records that are there, with fields at their extremes, and such as are taken. */
function shapesOf(routes: readonly RouteShape[]): RouteShape[] {
  return routes.flatMap((route) => {
    const paths = route.path.includes(":")
      ? standInsFor(route.path).map((id) => route.path.replace(":numberId", STAND_INS.number).replace(":id", id))
      : [route.path];
    assert.ok(paths.length > 0, `which records has ${route.path} parameters of?`);
    const real = paths.map((path) => ({ ...route, path }));
    const withValues = (shape: RouteShape, valuesOf: Parameters<typeof narrowed>[1]): RouteShape => {
      const of = (schema: RouteShape["body"]) =>
        (schema === null ? null : narrowed(JSON.parse(JSON.stringify(schema)), valuesOf)) as RouteShape["body"];
      return { ...shape, body: of(route.body), query: of(route.query) };
    };
    const extreme = real.map((shape) => withValues(shape, extremesOf));
    const taken = real.map((shape) => withValues(shape, (name) => PLAUSIBLE[name] ?? []));
    const sparse = taken.map(sparseOf);
    const often = route.method === "POST" ? [...sparse, ...sparse] : [];
    return [route, ...real, ...extreme, ...taken, ...sparse, ...sparse, ...often];
  });
}

/** Records that requests may use up; the keys that the test itself goes by are none of them. */
type World = Record<Kind, string>;

async function makeWorld(api: TestService): Promise<World> {
  const own = async (method: string, path: string, body?: object) => {
    const answer = await api.ask(method, path, body === undefined ? {} : { body });
    assert.ok(answer.status < 300, `${method} ${path}: ${JSON.stringify(answer.error)}`);
    return answer.data;
  };
  const admin = async (method: string, path: string, body: object) => {
    const answer = await api.ask(method, path, { key: api.adminKey, body });
    assert.ok(answer.status < 300, `${method} ${path}: ${JSON.stringify(answer.error)}`);
    return answer.data;
  };
  for (const { id } of await own("GET", "/v1/webhooks/list")) await own("DELETE", `/v1/webhooks/${id}`);
  await api.ask("PUT", "/v1/webhooks", { body: { url: "http://127.0.0.1:9/", events: ["*"] } });
  const send = (to: string, more: object = {}) =>
    own("POST", "/v1/messages", { to, content: { text: "Hello" }, ...more });
  const webhook = await own("POST", "/v1/webhooks", { url: "http://127.0.0.1:9/b", events: ["message.read"] });
  const delivery = await own("POST", `/v1/webhooks/${webhook.id}/test`);
  const customer = await admin("POST", "/v1/admin/customers", { name: "Other" });
  numbers += 1;
  const number = await admin("POST", `/v1/admin/customers/${customer.id}/numbers`, {
    phoneNumber: `+1555${String(numbers).padStart(7, "0")}`,
    provider: "sandbox",
  });
  return {
    message: (await send("+15005550100")).id,
    scheduled: (await send("+15005550100", { scheduledAt: new Date(Date.now() + 3_600_000).toISOString() })).id,
    failed: (await send("+15005550105")).id,
    event: delivery.eventId,
    webhook: webhook.id,
    delivery: delivery.id,
    customer: customer.id,
    number: number.id,
    key: (await admin("POST", "/v1/admin/keys", { name: "spare", customerId: customer.id })).id,
  };
}

let numbers = 0;

/** The request with what is there in the place of its stand-ins, and nothing that leads off this machine. */
function grounded(request: AnyRequest, world: World): AnyRequest {
  let text = request.bytes.toString("latin1");
  for (const [kind, standIn] of Object.entries(STAND_INS)) {
    assert.equal(world[kind as Kind].length, standIn.length);
    text = text.replaceAll(standIn, world[kind as Kind]);
  }
  const bytes = Buffer.from(text.replaceAll(...OUTSIDE), "latin1");
  assert.equal(bytes.length, request.bytes.length);
  return { ...request, bytes };
}

/** What tells of the inside: a stack, a file, SQL, a driver. */
const INSIDE = /\n\s*at |node:internal|node_modules|\.[jt]s:\d|SQLITE|sqlite_|\bselect .* from\b|\binsert into\b/i;

/** Checks that a refusal names what is wrong, unless that is no field, and that no answer tells of the inside. */
function checkNamed({ status, body }: RawAnswer, line: string, secrets: readonly string[]): void {
  assert.doesNotMatch(body, INSIDE, line);
  for (const secret of secrets) assert.ok(!body.includes(secret), `${line}: ${body}`);
  if (status !== 400 || body === "") return;
  const { error } = JSON.parse(body) as { error: { code: string; message: string; details?: unknown[] } };
  if (
    error.code !== "VALIDATION_ERROR" ||
    /^This is not a valid HTTP|endpoints beside the configuration/.test(error.message)
  ) {
    return;
  }
  assert.ok((error.details?.length ?? 0) > 0, `${line}: a bad field has to be named: ${body}`);
}

test(`contract 1: ${RUNS.toLocaleString("en-US")} requests at every route, none of them a 5xx, each answer in the envelope`, {
  timeout: 600_000,
}, async (t) => {
  t.diagnostic(`TB_PROPERTY_SEED=${SEED}`);
  const api = await startTestService({ TB_SANDBOX_INBOX: "on" });
  t.after(() => api.stop());
  const receiver = await startReceiver();
  t.after(() => receiver.stop());
  const shapes = shapesOf(await listRoutes());
  const statuses = new Map<number, number>();
  const succeeded = new Map<string, number>();
  let world = await makeWorld(api);
  let count = 0;
  const requests = anyRequest(shapes, { messages: api.key, admin: api.adminKey });
  await fc.assert(
    fc.asyncProperty(requests, async (generated) => {
      count += 1;
      if (count % REFRESH_EVERY === 0) world = await makeWorld(api);
      const request = grounded(generated, world);
      const answer = await checkAnswered(api.service.port, request);
      checkNamed(answer, request.line, [api.dataDir, process.cwd()]);
      tally(statuses, answer.status);
      if (answer.status < 300) tally(succeeded, patternOf(generated.line));
    }),
    { numRuns: RUNS, seed: SEED, endOnFailure: true },
  );
  t.diagnostic(JSON.stringify(Object.fromEntries([...statuses].sort())));
  for (const status of [200, 201, 202, 400, 401, 403, 404, 405, 409, 413, 414, 415, 431]) {
    assert.ok(statuses.has(status), `the generator never got a ${status}`);
  }
  t.diagnostic(
    `seldom taken: ${[...succeeded]
      .sort(([, a], [, b]) => a - b)
      .slice(0, 5)
      .join("; ")}`,
  );
  const unreached = [...new Set(shapes.map(({ method, path }) => patternOf(`${method} ${path}`)))].filter(
    (route) => !succeeded.has(route),
  );
  assert.deepEqual(unreached, [], "routes at which no request succeeded: what lies behind their checks was not tried");
  assert.equal(Object.hasOwn(Object.prototype, "polluted"), false);
  assert.equal((await api.ask("GET", "/v1/messages")).status, 200, "it goes on as if nothing had been");
  const health = (await (await fetch(`${api.url}/health`)).json()) as { status: string };
  assert.equal(health.status, "ok");
});

function tally<Key>(counts: Map<Key, number>, key: Key): void {
  counts.set(key, (counts.get(key) ?? 0) + 1);
}

/** Method and path of a request line with its ids written as what they stand for. */
function patternOf(line: string): string {
  const [method = "", target = ""] = line.split(" ");
  const [path = ""] = target.replace("http://x/", "/").split("?");
  const pattern = path.replaceAll(/\/(msg|evt|wh|dlv|cust|key|num)_[0-9a-f-]{36}/g, (_, kind) =>
    kind === "num" ? "/:numberId" : "/:id",
  );
  return `${method} ${pattern}`;
}
