/** A carrier that is unreachable for two days: the waiting messages, their order and their pace when it is back. */

import assert from "node:assert/strict";
import { type TestContext, test } from "node:test";
import { JumpClock } from "../support/jump-clock.ts";
import { startTestService, type TestService } from "../support/service.ts";
import { hasSmsc, PASSWORD, type Smsc, SYSTEM_ID, startSmsc } from "../support/smsc/smsc.ts";
import { until } from "../support/wait.ts";

const MINUTE_MS = 60_000;
const OWN = "+15005550007";
const PER_SECOND = 40;
const LIMIT_MS = 60_000;

interface Stage {
  clock: JumpClock;
  api: TestService;
  smsc: Smsc;
  instanceId: string;
}

async function stage(t: TestContext): Promise<Stage> {
  const clock = new JumpClock();
  const smsc = await startSmsc();
  t.after(() => smsc.kill());
  const api = await startTestService({}, { clock: (shift) => clock.clock(shift), inThreads: true });
  t.after(() => api.stop());
  const config = {
    host: "127.0.0.1",
    port: smsc.port,
    systemId: SYSTEM_ID,
    password: PASSWORD,
    bindMode: "transceiver",
    throughputPerSecond: PER_SECOND,
    responseTimeoutSeconds: 5,
  };
  const admin = { key: api.adminKey };
  const made = await api.ask("POST", "/v1/admin/instances", {
    ...admin,
    body: { name: "Carrier", provider: "smpp", config },
  });
  assert.equal(made.status, 201);
  const customerId = (await api.ask("GET", "/v1/admin/customers", admin)).data.customers[0].id;
  const number = { phoneNumber: OWN, provider: "smpp", instanceId: made.data.id };
  assert.equal(
    (await api.ask("POST", `/v1/admin/customers/${customerId}/numbers`, { ...admin, body: number })).status,
    201,
  );
  return { clock, api, smsc, instanceId: made.data.id };
}

const health = async ({ api, instanceId }: Stage): Promise<string> =>
  (await api.ask("GET", `/v1/admin/instances/${instanceId}`, { key: api.adminKey })).data.health;

async function send(api: TestService, to: string): Promise<string> {
  const body = { to, from: OWN, content: { text: `For ${to}` }, routing: { preference: ["sms"] } };
  const { status, data } = await api.ask("POST", "/v1/messages", { body });
  assert.equal(status, 202);
  return data.id;
}

const statusOf = async (api: TestService, id: string): Promise<string> =>
  (await api.ask("GET", `/v1/messages/${id}`)).data.status;

const recipient = (index: number) => `+15005${String(4_000 + index)}00`;

test("after two days without the carrier every message is sent once, in the order of acceptance, at the bind's rate limit", {
  timeout: 180_000,
}, async (t) => {
  if (!hasSmsc(t)) return;
  const made = await stage(t);
  const { clock, api, smsc } = made;
  await until(async () => (await health(made)) === "healthy", { limitMs: LIMIT_MS });
  const first = await send(api, recipient(0));
  await until(async () => (await statusOf(api, first)) === "delivered", { limitMs: LIMIT_MS });
  await smsc.kill();
  await until(async () => (await health(made)) !== "healthy", { limitMs: LIMIT_MS });

  const ids: string[] = [];
  for (let index = 1; index <= 200; index += 1) {
    ids.push(await send(api, recipient(index)));
    clock.jump(15 * MINUTE_MS);
    // During the outage the service itself restarts.
    if (index === 100) await api.restart();
  }
  const statuses = await Promise.all(ids.map((id) => statusOf(api, id)));
  assert.deepEqual(new Set(statuses), new Set(["queued"]));
  const waiting = (await api.ask("GET", `/v1/messages/${ids[0]}`)).data;
  assert.ok(waiting.timeline.length < 5, "an outage is not told of again and again");

  const back = await startSmsc({ port: smsc.port, "first-id": 9_000 });
  t.after(() => back.kill());
  clock.jump(2 * MINUTE_MS);
  await until(() => back.submits.length >= ids.length, { limitMs: LIMIT_MS, what: "all to go out" });
  await until(async () => (await statusOf(api, ids.at(-1) ?? "")) === "delivered", { limitMs: LIMIT_MS });
  const sentTo = back.submits.map(({ destination_addr }) => `+${destination_addr}`);
  assert.deepEqual(
    sentTo,
    ids.map((_, index) => recipient(index + 1)),
  );
  for (const id of ids) await until(async () => (await statusOf(api, id)) === "delivered", { limitMs: LIMIT_MS });
  const times = back.submits.map(({ at }) => at);
  const elapsedSeconds = (times.at(-1) ?? 0) - (times[0] ?? 0);
  const pace = (times.length - 1 - PER_SECOND) / elapsedSeconds;
  assert.ok(pace <= PER_SECOND, `${pace} a second`);
});
