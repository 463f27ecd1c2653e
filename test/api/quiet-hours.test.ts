/** Quiet hours over HTTP: set, shown and removed by an administrator, and observed by the sandbox's clock. */

import assert from "node:assert/strict";
import { test } from "node:test";
import { startTestService, type TestService } from "../support/service.ts";
import { until } from "../support/wait.ts";

const api: TestService = await startTestService();
test.after(() => api.stop());
const key = api.adminKey;
const customer = (await api.ask("GET", "/v1/admin/customers", { key })).data.customers[0].id;
const path = `/v1/admin/customers/${customer}/quiet-hours`;

test("a customer has no quiet hours until an admin sets them, and none after an admin deletes them", async () => {
  assert.equal((await api.ask("GET", path, { key })).data, null);
  const body = { start: "21:00", end: "08:00", timeZone: "Europe/Berlin" };
  const set = await api.ask("PUT", path, { key, body });
  assert.deepEqual([set.status, set.data], [200, body]);
  assert.deepEqual((await api.ask("GET", path, { key })).data, body);
  const again = await api.ask("PUT", path, { key, body: { start: "22:00", end: "07:30" } });
  assert.deepEqual(again.data, { start: "22:00", end: "07:30", timeZone: null });
  for (let times = 0; times < 2; times += 1) {
    const { status, data } = await api.ask("DELETE", path, { key });
    assert.deepEqual([status, data], [200, null]);
  }
  assert.equal((await api.ask("GET", path, { key })).data, null);
});

const BAD: [body: unknown, paths: string[]][] = [
  [{ start: "08:00", end: "08:00" }, ["end"]],
  [{ start: "24:00", end: "8:00" }, ["end", "start"]],
  [{ start: "21:00" }, ["end"]],
  [{ start: "21:00", end: "08:00", timeZone: "Europe/Nowhere" }, ["timeZone"]],
  [{ start: "21:00", end: "08:00", timeZone: "+02:00" }, ["timeZone"]],
  [{ start: "21:00", end: "08:00", zone: "UTC" }, ["zone"]],
  [{ start: 21, end: "08:00", timeZone: null }, ["start", "timeZone"]],
  [{}, ["end", "start"]],
];

test("an invalid time, zone or length is refused with every field, and changes nothing", async () => {
  for (const [body, paths] of BAD) {
    const { status, error } = await api.ask("PUT", path, { key, body });
    assert.deepEqual([status, error?.code], [400, "VALIDATION_ERROR"], JSON.stringify(body));
    assert.deepEqual(error?.details?.map((detail) => detail.path).sort(), paths, JSON.stringify(body));
  }
  assert.equal((await api.ask("GET", path, { key })).data, null);
});

test("an unknown customer is a 404, and a customer's key is a 403", async () => {
  const body = { start: "21:00", end: "08:00" };
  for (const [method, asking] of [
    ["GET", {}],
    ["PUT", { body }],
    ["DELETE", {}],
  ] as const) {
    const missing = await api.ask(method, "/v1/admin/customers/cust_none/quiet-hours", { key, ...asking });
    assert.deepEqual([missing.status, missing.error?.code], [404, "NOT_FOUND"], method);
    const own = await api.ask(method, path, asking);
    assert.deepEqual([own.status, own.error?.code], [403, "FORBIDDEN"], method);
  }
});

/** `HH:MM` so many hours from now, in UTC. */
async function clockTime(hours: number): Promise<string> {
  const { data } = await api.ask("GET", "/v1/sandbox/clock");
  return new Date(Date.parse(data.now) + hours * 3_600_000).toISOString().slice(11, 16);
}

test("a message in quiet hours is queued, says why, and is delivered when they end", async (t) => {
  t.after(() => api.ask("DELETE", path, { key }));
  const body = { start: await clockTime(-1), end: await clockTime(3) };
  await api.ask("PUT", path, { key, body });
  const sent = await api.ask("POST", "/v1/messages", { body: { to: "jo@example.com", content: { text: "Hello" } } });
  assert.deepEqual([sent.status, sent.data.status], [202, "queued"]);
  const record = async () => (await api.ask("GET", `/v1/messages/${sent.data.id}`)).data;
  const waiting = await until(async () => {
    const data = await record();
    return data.timeline.length > 1 ? data : null;
  });
  assert.equal(waiting.status, "queued");
  const { reason } = waiting.timeline.at(-1);
  const postponedUntil =
    /^postponed: quiet hours of jo@example\.com until (\S+)$/.exec(reason)?.[1] ?? assert.fail(reason);
  assert.equal(postponedUntil.slice(11, 16), body.end);
  await api.ask("POST", "/v1/sandbox/clock", { body: { advance: "2h" } });
  assert.equal((await record()).status, "queued");
  await api.ask("POST", "/v1/sandbox/clock", { body: { advance: "1h" } });
  await until(async () => (await record()).status === "delivered");
  assert.ok((await record()).sentAt >= postponedUntil);
});

test("deleting the quiet hours sends the messages that they held back", async () => {
  await api.ask("PUT", path, { key, body: { start: await clockTime(-1), end: await clockTime(20) } });
  const sent = await api.ask("POST", "/v1/messages", { body: { to: "jo@example.com", content: { text: "Hello" } } });
  const record = async () => (await api.ask("GET", `/v1/messages/${sent.data.id}`)).data;
  await until(async () => (await record()).timeline.length > 1);
  await api.ask("DELETE", path, { key });
  await until(async () => (await record()).status === "delivered");
});
