/** `GET /v1/admin/usage`: whose usage, of which time, in which points. */

import assert from "node:assert/strict";
import { test } from "node:test";
import type { Usage } from "../../sdk/wire.ts";
import { noUsage } from "../../server/core/usage.ts";
import { type AdminApi, startAdminApi } from "../support/admin-api.ts";
import { addUsage } from "../support/usage.ts";

const USAGE = "GET /v1/admin/usage";
const DAY_MS = 86_400_000;

/** 2026-01-01: the first moment of simulated time. */
const START_AT = Date.UTC(2026, 0, 1);

/** Hours of usage of the context's key and customer, before the test's own requests. */
async function seed({ deps, apiKey, customer }: AdminApi): Promise<void> {
  const hour = (daysAgo: number, hourOfDay: number) => START_AT - daysAgo * DAY_MS + hourOfDay * 3_600_000;
  await addUsage(deps.store, [
    { ...noUsage(), subject: apiKey.id, at: hour(1, 5), requests: 10, rateLimited: 1, messagesSent: 3, segments: 4 },
    { ...noUsage(), subject: apiKey.id, at: hour(1, 6), requests: 1 },
    { ...noUsage(), subject: apiKey.id, at: hour(3, 0), requests: 100 },
    { ...noUsage(), subject: apiKey.id, at: hour(40, 0), requests: 1_000 },
    {
      ...noUsage(),
      subject: customer.id,
      at: hour(1, 5),
      messagesReceived: 2,
      webhooksDelivered: 7,
      webhooksFailed: 1,
    },
  ]);
}

const get = (api: AdminApi, query = "", key?: string): Promise<Usage> =>
  api.data(USAGE + query, key === undefined ? {} : { key });

test("GET /v1/admin/usage returns the key's own usage of 30 days, one point a day, zeros included", async (t) => {
  const api = await startAdminApi(t);
  await seed(api);
  await api.clock.advance(1_000);
  const usage = await get(api, "", api.key);
  assert.deepEqual(usage.key, { id: api.apiKey.id, name: api.apiKey.name });
  assert.deepEqual(usage.period, { from: "2025-12-03T00:00:00.000Z", to: "2026-01-01T00:00:01.001Z" });
  assert.equal(usage.series.length, 30);
  assert.deepEqual(usage.series[0], { at: "2025-12-03T00:00:00.000Z", ...noUsage() });
  assert.equal(usage.series.at(-1)?.at, "2026-01-01T00:00:00.000Z");
  const counts = {
    requests: 11,
    rateLimited: 1,
    messagesSent: 3,
    segments: 4,
    messagesReceived: 2,
    webhooksDelivered: 7,
    webhooksFailed: 1,
  };
  assert.deepEqual(usage.series[28], { at: "2025-12-31T00:00:00.000Z", ...counts });
  assert.deepEqual(usage.totals, { ...counts, requests: 111 });
});

test("usage includes the latest requests", async (t) => {
  const api = await startAdminApi(t);
  await api.data("GET /v1/numbers", { key: api.key });
  await api.data("GET /v1/numbers", { key: api.key });
  const now = await get(api, "?granularity=hour", api.key);
  assert.deepEqual([now.totals.requests, now.series.at(-1)?.requests], [2, 2]);
});

test("usage is by hour or day, for a given period; a date means the whole day", async (t) => {
  const api = await startAdminApi(t);
  await seed(api);
  const rows: [query: string, points: number, requests: number, from: string, to: string][] = [
    ["?from=2025-12-31&to=2025-12-31", 1, 11, "2025-12-31T00:00:00.000Z", "2026-01-01T00:00:00.000Z"],
    ["?from=2025-12-31&to=2025-12-31&granularity=hour", 24, 11, "2025-12-31T00:00:00.000Z", "2026-01-01T00:00:00.000Z"],
    [
      "?from=2025-12-31T06:00:00Z&to=2025-12-31T07:00:00Z",
      1,
      1,
      "2025-12-31T06:00:00.000Z",
      "2025-12-31T07:00:00.000Z",
    ],
    [
      "?from=2025-12-31T06:30:00%2B01:00&to=2025-12-31T06:00:00Z&granularity=hour",
      1,
      10,
      "2025-12-31T05:30:00.000Z",
      "2025-12-31T06:00:00.000Z",
    ],
    ["?from=2025-11-01&to=2025-12-31", 61, 1_111, "2025-11-01T00:00:00.000Z", "2026-01-01T00:00:00.000Z"],
    ["?to=2025-12-30", 30, 100, "2025-12-01T00:00:00.000Z", "2025-12-31T00:00:00.000Z"],
    ["?to=2025-12-31&granularity=hour", 168, 111, "2025-12-25T00:00:00.000Z", "2026-01-01T00:00:00.000Z"],
  ];
  for (const [query, points, requests, from, to] of rows) {
    const usage = await get(api, query, api.key);
    const got = [usage.series.length, usage.totals.requests, usage.period.from, usage.period.to];
    assert.deepEqual(got, [points, requests, from, to], query);
    const sum = usage.series.reduce((total, point) => total + point.requests, 0);
    assert.equal(sum, requests, query);
  }
});

test("a period that would begin before the year 0 begins at the year 0, so that every point is a valid time", async (t) => {
  const api = await startAdminApi(t);
  const { period, series } = await get(api, "?to=0000-01-02");
  assert.deepEqual(period, { from: "0000-01-01T00:00:00.000Z", to: "0000-01-03T00:00:00.000Z" });
  assert.equal(series.length, 2);
});

test("an invalid period, or one of more than 400 points, is a 400 with its field", async (t) => {
  const api = await startAdminApi(t);
  const rows: [query: string, paths: string[]][] = [
    ["?from=yesterday", ["from"]],
    ["?from=2025-02-30&to=2026-1-1", ["from", "to"]],
    ["?from=2025-12-31T00:00:00", ["from"]],
    ["?from=2026-01-02", ["from"]],
    ["?from=2025-12-31&to=2025-12-30", ["from"]],
    ["?from=2024-01-01", ["from"]],
    ["?from=2025-12-01&granularity=hour", ["from"]],
    ["?granularity=week", ["granularity"]],
    ["?days=3", ["days"]],
    ["?keyId=a&customerId=b", ["customerId"]],
  ];
  for (const [query, paths] of rows) {
    const failure = await api.failure(USAGE + query, {}, 400);
    assert.deepEqual([failure.code, failure.paths], ["VALIDATION_ERROR", paths], query);
  }
  assert.equal((await get(api, "?from=2024-11-27&to=2025-12-31")).series.length, 400);
});

test("an admin key can read the usage of one key, one customer or all customers", async (t) => {
  const api = await startAdminApi(t);
  await seed(api);
  const other = await api.addTenant("other");
  const second = await api.makeKey();
  const at = START_AT - DAY_MS;
  await addUsage(api.deps.store, [
    { ...noUsage(), subject: second.id as "key_", at, requests: 20 },
    { ...noUsage(), subject: other.apiKey.id, at, requests: 40, messagesSent: 5 },
    { ...noUsage(), subject: other.customer.id, at, webhooksDelivered: 50 },
    { ...noUsage(), subject: api.adminId as "key_", at, requests: 80 },
  ]);
  const sums = async (query: string) => {
    const { key, totals } = await get(api, `?to=2025-12-31${query}`);
    return [key?.id ?? null, totals.requests, totals.webhooksDelivered];
  };
  assert.deepEqual(await sums(`&keyId=${second.id}`), [second.id, 20, 7]);
  assert.deepEqual(await sums(`&keyId=${api.adminId}`), [api.adminId, 80, 0]);
  assert.deepEqual(await sums(`&customerId=${api.customer.id}`), [null, 131, 7]);
  assert.deepEqual(await sums(`&customerId=${other.customer.id}`), [null, 40, 50]);
  assert.deepEqual(await sums(""), [null, 251, 57]);
  for (const query of ["?keyId=key_none", "?customerId=cust_none"]) {
    assert.equal((await api.failure(USAGE + query, {}, 404)).code, "NOT_FOUND");
  }
});

test("a customer's key can read only its own usage", async (t) => {
  const api = await startAdminApi(t);
  const other = await api.addTenant("other");
  const second = await api.makeKey();
  assert.equal((await get(api, `?keyId=${api.apiKey.id}`, api.key)).key?.id, api.apiKey.id);
  for (const query of [`?keyId=${second.id}`, `?keyId=${other.apiKey.id}`, `?customerId=${other.customer.id}`]) {
    assert.equal((await api.failure(USAGE + query, { key: api.key }, 404)).code, "NOT_FOUND", query);
  }
  assert.equal((await api.failure(`${USAGE}?customerId=${api.customer.id}`, { key: api.key }, 403)).code, "FORBIDDEN");
});
