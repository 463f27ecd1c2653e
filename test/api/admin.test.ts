/** Customers, numbers and keys over HTTP, as admins manage them. */

import assert from "node:assert/strict";
import { test } from "node:test";
import type { CustomerNumber, Key } from "../../sdk/wire.ts";
import { newSigningSecret } from "../../server/core/signature.ts";
import { customerSecretPlace, endpointSecretPlace } from "../../server/engine/secret-places.ts";
import type { Provider } from "../../server/providers/provider.ts";
import { findCustomer } from "../../server/store/customers.ts";
import { findInbox } from "../../server/store/inboxes.ts";
import { findKey } from "../../server/store/keys.ts";
import { type AdminApi, startAdminApi } from "../support/admin-api.ts";
import { until } from "../support/wait.ts";

const CUSTOMERS = "/v1/admin/customers";
const KEYS = "/v1/admin/keys";

const makeCustomer = (api: AdminApi, body = {}) =>
  api.data(`POST ${CUSTOMERS}`, { body: { name: "Acme", ...body } }, 201);
const addNumber = (api: AdminApi, id: string, body = {}): Promise<CustomerNumber> =>
  api.data(`POST ${CUSTOMERS}/${id}/numbers`, { body: { provider: "sandbox", ...body } }, 201);

test("creating a customer returns 201; GET by id returns it with its numbers and every field", async (t) => {
  const api = await startAdminApi(t);
  const made = await makeCustomer(api, { email: "Ops@acme.example", company: "Acme Ltd" });
  assert.deepEqual(Object.keys(made), ["id", "name", "email", "company", "createdAt"]);
  assert.match(made.id, /^cust_[0-9a-f-]{36}$/);
  assert.equal(made.createdAt, "2026-01-01T00:00:00.000Z");
  assert.deepEqual(await api.data(`GET ${CUSTOMERS}/${made.id}`), { ...made, numbers: [], warnings: [] });
  const bare = await makeCustomer(api);
  assert.deepEqual([bare.email, bare.company], [null, null]);
});

test("a new customer has an encrypted signing secret that was never shown, and an inbox with its own secret", async (t) => {
  const api = await startAdminApi(t);
  const { id } = await makeCustomer(api);
  const customer = await findCustomer(api.deps.store.db, id);
  assert.equal(customer?.secretKnown, false);
  const opened = api.deps.sealer.open(customer?.secret ?? "", customerSecretPlace(id));
  assert.match(opened, /^whsec_[A-Za-z0-9+/]{43}=$/);
  assert.equal(opened.length, newSigningSecret((size) => new Uint8Array(size)).length);
  const inbox = await findInbox(api.deps.store.db, id);
  assert.ok(inbox !== null && inbox.secret !== null && inbox.active);
  assert.match(inbox.url, /^\/sandbox\/inbox\/[0-9a-f]{32}$/);
  assert.deepEqual(inbox.events, ["*"]);
  assert.notEqual(api.deps.sealer.open(inbox.secret, endpointSecretPlace(inbox.id)), opened);
});

test("lists of customers and keys page by cursor, newest first, and stay stable while rows are added", async (t) => {
  const api = await startAdminApi(t);
  const made: string[] = [];
  for (const name of ["a", "b", "c"]) made.unshift((await makeCustomer(api, { name })).id);
  const first = await api.data(`GET ${CUSTOMERS}?limit=2`);
  assert.deepEqual(
    first.customers.map(({ id }: { id: string }) => id),
    made.slice(0, 2),
  );
  assert.equal(first.pagination.hasMore, true);
  await makeCustomer(api, { name: "d" });
  const second = await api.data(`GET ${CUSTOMERS}?limit=2&cursor=${first.pagination.nextCursor}`);
  assert.deepEqual(
    second.customers.map(({ id }: { id: string }) => id),
    [made[2], api.customer.id],
  );
  assert.deepEqual(second.pagination, { hasMore: false, nextCursor: null });
  const keys = await api.data(`GET ${KEYS}?limit=1`);
  assert.deepEqual(
    keys.keys.map(({ id }: Key) => id),
    [api.adminId],
  );
  assert.equal("key" in keys.keys[0], false);
  for (const path of [CUSTOMERS, KEYS]) {
    assert.deepEqual(await api.failure(`GET ${path}?cursor=${first.pagination.nextCursor}x`, {}, 400), {
      code: "VALIDATION_ERROR",
      paths: ["cursor"],
    });
    assert.deepEqual((await api.failure(`GET ${path}?limit=101`, {}, 400)).paths, ["limit"]);
  }
  const ofOther = `GET ${KEYS}?cursor=${first.pagination.nextCursor}`;
  assert.deepEqual((await api.failure(ofOther, {}, 400)).paths, ["cursor"]);
});

test("admin routes accept only admin keys, and admin keys open no other route", async (t) => {
  const api = await startAdminApi(t);
  for (const line of [`GET ${CUSTOMERS}`, `GET ${KEYS}`, `POST ${KEYS}`, `DELETE ${KEYS}/${api.adminId}`]) {
    assert.equal((await api.failure(line, { key: api.key }, 403)).code, "FORBIDDEN");
  }
  assert.equal((await api.failure("GET /v1/numbers", {}, 403)).code, "FORBIDDEN");
});

test("an error names every invalid field of a customer, a number or a key", async (t) => {
  const api = await startAdminApi(t);
  const { id } = api.customer;
  const rows: [line: string, body: unknown, paths: string[]][] = [
    [`POST ${CUSTOMERS}`, { email: "nobody", extra: 1 }, ["email", "extra", "name"]],
    [`POST ${CUSTOMERS}`, { name: "", company: 5 }, ["company", "name"]],
    [`POST ${CUSTOMERS}/${id}/numbers`, { phoneNumber: "5550100", provider: "pigeon" }, ["phoneNumber", "provider"]],
    [`POST ${CUSTOMERS}/${id}/numbers`, { provider: "sandbox" }, ["email", "phoneNumber"]],
    [
      `POST ${CUSTOMERS}/${id}/numbers`,
      { provider: "sandbox", phoneNumber: "+15550000009", email: "a@b.example" },
      ["email", "phoneNumber"],
    ],
    [
      `POST ${CUSTOMERS}/${id}/numbers`,
      { provider: "sandbox", phoneNumber: "+15550000009", instanceId: "inst_none" },
      ["instanceId"],
    ],
    [`POST ${KEYS}`, {}, ["name"]],
    [`POST ${KEYS}`, { name: "x" }, ["customerEmail", "customerId"]],
    [`POST ${KEYS}`, { name: "x", customerId: id, customerEmail: "a@b.example" }, ["customerEmail", "customerId"]],
    [`POST ${KEYS}`, { name: "x", scope: "admin", customerId: id }, ["customerId"]],
    [`POST ${KEYS}`, { name: "x", customerId: "cust_none" }, ["customerId"]],
    [`POST ${KEYS}`, { name: "x", customerEmail: "none@b.example" }, ["customerEmail"]],
    [`POST ${KEYS}`, { name: "x", expiresAt: "2025-12-31T23:59:59Z" }, ["customerEmail", "customerId", "expiresAt"]],
    [
      `POST ${KEYS}`,
      { name: "x", customerId: id, rateLimit: { limit: 0 } },
      ["rateLimit.limit", "rateLimit.windowSeconds"],
    ],
    [`POST ${KEYS}/${api.adminId}/rotate`, { gracePeriodSeconds: -1 }, ["gracePeriodSeconds"]],
  ];
  for (const [line, body, paths] of rows) {
    const failure = await api.failure(line, { body }, 400);
    assert.deepEqual([failure.code, failure.paths.sort()], ["VALIDATION_ERROR", paths], JSON.stringify(body));
  }
});

test("the first number is the default; a number shows what it can do; an e-mail address has no SMS", async (t) => {
  const api = await startAdminApi(t);
  const { id } = await makeCustomer(api);
  const first = await addNumber(api, id, { phoneNumber: "+15550001001" });
  assert.deepEqual(first, {
    id: first.id,
    phoneNumber: "+15550001001",
    email: null,
    provider: "sandbox",
    instanceId: api.instance.id,
    capabilities: { imessage: true, sms: true },
    isDefault: true,
    createdAt: "2026-01-01T00:00:00.000Z",
  });
  const second = await addNumber(api, id, { email: "Desk@Acme.Example", instanceId: api.instance.id });
  assert.deepEqual(
    [second.phoneNumber, second.email, second.capabilities, second.isDefault],
    [null, "desk@acme.example", { imessage: true, sms: false }, false],
  );
  assert.deepEqual((await api.data(`GET ${CUSTOMERS}/${id}`)).numbers, [first, second]);
});

test("a number belongs to one customer, compared in its stored form; deleting it frees it", async (t) => {
  const api = await startAdminApi(t);
  const { id } = await makeCustomer(api);
  await addNumber(api, id, { email: "desk@acme.example" });
  const taken = { provider: "sandbox", email: "DESK@acme.example" };
  for (const owner of [id, api.customer.id]) {
    const failure = await api.failure(`POST ${CUSTOMERS}/${owner}/numbers`, { body: taken }, 409);
    assert.equal(failure.code, "NUMBER_TAKEN");
  }
  const own = `${CUSTOMERS}/${api.customer.id}/numbers/${api.number.id}`;
  assert.deepEqual(await api.data(`DELETE ${own}`), { id: api.number.id, deleted: true });
  assert.equal((await addNumber(api, id, { phoneNumber: api.number.address })).isDefault, false);
  assert.deepEqual(await api.data("GET /v1/numbers", { key: api.key }), []);
});

test("concurrent claims of a number have one winner, with and without an idempotency key", async (t) => {
  const api = await startAdminApi(t);
  const owners = [api.customer.id, ...(await Promise.all([makeCustomer(api), makeCustomer(api)])).map(({ id }) => id)];
  const body = { provider: "sandbox", phoneNumber: "+15550001001" };
  const answers = await Promise.all(
    [...owners, ...owners].map((owner, index) => {
      const headers: Record<string, string> = index % 2 === 0 ? {} : { "idempotency-key": `claim ${index}` };
      return api.ask(`POST ${CUSTOMERS}/${owner}/numbers`, { body, headers });
    }),
  );
  assert.deepEqual(answers.map(({ status }) => status).sort(), [201, 409, 409, 409, 409, 409]);
  for (const { status, text } of answers) if (status === 409) assert.match(text, /"code":"NUMBER_TAKEN"/);
});

test("adding numbers to one customer concurrently leaves exactly one default", async (t) => {
  const api = await startAdminApi(t);
  const { id } = await makeCustomer(api);
  const made = await Promise.all(
    ["1", "2", "3"].map((last) => addNumber(api, id, { phoneNumber: `+1555000100${last}` })),
  );
  assert.equal(made.filter(({ isDefault }) => isDefault).length, 1);
  const { numbers } = await api.data(`GET ${CUSTOMERS}/${id}`);
  assert.deepEqual(
    numbers.map(({ isDefault }: CustomerNumber) => isDefault),
    [true, false, false],
  );
});

test("another number can become the default; deleting the default makes the oldest other number the default", async (t) => {
  const api = await startAdminApi(t);
  const { id } = await makeCustomer(api);
  const [a, b, c] = [
    await addNumber(api, id, { phoneNumber: "+15550001001" }),
    await addNumber(api, id, { phoneNumber: "+15550001002" }),
    await addNumber(api, id, { phoneNumber: "+15550001003" }),
  ];
  const numbers = async (): Promise<CustomerNumber[]> => (await api.data(`GET ${CUSTOMERS}/${id}`)).numbers;
  const path = `${CUSTOMERS}/${id}/numbers`;
  assert.deepEqual(await api.data(`PUT ${path}/${c.id}/default`), { ...c, isDefault: true });
  assert.deepEqual(await api.data(`PUT ${path}/${c.id}/default`), { ...c, isDefault: true });
  assert.deepEqual(
    (await numbers()).map((one) => [one.id, one.isDefault]),
    [
      [c.id, true],
      [a.id, false],
      [b.id, false],
    ],
  );
  await api.data(`DELETE ${path}/${c.id}`);
  assert.deepEqual(
    (await numbers()).map((one) => [one.id, one.isDefault]),
    [
      [a.id, true],
      [b.id, false],
    ],
  );
  await api.data(`DELETE ${path}/${b.id}`);
  await api.data(`DELETE ${path}/${a.id}`);
  assert.deepEqual(await numbers(), []);
});

test("unknown ids, and numbers of another customer, are 404", async (t) => {
  const api = await startAdminApi(t);
  const { id } = await makeCustomer(api);
  const lines = [
    `GET ${CUSTOMERS}/cust_none`,
    `DELETE ${CUSTOMERS}/${id}/numbers/${api.number.id}`,
    `PUT ${CUSTOMERS}/${id}/numbers/${api.number.id}/default`,
    `DELETE ${CUSTOMERS}/cust_none/numbers/${api.number.id}`,
    `DELETE ${KEYS}/key_none`,
    `POST ${KEYS}/key_none/rotate`,
  ];
  for (const line of lines) assert.equal((await api.failure(line, {}, 404)).code, "NOT_FOUND", line);
  const body = { provider: "sandbox", phoneNumber: "+15550001001" };
  assert.equal((await api.failure(`POST ${CUSTOMERS}/cust_none/numbers`, { body }, 404)).code, "NOT_FOUND");
});

test("GET /v1/numbers returns the customer's numbers with the health of their instance, without paging", async (t) => {
  const api = await startAdminApi(t);
  await api.addTenant("another");
  const expected = {
    phoneNumber: api.number.address,
    email: null,
    instanceName: "Sandbox",
    isDefault: true,
    healthStatus: "unhealthy",
  };
  assert.deepEqual(await api.data("GET /v1/numbers", { key: api.key }), [expected]);
  const healthy = { health: async () => ({ status: "healthy" }) } as unknown as Provider;
  api.providers.set(api.instance.id, healthy);
  assert.deepEqual(await api.data("GET /v1/numbers", { key: api.key }), [{ ...expected, healthStatus: "healthy" }]);
  const silent = { health: () => new Promise(() => {}) } as unknown as Provider;
  api.providers.set(api.instance.id, silent);
  const late = api.data("GET /v1/numbers", { key: api.key });
  await until(() => api.clock.pending > 0, { what: "the wait for the provider" });
  await api.clock.advance(2_000);
  assert.deepEqual(await late, [{ ...expected, healthStatus: "unknown" }]);
});

test("a key is shown once and works at once; the database holds only its hash and last four characters", async (t) => {
  const api = await startAdminApi(t);
  const made = await api.makeKey({ rateLimit: { limit: 5, windowSeconds: 10 } });
  assert.match(made.key, /^tb_[A-Za-z0-9]{32,}$/);
  assert.deepEqual(made, {
    id: made.id,
    name: "made",
    customerId: api.customer.id,
    scope: "messages",
    permissions: ["read", "send", "webhooks"],
    last4: made.key.slice(-4),
    rateLimit: { limit: 5, windowSeconds: 10 },
    createdAt: "2026-01-01T00:00:00.000Z",
    lastUsedAt: null,
    expiresAt: null,
    revokedAt: null,
    replacedBy: null,
    key: made.key,
  });
  assert.equal(JSON.stringify(await findKey(api.deps.store.db, made.id as "key_")).includes(made.key), false);
  assert.equal((await api.data("GET /v1/numbers", { key: made.key })).length, 1);
});

test("a key's customer may be named by its e-mail address; an admin key has no customer", async (t) => {
  const api = await startAdminApi(t);
  const { id } = await makeCustomer(api, { email: "ops@acme.example" });
  const named = await api.data(`POST ${KEYS}`, { body: { name: "x", customerEmail: "OPS@acme.example" } }, 201);
  assert.equal(named.customerId, id);
  const admin = await api.data(`POST ${KEYS}`, { body: { name: "ops", scope: "admin" } }, 201);
  assert.equal(admin.customerId, null);
  await api.data(`GET ${KEYS}`, { key: admin.key });
});

test("a revoked key is refused from then on; revoking it again changes nothing", async (t) => {
  const api = await startAdminApi(t);
  const { id, key } = await api.makeKey();
  await api.data("GET /v1/numbers", { key });
  const revoked = await api.data(`DELETE ${KEYS}/${id}`);
  assert.equal(revoked.revokedAt, "2026-01-01T00:00:00.000Z");
  assert.equal("key" in revoked, false);
  assert.equal((await api.failure("GET /v1/numbers", { key }, 401)).code, "UNAUTHORIZED");
  await api.clock.advance(1_000);
  assert.deepEqual(await api.data(`DELETE ${KEYS}/${id}`), revoked);
  assert.equal((await api.failure(`POST ${KEYS}/${id}/rotate`, {}, 400)).code, "INVALID_STATUS");
});

test("a key expires by the real clock, not by the sandbox's clock", async (t) => {
  const api = await startAdminApi(t);
  const { key } = await api.makeKey({ expiresAt: "2026-01-01T01:00:00+00:30" });
  api.clock.shift(86_400_000);
  await api.data("GET /v1/numbers", { key });
  await api.clock.advance(30 * 60_000);
  assert.equal((await api.failure("GET /v1/numbers", { key }, 401)).code, "UNAUTHORIZED");
});

test("a rotated key works until its grace period ends; its replacement has the same customer, scope and limit", async (t) => {
  const api = await startAdminApi(t);
  const old = await api.makeKey({ rateLimit: { limit: 7, windowSeconds: 9 } });
  const made: Required<Key> = await api.data(
    `POST ${KEYS}/${old.id}/rotate`,
    { body: { gracePeriodSeconds: 60 } },
    201,
  );
  assert.notEqual(made.id, old.id);
  assert.deepEqual([made.customerId, made.scope, made.rateLimit], [old.customerId, old.scope, old.rateLimit]);
  const former = (await api.data(`GET ${KEYS}`)).keys.find(({ id }: Key) => id === old.id);
  assert.deepEqual([former.replacedBy, former.expiresAt], [made.id, "2026-01-01T00:01:00.000Z"]);
  for (const { key } of [old, made]) await api.data("GET /v1/numbers", { key });
  await api.clock.advance(60_000);
  await api.failure("GET /v1/numbers", { key: old.key }, 401);
  await api.data("GET /v1/numbers", { key: made.key });
  assert.equal((await api.failure(`POST ${KEYS}/${old.id}/rotate`, {}, 400)).code, "INVALID_STATUS");
});

test("the grace period of a rotation defaults to a day, may be zero, and never outlasts the key", async (t) => {
  const api = await startAdminApi(t);
  const rows: [expiresAt: string | undefined, body: unknown, end: string][] = [
    [undefined, undefined, "2026-01-02T00:00:00.000Z"],
    [undefined, {}, "2026-01-02T00:00:00.000Z"],
    [undefined, { gracePeriodSeconds: 0 }, "2026-01-01T00:00:00.000Z"],
    ["2026-01-01T06:00:00.000Z", {}, "2026-01-01T06:00:00.000Z"],
  ];
  for (const [expiresAt, body, end] of rows) {
    const old = await api.makeKey(expiresAt === undefined ? {} : { expiresAt });
    const made = await api.data(`POST ${KEYS}/${old.id}/rotate`, { body }, 201);
    assert.equal(made.expiresAt, expiresAt ?? null);
    const former = await findKey(api.deps.store.db, old.id as "key_");
    assert.equal(new Date(former?.expiresAt ?? 0).toISOString(), end);
  }
});

test("a repeated admin POST returns 200 with the current record, and never the key again", async (t) => {
  const api = await startAdminApi(t);
  const headers = { "idempotency-key": "once" };
  const twice = async (line: string, body: unknown, key: string) => {
    const asking = { body, headers: { "idempotency-key": key } };
    return [await api.data(line, asking, 201), await api.data(line, asking)];
  };
  const [customer, sameCustomer] = await twice(`POST ${CUSTOMERS}`, { name: "Acme" }, "customer");
  assert.deepEqual(sameCustomer, customer);
  const numbers = `POST ${CUSTOMERS}/${customer.id}/numbers`;
  const [number, sameNumber] = await twice(numbers, { provider: "sandbox", phoneNumber: "+15550001001" }, "number");
  assert.deepEqual(sameNumber, number);
  const body = { name: "k", customerId: customer.id };
  const [key, sameKey] = await twice(`POST ${KEYS}`, body, "key");
  assert.deepEqual({ ...sameKey, key: key.key }, key);
  assert.equal("key" in sameKey, false);
  await api.data(`POST ${KEYS}`, { body: { ...body, scope: "messages" }, headers: { "idempotency-key": "key" } });
  const [next, sameNext] = await twice(`POST ${KEYS}/${key.id}/rotate`, undefined, "rotate");
  assert.deepEqual([sameNext.id, "key" in sameNext], [next.id, false]);
  await api.data(`DELETE ${KEYS}/${next.id}`);
  const repeat = { headers: { "idempotency-key": "rotate" } };
  assert.notEqual((await api.data(`POST ${KEYS}/${key.id}/rotate`, repeat)).revokedAt, null);

  await api.data(`POST ${CUSTOMERS}`, { body: { name: "A" }, headers }, 201);
  const reused = await api.failure(`POST ${CUSTOMERS}`, { body: { name: "B" }, headers }, 409);
  assert.equal(reused.code, "IDEMPOTENCY_KEY_REUSED");
});

test("a refused request does not use up its idempotency key; two concurrent requests create one record", async (t) => {
  const api = await startAdminApi(t);
  const headers = { "idempotency-key": "k" };
  await api.failure(`POST ${KEYS}`, { body: { name: "k", customerEmail: "late@acme.example" }, headers }, 400);
  await makeCustomer(api, { email: "late@acme.example" });
  await api.data(`POST ${KEYS}`, { body: { name: "k", customerEmail: "late@acme.example" }, headers }, 201);
  const asking = { body: { name: "twin" }, headers: { "idempotency-key": "twin" } };
  const both = await Promise.all([api.ask(`POST ${CUSTOMERS}`, asking), api.ask(`POST ${CUSTOMERS}`, asking)]);
  assert.deepEqual(both.map(({ status }) => status).sort(), [200, 201]);
  assert.equal(new Set(both.map(({ text }) => JSON.parse(text).data.id)).size, 1);
});
