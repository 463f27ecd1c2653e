/** What one customer sees of another, at every route there is: nothing. A new route has to be told of here, or it fails. */

import assert from "node:assert/strict";
import { after, before, describe, test } from "node:test";
import type { Route } from "../../server/http/route.ts";
import { listRoutes } from "../support/routes.ts";
import { type Answered, startTestService, type TestService } from "../support/service.ts";
import { until } from "../support/wait.ts";

/** What only the first customer knows; none of it may stand in any answer to the second. */
const SECRET_TEXT = "for nobody else's eyes";
const EXTERNAL_ID = "only-mine-4711";
const URL_PART = "first-customers-hook";
const CONTACT = "+15005550142";
/** What only the second one wrote. */
const OTHER_TEXT = "a word of the second";

interface Schema {
  type?: string;
  format?: string;
  properties?: Record<string, Schema>;
  required?: string[];
  items?: Schema;
  enum?: unknown[];
  minLength?: number;
}

const ROUTES = await listRoutes();

let api: TestService;
/** Keys of the second customer: to send and to administer nothing. */
let otherKey: string;
let otherId: string;
let firstId: string;
/** Every id that the first customer has, by what it is of. */
let ids: Record<string, string[]>;
/** What must not be seen. */
let hidden: string[];

before(async () => {
  api = await startTestService({ TB_SANDBOX_INBOX: "on" });
  const { data: customer } = await admin("POST", "/v1/admin/customers", { name: "Second" });
  otherId = customer.id;
  await admin("POST", `/v1/admin/customers/${otherId}/numbers`, { phoneNumber: "+15005550002", provider: "sandbox" });
  const { data: key } = await admin("POST", "/v1/admin/keys", { name: "Second", customerId: otherId });
  otherKey = key.key;
  ids = await layOut();
  hidden = [SECRET_TEXT, EXTERNAL_ID, URL_PART, CONTACT, firstId, ...Object.values(ids).flat()];
});

after(() => api.stop());

const admin = (method: string, path: string, body?: object) =>
  api.ask(method, path, { key: api.adminKey, ...(body === undefined ? {} : { body }) });
const other = (method: string, path: string, body?: unknown) =>
  api.ask(method, path, { key: otherKey, ...(body === undefined ? {} : { body }) });

/** Gives the first customer a record of every kind, and collects their ids. */
async function layOut(): Promise<Record<string, string[]>> {
  const content = { text: SECRET_TEXT };
  const send = (more: object = {}) =>
    api.ask("POST", "/v1/messages", { body: { to: CONTACT, content, externalMessageId: EXTERNAL_ID, ...more } });
  const url = `http://127.0.0.1:9/${URL_PART}`;
  await api.ask("PUT", "/v1/webhooks", { body: { url, events: ["*"] } });
  await api.ask("POST", "/v1/webhooks", { body: { url: `${url}/2`, events: ["message.failed"], name: SECRET_TEXT } });
  const scheduledAt = new Date(Date.now() + 3_600_000).toISOString();
  const sent = [await send(), await send({ scheduledAt }), await send({ to: "+15005550105" })];
  const messages = sent.map(({ data }) => data.id as string);
  const ends = [
    ["delivered", 0],
    ["failed", 2],
  ] as const;
  for (const [status, index] of ends) {
    await until(async () => (await api.ask("GET", `/v1/messages/${messages[index]}`)).data.status === status);
  }
  const list = async (path: string, name: string): Promise<string[]> => {
    const { data } = await api.ask("GET", `${path}?limit=100`);
    return data[name].map(({ id }: { id: string }) => id);
  };
  const { data: webhooks } = await api.ask("GET", "/v1/webhooks/list");
  const { data: keys } = await admin("GET", "/v1/admin/keys");
  const own = keys.keys.find(
    (key: { customerId: string | null }) => key.customerId !== null && key.customerId !== otherId,
  );
  firstId = own.customerId;
  const { data: first } = await admin("GET", `/v1/admin/customers/${firstId}`);
  return {
    message: messages,
    event: await list("/v1/events", "events"),
    webhook: webhooks.map(({ id }: { id: string }) => id),
    delivery: await list("/v1/webhooks/deliveries", "deliveries"),
    key: [own.id],
    number: first.numbers.map(({ id }: { id: string }) => id),
  };
}

/** Checks that an answer shows nothing of the first customer but what the second had named itself. */
function checkHidden(line: string, answer: Answered, named: string): void {
  const seen = JSON.stringify({ data: answer.data, error: answer.error });
  for (const secret of hidden) {
    if (named.includes(secret)) continue;
    assert.ok(!seen.includes(secret), `${line} shows ${secret}: ${seen}`);
  }
}

/** The least body that fits a schema. */
function leastOf(schema: Schema): unknown {
  if (schema.enum !== undefined) return schema.enum[0];
  if (schema.properties !== undefined) {
    const { properties, required = [] } = schema;
    return Object.fromEntries(required.map((name) => [name, leastOf(properties[name] ?? {})]));
  }
  if (schema.items !== undefined) return [leastOf(schema.items)];
  if (schema.format === "instant") return "2026-01-01T00:00:00Z";
  if (schema.type === "string") return "x".repeat(schema.minLength ?? 1);
  return schema.type === "boolean" ? true : 1;
}

const bodyOf = ({ body }: Route) => (body === null ? undefined : leastOf(JSON.parse(JSON.stringify(body))));
const nameOf = ({ method, path }: Route) => `${method} ${path}`;
const CUSTOMER_ROUTES = ROUTES.filter(({ scope }) => scope === "messages");
const ADMIN_ROUTES = ROUTES.filter(({ scope }) => scope === "admin");

describe("contract 2: another customer's id is a 404, never a 403, in every parameter of", () => {
  for (const route of CUSTOMER_ROUTES.filter(({ path }) => path.includes(":"))) {
    test(nameOf(route), async () => {
      const untouched = await viewOfFirst();
      for (const id of Object.values(ids).flat()) {
        const path = route.path.replaceAll(/:\w+/g, id);
        const line = `${route.method} ${path}`;
        const answer = await other(route.method, path, bodyOf(route));
        assert.equal(answer.status, 404, `${line}: ${answer.status} ${JSON.stringify(answer.error ?? answer.data)}`);
        checkHidden(line, answer, path);
        const nobody = await other(
          route.method,
          route.path.replaceAll(/:\w+/g, id.replace(/.{12}$/, "0".repeat(12))),
          bodyOf(route),
        );
        assert.deepEqual(
          [answer.status, answer.error?.code],
          [nobody.status, nobody.error?.code],
          `${line} tells that it is there`,
        );
      }
      assert.deepEqual(await viewOfFirst(), untouched, "and nothing was changed");
    });
  }
});

/** All that the first customer reads of itself; what goes on by itself is left out. */
async function viewOfFirst(): Promise<Record<string, unknown>> {
  const view: Record<string, unknown> = {};
  for (const { method, path } of CUSTOMER_ROUTES) {
    if (method !== "GET" || path.includes(":") || path.startsWith("/v1/sandbox")) continue;
    const { data } = await api.ask("GET", path);
    view[path] = path.startsWith("/v1/webhooks/deliveries")
      ? data.deliveries.map(({ id }: { id: string }) => id)
      : data;
  }
  return view;
}

describe("contract 2: nothing of another customer is shown by", () => {
  for (const route of CUSTOMER_ROUTES.filter(({ method, path }) => method === "GET" && !path.includes(":"))) {
    test(nameOf(route), async () => {
      const answer = await other("GET", route.path);
      assert.equal(answer.status, 200);
      checkHidden(route.path, answer, "");
      const parameters = Object.keys((JSON.parse(JSON.stringify(route.query)) as Schema | null)?.properties ?? {});
      for (const name of parameters) {
        for (const value of [...Object.values(ids).flat(), EXTERNAL_ID, CONTACT, "+15005550001"]) {
          const query = `${route.path}?${name}=${encodeURIComponent(value)}`;
          const answer = await other("GET", query);
          assert.ok([200, 400].includes(answer.status), `${query}: ${answer.status}`);
          checkHidden(query, answer, value);
          if (answer.status === 200) assert.deepEqual(emptied(answer.data), answer.data, `${query} finds something`);
        }
      }
      const cursor = await cursorOfFirst(route.path);
      if (cursor !== null)
        checkHidden(`${route.path} by a cursor`, await other("GET", `${route.path}?cursor=${cursor}`), "");
    });
  }
});

/** A list without any record. */
function emptied(data: Record<string, unknown>): unknown {
  return Object.fromEntries(Object.entries(data).map(([name, value]) => [name, Array.isArray(value) ? [] : value]));
}

/** A cursor that the first customer was given by a list, or null where it has no second page. */
async function cursorOfFirst(path: string): Promise<string | null> {
  const { data } = await api.ask("GET", `${path}?limit=1`);
  return data?.pagination?.nextCursor ?? null;
}

interface Write {
  body?: (route: Route) => unknown;
  /** Statuses that it may answer. */
  statuses: number[];
  code?: string;
}

/**
 * Routes without a parameter that change something: what the second customer asks of each. What it changes is its own,
 * so everything of the first stays.
 */
const WRITES: Record<string, Write[]> = {
  "POST /v1/messages": [
    { body: () => ({ to: "+15005550100", content: { text: OTHER_TEXT } }), statuses: [202] },
    {
      body: () => ({ to: "+15005550100", from: "+15005550001", content: { text: OTHER_TEXT } }),
      statuses: [403],
      code: "ADDRESS_NOT_AUTHORIZED",
    },
  ],
  "PUT /v1/webhooks": [{ body: () => ({ url: "http://127.0.0.1:9/mine", events: ["*"] }), statuses: [200] }],
  "POST /v1/webhooks": [{ body: () => ({ url: "http://127.0.0.1:9/more", events: ["*"] }), statuses: [201] }],
  "POST /v1/webhooks/test": [{ statuses: [200] }],
  "POST /v1/webhooks/rotate-secret": [{ statuses: [200] }],
  "DELETE /v1/webhooks": [{ statuses: [200] }, { statuses: [404], code: "WEBHOOK_NOT_CONFIGURED" }],
  "PUT /v1/sandbox/inbox/behaviour": [{ body: () => ({ status: 500 }), statuses: [200] }],
  "DELETE /v1/sandbox/inbox": [{ statuses: [200] }],
};

test("contract 2: what a customer changes is its own, at every route that changes something without naming an id", async () => {
  const routes = CUSTOMER_ROUTES.filter(({ method, path }) => method !== "GET" && !path.includes(":"));
  const unnamed = routes.filter((route) => WRITES[nameOf(route)] === undefined).map(nameOf);
  assert.deepEqual(unnamed, [], "new routes: say in WRITES what another customer may do there");
  const view = await viewOfFirst();
  const inboxBefore = (await api.ask("GET", "/v1/sandbox/inbox")).data;
  for (const [line, writes] of Object.entries(WRITES)) {
    const route = routes.find((candidate) => nameOf(candidate) === line);
    assert.ok(route !== undefined, `${line} is no route any more`);
    for (const { body, statuses, code } of writes) {
      const answer = await other(route.method, route.path, body?.(route));
      assert.ok(statuses.includes(answer.status), `${line}: ${answer.status} ${JSON.stringify(answer.error)}`);
      assert.equal(answer.error?.code, code, line);
      checkHidden(line, answer, "");
    }
  }
  assert.deepEqual(await viewOfFirst(), view);
  const inboxAfter = (await api.ask("GET", "/v1/sandbox/inbox")).data;
  assert.deepEqual(
    [inboxAfter.url, inboxAfter.secret, inboxAfter.behaviour],
    [inboxBefore.url, inboxBefore.secret, inboxBefore.behaviour],
  );
  assert.ok(inboxAfter.requests.length >= inboxBefore.requests.length);
  assert.ok(!JSON.stringify(inboxAfter).includes(OTHER_TEXT));
});

test("contract 3: an idempotency key is per customer: another's use of it makes a message of its own", async () => {
  const asking = { body: { to: "+15005550100", content: { text: SECRET_TEXT }, idempotencyKey: "shared" } };
  const first = await api.ask("POST", "/v1/messages", asking);
  const second = await api.ask("POST", "/v1/messages", { ...asking, key: otherKey });
  assert.deepEqual([first.status, second.status], [202, 202]);
  assert.notEqual(first.data.id, second.data.id);
  assert.equal((await other("GET", `/v1/messages/${first.data.id}`)).status, 404);
});

describe("contract 2: an admin key is 403 FORBIDDEN at", () => {
  for (const route of CUSTOMER_ROUTES) {
    test(nameOf(route), async () => {
      const path = route.path.replaceAll(/:\w+/g, ids.message?.[0] ?? "");
      const { status, error } = await admin(route.method, path, bodyOf(route) as object);
      assert.deepEqual([status, error?.code], [403, "FORBIDDEN"]);
    });
  }
});

describe("contract 2: a messages key is 403 FORBIDDEN at", () => {
  for (const route of ADMIN_ROUTES) {
    test(nameOf(route), async () => {
      for (const id of [firstId, otherId, ids.key?.[0] ?? ""]) {
        const path = route.path.replace(":numberId", ids.number?.[0] ?? "").replace(":id", id);
        const { status, error } = await other(route.method, path, bodyOf(route));
        assert.deepEqual([status, error?.code], [403, "FORBIDDEN"], path);
      }
    });
  }
});

test("contract 2: of /v1/admin a messages key has GET usage alone, and of that only its own", async () => {
  const open = ROUTES.filter(({ scope }) => scope === "any").map(nameOf);
  assert.deepEqual(open, ["GET /v1/admin/usage"]);
  assert.deepEqual(
    ROUTES.filter(({ path, scope }) => path.startsWith("/v1/admin") !== (scope !== "messages")).map(nameOf),
    [],
    "admin routes are under /v1/admin, and nothing else is",
  );
  const own = await other("GET", "/v1/admin/usage");
  assert.equal(own.status, 200);
  assert.equal(own.data.key.name, "Second");
  checkHidden("GET /v1/admin/usage", own, "");
  for (const query of [`keyId=${ids.key?.[0]}`, `customerId=${firstId}`]) {
    const answer = await other("GET", `/v1/admin/usage?${query}`);
    assert.equal(answer.status, 404, query);
    checkHidden(query, answer, query);
  }
});

test("contract 1: without a key, or with one that was revoked, every route is 401", async () => {
  const { data } = await admin("POST", "/v1/admin/keys", { name: "gone", customerId: otherId });
  await admin("DELETE", `/v1/admin/keys/${data.id}`);
  for (const route of ROUTES) {
    const path = route.path.replaceAll(/:\w+/g, ids.message?.[0] ?? "");
    for (const key of [null, data.key as string]) {
      const answer = await api.ask(route.method, path, { key, body: bodyOf(route) });
      assert.deepEqual([answer.status, answer.error?.code], [401, "UNAUTHORIZED"], nameOf(route));
    }
  }
});
