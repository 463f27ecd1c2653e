/** At no route does a customer see anything of another. A new route must be listed here, or the test fails. */

import assert from "node:assert/strict";
import { after, describe, test } from "node:test";
import type { ErrorCode } from "../../sdk/wire.ts";
import {
  CONTACT,
  EXTERNAL_ID,
  FIRST_NUMBER,
  type ListedRoute,
  OTHER_TEXT,
  readRoutes,
  SECOND_NUMBER,
  startNeighbours,
} from "../support/neighbours.ts";
import { listRoutes } from "../support/routes.ts";

const neighbours = await startNeighbours();
const { api, first, other, admin, ids, one, firstId, otherId, checkHidden } = neighbours;
const ROUTES = await readRoutes(api.url);

after(() => api.stop());

const CUSTOMER_ROUTES = ROUTES.filter(({ scope }) => scope === "messages");
const ADMIN_ROUTES = ROUTES.filter(({ scope }) => scope === "admin");

test("the reference that this test uses lists exactly the served routes", async () => {
  const served = (await listRoutes()).map(({ method, path, scope }) => `${method} ${path} ${scope}`);
  assert.deepEqual(ROUTES.map(({ name, scope }) => `${name} ${scope}`).sort(), served.sort());
  const open = ROUTES.filter(({ scope }) => scope === "public").map(({ name }) => name);
  assert.deepEqual(open, ["GET /v1/attachments/:token"]);
});

/** Whether a path names a contact's phone: an address is anybody's, and no record of a customer. */
const isOfPhones = (path: string) => path.includes("/:phone") || path.startsWith("/v1/sandbox/phones/");

/** Routes of phones, which `isolation-shared.test.ts` tests: add a new route there. */
const PHONE_ROUTES = [
  "GET /v1/capabilities/:phone",
  "GET /v1/contacts/:phone/facetime",
  "GET /v1/contacts/:phone/focus",
  "GET /v1/sandbox/phones/:number/settings",
  "POST /v1/sandbox/phones/:number/audio-kept",
  "POST /v1/sandbox/phones/:number/calls",
  "POST /v1/sandbox/phones/:number/group-photo",
  "POST /v1/sandbox/phones/:number/messages",
  "POST /v1/sandbox/phones/:number/payments",
  "POST /v1/sandbox/phones/:number/reactions",
  "POST /v1/sandbox/phones/:number/typing",
  "PUT /v1/sandbox/phones/:number/settings",
];

test("routes that name a contact's phone have tests of their own", () => {
  const found = CUSTOMER_ROUTES.filter(({ path }) => isOfPhones(path)).map(({ name }) => name);
  assert.deepEqual(found.sort(), PHONE_ROUTES);
});

/** The code of a 404, by the start of the path; the first match counts. */
const NOT_FOUND: readonly (readonly [string, ErrorCode])[] = [
  ["/v1/chats/", "CONVERSATION_NOT_FOUND"],
  ["/v1/webhooks/deliveries/", "NOT_FOUND"],
  ["/v1/webhooks/", "WEBHOOK_NOT_FOUND"],
  ["/v1/", "NOT_FOUND"],
];

describe("another customer's id is a 404, never a 403, in every parameter of", () => {
  /** The view of the first customer after the requests of one route, and so before those of the next. */
  let view: Record<string, unknown> | null = null;
  for (const route of CUSTOMER_ROUTES.filter(({ path }) => path.includes(":") && !isOfPhones(path))) {
    test(route.name, async () => {
      const untouched = view ?? (await viewOfFirst());
      const code = NOT_FOUND.find(([before]) => route.path.startsWith(before))?.[1];
      for (const id of Object.values(ids).flat()) {
        const path = route.path.replaceAll(/:\w+/g, id);
        const line = `${route.method} ${path}`;
        const answer = await other(route.method, path, route.body);
        const outcome = [answer.status, answer.error?.code];
        assert.deepEqual(
          outcome,
          [404, code],
          `${line}: ${answer.status} ${JSON.stringify(answer.error ?? answer.data)}`,
        );
        checkHidden(line, answer, path);
        const stranger = id.replace(/.{12}$/, "0".repeat(12));
        const nobody = await other(route.method, route.path.replaceAll(/:\w+/g, stranger), route.body);
        assert.deepEqual(outcome, [nobody.status, nobody.error?.code], `${line} tells that it is there`);
        const words = answer.error?.message.replaceAll(id, stranger);
        assert.equal(words, nobody.error?.message, `${line} tells by its words that it is there`);
      }
      view = await viewOfFirst();
      assert.deepEqual(view, untouched, "and nothing was changed");
    });
  }
});

/** The sandbox, the request log, which has these requests too, and the Wire, which never ends. */
const CHANGING = /^\/v1\/(sandbox|requests|wire)/;

/** Everything that the first customer can read, without values that change by themselves. */
async function viewOfFirst(): Promise<Record<string, unknown>> {
  const view: Record<string, unknown> = {};
  for (const { method, path } of CUSTOMER_ROUTES) {
    if (method !== "GET" || path.includes(":") || CHANGING.test(path)) continue;
    const { data } = await first("GET", path);
    view[path] = path.startsWith("/v1/webhooks/deliveries")
      ? data.deliveries.map(({ id }: { id: string }) => id)
      : data;
  }
  return view;
}

/** The query that a route needs to respond soon. */
const SOON: Record<string, string> = { "/v1/sandbox/wait": "timeoutSeconds=0&" };

describe("no data of another customer is in the response of", () => {
  // The Wire never ends; `wire.test.ts` looks at it.
  const lists = CUSTOMER_ROUTES.filter(({ method, path }) => method === "GET" && !/:|wire$/.test(path));
  for (const route of lists) {
    test(route.name, async () => {
      const base = `${route.path}?${SOON[route.path] ?? ""}`;
      const answer = await other("GET", base.slice(0, -1));
      assert.equal(answer.status, 200);
      checkHidden(route.path, answer);
      for (const name of route.query) {
        for (const value of [...Object.values(ids).flat(), EXTERNAL_ID, CONTACT, FIRST_NUMBER]) {
          const query = `${base}${name}=${encodeURIComponent(value)}`;
          const answer = await other("GET", query);
          assert.ok([200, 400].includes(answer.status), `${query}: ${answer.status}`);
          checkHidden(query, answer, value);
          if (answer.status === 200) assert.deepEqual(emptied(answer.data), answer.data, `${query} finds something`);
        }
      }
      const cursor = await cursorOfFirst(route.path);
      if (cursor !== null) checkHidden(`${route.path} by a cursor`, await other("GET", `${base}cursor=${cursor}`));
    });
  }
});

/** A list without any record. */
function emptied(data: Record<string, unknown> | null): unknown {
  if (data === null) return null;
  return Object.fromEntries(Object.entries(data).map(([name, value]) => [name, Array.isArray(value) ? [] : value]));
}

/** A cursor of the first customer's list; null for a list with one page. */
async function cursorOfFirst(path: string): Promise<string | null> {
  const { data } = await first("GET", `${path}?${SOON[path] ?? ""}limit=1`);
  return data?.pagination?.nextCursor ?? null;
}

interface Write {
  body?: object;
  /** Allowed statuses of its responses. */
  statuses: number[];
  code?: ErrorCode;
}

const content = { text: OTHER_TEXT };
const mediaUrls = ["https://images.example.org/1.png", "https://images.example.org/2.png"];
const participants = ["+15005550131", "+15005550132"];
const to = "+15005550100";

/** Refused requests that name something of the first customer. */
const foreign = (body: object, status: number, code: ErrorCode): Write => ({ body, statuses: [status], code });

/**
 * Routes without a parameter that change records: the second customer's request to each. It changes only its own
 * records.
 */
const WRITES: Record<string, Write[]> = {
  "POST /v1/messages": [
    { body: { to, content }, statuses: [202] },
    foreign({ to, from: FIRST_NUMBER, content }, 403, "ADDRESS_NOT_AUTHORIZED"),
    foreign({ chatId: one.group, content }, 404, "CONVERSATION_NOT_FOUND"),
    foreign({ chatId: one.thread, content }, 404, "CONVERSATION_NOT_FOUND"),
    foreign({ conversationId: one.thread, content }, 404, "CONVERSATION_NOT_FOUND"),
    foreign({ chatId: CONTACT, content }, 404, "CONVERSATION_NOT_FOUND"),
    foreign({ chatId: one.thread, from: SECOND_NUMBER, content }, 404, "CONVERSATION_NOT_FOUND"),
    foreign({ to: CONTACT, content, replyTo: one.delivered }, 404, "REPLY_NOT_FOUND"),
    foreign({ to: CONTACT, content, replyTo: one.inbound }, 404, "REPLY_NOT_FOUND"),
  ],
  "POST /v1/messages/carousel": [
    { body: { to, mediaUrls }, statuses: [202] },
    foreign({ to, from: FIRST_NUMBER, mediaUrls }, 403, "ADDRESS_NOT_AUTHORIZED"),
    foreign({ chatId: one.group, mediaUrls }, 404, "CONVERSATION_NOT_FOUND"),
    foreign({ to: CONTACT, mediaUrls, replyTo: one.delivered }, 404, "REPLY_NOT_FOUND"),
  ],
  "POST /v1/chats/groups": [
    { body: { participants }, statuses: [201] },
    foreign({ participants, from: FIRST_NUMBER }, 403, "ADDRESS_NOT_AUTHORIZED"),
  ],
  "POST /v1/payments/request": [
    { body: { to, amount: 25 }, statuses: [202] },
    foreign({ to, amount: 25, from: FIRST_NUMBER }, 403, "ADDRESS_NOT_AUTHORIZED"),
  ],
  "PUT /v1/opt-outs/settings": [{ body: { keywords: ["BASTA"] }, statuses: [200] }],
  "PUT /v1/webhooks": [{ body: { url: "http://127.0.0.1:9/mine", events: ["*"] }, statuses: [200] }],
  "POST /v1/webhooks": [{ body: { url: "http://127.0.0.1:9/more", events: ["*"] }, statuses: [201] }],
  "POST /v1/webhooks/test": [{ statuses: [200] }],
  "POST /v1/webhooks/rotate-secret": [{ statuses: [200] }],
  "DELETE /v1/webhooks": [{ statuses: [200] }, { statuses: [404], code: "WEBHOOK_NOT_CONFIGURED" }],
  "POST /v1/contacts": [{ body: { phoneNumber: CONTACT }, statuses: [201] }],
  "POST /v1/contacts/bulk": [{ body: { contacts: [{ phoneNumber: "+15005550101" }] }, statuses: [201] }],
  "DELETE /v1/contacts/bulk": [{ body: { ids: ids.contact }, statuses: [200] }],
  "PUT /v1/sandbox/inbox/behaviour": [{ body: { status: 500 }, statuses: [200] }],
  "DELETE /v1/sandbox/inbox": [{ statuses: [200] }],
  "POST /v1/sandbox/reset": [{ body: {}, statuses: [200] }],
};

test("a route without an id changes only the caller's own data", async () => {
  const routes = CUSTOMER_ROUTES.filter(({ method, path }) => method !== "GET" && !path.includes(":"));
  const unnamed = routes.filter(({ name }) => WRITES[name] === undefined).map(({ name }) => name);
  assert.deepEqual(unnamed, [], "new routes: say in WRITES what another customer may do there");
  const view = await viewOfFirst();
  const inboxBefore = (await first("GET", "/v1/sandbox/inbox")).data;
  for (const [line, writes] of Object.entries(WRITES)) {
    const route = routes.find(({ name }) => name === line);
    assert.ok(route !== undefined, `${line} is no route any more`);
    for (const { body, statuses, code } of writes) {
      const answer = await other(route.method, route.path, body);
      const outcome = `${line} ${JSON.stringify(body)}: ${answer.status} ${JSON.stringify(answer.error)}`;
      assert.ok(statuses.includes(answer.status), outcome);
      assert.equal(answer.error?.code, code, outcome);
      checkHidden(line, answer, JSON.stringify(body));
    }
  }
  assert.deepEqual(await viewOfFirst(), view);
  const inboxAfter = (await first("GET", "/v1/sandbox/inbox")).data;
  assert.deepEqual(
    [inboxAfter.url, inboxAfter.secret, inboxAfter.behaviour],
    [inboxBefore.url, inboxBefore.secret, inboxBefore.behaviour],
  );
  assert.ok(inboxAfter.requests.length >= inboxBefore.requests.length);
  assert.ok(!JSON.stringify(inboxAfter).includes(OTHER_TEXT));
});

/** The path of a route with somebody's message in each parameter. */
const anyPath = ({ path }: ListedRoute) => path.replaceAll(/:\w+/g, one.delivered);

describe("an admin key is 403 FORBIDDEN at", () => {
  for (const route of CUSTOMER_ROUTES) {
    test(route.name, async () => {
      const { status, error } = await admin(route.method, anyPath(route), route.body);
      assert.deepEqual([status, error?.code], [403, "FORBIDDEN"]);
    });
  }
});

describe("a messages key is 403 FORBIDDEN at", () => {
  for (const route of ADMIN_ROUTES) {
    test(route.name, async () => {
      for (const id of [firstId, otherId, ...ids.key]) {
        const path = route.path.replace(":numberId", ids.number[0] ?? "").replace(":id", id);
        const { status, error } = await other(route.method, path, route.body);
        assert.deepEqual([status, error?.code], [403, "FORBIDDEN"], path);
      }
    });
  }
});

test("with two customers neither moves the sandbox's clock, and an admin key does", async () => {
  for (const body of [{ reset: true }, { advance: "1h" }]) {
    const { status, error } = await other("POST", "/v1/sandbox/clock", body);
    assert.deepEqual([status, error?.code], [403, "FORBIDDEN"]);
    assert.match(error?.message ?? "", /only an admin key moves it/);
  }
  assert.equal((await other("GET", "/v1/sandbox/clock")).data.offsetMs, 0);
  assert.equal((await admin("GET", "/v1/sandbox/clock")).data.offsetMs, 0);
  assert.equal((await admin("POST", "/v1/sandbox/clock", { reset: true })).data.offsetMs, 0);
});

test("a messages key has its own usage and its own requests at the routes for all keys", async () => {
  const open = ROUTES.filter(({ scope }) => scope === "any").map(({ name }) => name);
  const log = ["GET /v1/requests", "GET /v1/requests/:id", "GET /v1/requests/errors"];
  const clock = ["GET /v1/sandbox/clock", "POST /v1/sandbox/clock"];
  assert.deepEqual(open.sort(), ["GET /v1/admin/usage", ...log, ...clock]);
  const oneKind = ROUTES.filter(({ scope }) => scope !== "any");
  const misplaced = oneKind.filter(({ path, scope }) => path.startsWith("/v1/admin") !== (scope === "admin"));
  assert.deepEqual(misplaced, [], "admin routes are under /v1/admin, and nothing else is");
  const own = await other("GET", "/v1/admin/usage");
  assert.equal(own.status, 200);
  assert.equal(own.data.key.name, "Second");
  checkHidden("GET /v1/admin/usage", own);
  for (const query of [`keyId=${ids.key[0]}`, `customerId=${firstId}`]) {
    const answer = await other("GET", `/v1/admin/usage?${query}`);
    assert.equal(answer.status, 404, query);
    checkHidden(query, answer, query);
  }
});

test("without a key, or with one that was revoked, every route is 401", async () => {
  const { data } = await admin("POST", "/v1/admin/keys", { name: "gone", customerId: otherId });
  await admin("DELETE", `/v1/admin/keys/${data.id}`);
  for (const route of ROUTES.filter(({ scope }) => scope !== "public")) {
    for (const key of [null, data.key as string]) {
      const answer = await api.ask(route.method, anyPath(route), { key, body: route.body });
      assert.deepEqual([answer.status, answer.error?.code], [401, "UNAUTHORIZED"], route.name);
    }
  }
});
