/** Two Macs with a number each: which Mac sends and receives, and which messages wait while a Mac is unreachable. */

import assert from "node:assert/strict";
import { type TestContext, test } from "node:test";
import { systemClock } from "../../server/clock.ts";
import { type Mac, startMac } from "../support/mac/mac.ts";
import { startTestService, type TestService } from "../support/service.ts";
import { until } from "../support/wait.ts";

const ANNA = "+15005551001";
const NUMBERS = ["+15005550007", "+15005550008"] as const;

interface Line {
  mac: Mac;
  number: string;
  instanceId: string;
}

async function addMac(t: TestContext, api: TestService, number: string, index: number): Promise<Line> {
  const admin = { key: api.adminKey };
  const options = { clock: systemClock(), ownAddress: number, seed: `mac ${index}`, habit: "delivers" } as const;
  const mac = await startMac(options);
  t.after(() => mac.stop());
  const config = { url: mac.url, password: mac.password, ingest: "socket" };
  const body = { name: `Mac ${index}`, provider: "bluebubbles", config };
  const instanceId: string = (await api.ask("POST", "/v1/admin/instances", { ...admin, body })).data.id;
  const [customer] = (await api.ask("GET", "/v1/admin/customers", admin)).data.customers;
  const given = { phoneNumber: number, provider: "bluebubbles", instanceId };
  const added = await api.ask("POST", `/v1/admin/customers/${customer.id}/numbers`, { ...admin, body: given });
  assert.equal(added.status, 201, JSON.stringify(added.error));
  await until(async () => (await healthOf(api, instanceId)) === "healthy");
  await until(() => mac.socketCount === 1);
  return { mac, number, instanceId };
}

const healthOf = async (api: TestService, id: string): Promise<string> =>
  (await api.ask("GET", `/v1/admin/instances/${id}`, { key: api.adminKey })).data.health;

test("a number belongs to one Mac: its messages are sent by that Mac, wait for that Mac, and replies arrive there", async (t) => {
  const api = await startTestService({}, { inThreads: true });
  t.after(() => api.stop());
  const [first, second] = [await addMac(t, api, NUMBERS[0], 1), await addMac(t, api, NUMBERS[1], 2)];
  const send = async (from: string): Promise<string> =>
    (await api.ask("POST", "/v1/messages", { body: { to: ANNA, from, content: { text: `From ${from}` } } })).data.id;
  const statusOf = async (id: string): Promise<string> => (await api.ask("GET", `/v1/messages/${id}`)).data.status;
  const delivered = (id: string) => until(async () => (await statusOf(id)) === "delivered");
  for (const { number } of [first, second]) await delivered(await send(number));
  const textsOf = ({ mac }: Line) => mac.sent.map(({ text }) => text);
  assert.deepEqual([textsOf(first), textsOf(second)], [[`From ${first.number}`], [`From ${second.number}`]]);

  second.mac.phone(ANNA).writes("To the second");
  const inbound = await until(
    async () => (await api.ask("GET", "/v1/events?type=message.inbound")).data.events[0]?.data,
  );
  assert.deepEqual([inbound.from, inbound.to], [ANNA, second.number]);

  const isBack = first.mac.fault("unreachable");
  const waiting = await send(first.number);
  await delivered(await send(second.number));
  await until(async () => (await healthOf(api, first.instanceId)) === "unhealthy");
  assert.equal(await statusOf(waiting), "queued");
  assert.equal(second.mac.sent.length, 2, "the other Mac does not send it instead");
  isBack();
  await until(async () => (await statusOf(waiting)) === "delivered");
  assert.deepEqual(textsOf(first), [`From ${first.number}`, `From ${first.number}`]);
});
