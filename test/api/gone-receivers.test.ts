/** An endpoint that answers every webhook with 410, as its customer and the operator see it. */

import assert from "node:assert/strict";
import { test } from "node:test";
import type { Delivery, Health, Webhook } from "../../sdk/wire.ts";
import { startReceiver } from "../support/receiver.ts";
import { startTestService, type TestService } from "../support/service.ts";
import { data, startProcesses } from "../support/two-processes.ts";
import { until } from "../support/wait.ts";

async function isGone(service: TestService): Promise<boolean> {
  const { isGone }: Webhook = await data(service, "GET /v1/webhooks");
  return isGone;
}

/** Waits for the mark, and asserts that every route answers it. */
async function assertMarked(service: TestService, id: string): Promise<void> {
  await until(() => isGone(service), { what: "the mark" });
  const records: Webhook[] = [
    await data(service, `GET /v1/webhooks/${id}`),
    ...(await data(service, "GET /v1/webhooks/list")),
    await data(service, `PATCH /v1/webhooks/${id}`, { body: { name: "Books" } }),
  ];
  assert.deepEqual(
    records.map((record) => record.isGone),
    [true, true, true],
  );
}

async function health({ url }: TestService, key: string | null): Promise<Health> {
  const headers: Record<string, string> = key === null ? {} : { authorization: `Bearer ${key}` };
  return (await (await fetch(`${url}/health`, { headers })).json()) as Health;
}

test("ten 410 in a row mark an endpoint in its record and in /health until the next 2xx, also over a restart", async (t) => {
  const receiver = await startReceiver();
  t.after(() => receiver.stop());
  const service = await startTestService();
  t.after(() => service.stop());
  let status = 410;
  receiver.answer = (_, response) => {
    response.statusCode = status;
    response.end();
  };
  const { id, isGone: atFirst }: Webhook = await data(service, "PUT /v1/webhooks", {
    body: { url: receiver.url, events: ["*"] },
  });
  assert.equal(atFirst, false);
  const attempt = () => data(service, "POST /v1/webhooks/test");
  for (let count = 0; count < 9; count += 1) await attempt();
  assert.equal(await isGone(service), false);
  assert.equal((await health(service, service.adminKey)).checks.webhooks, undefined);
  await attempt();
  await assertMarked(service, id);

  const seen = await health(service, service.adminKey);
  assert.deepEqual([seen.status, seen.checks.webhooks?.status], ["ok", "ok"]);
  assert.equal(seen.checks.webhooks?.message, `1 endpoint answered ten webhooks in a row with 410: ${id}`);
  assert.deepEqual((await health(service, null)).checks.webhooks, { status: "ok" }, "ids are for admin keys");

  const { active }: Webhook = await data(service, "GET /v1/webhooks");
  const { deliveries }: { deliveries: Delivery[] } = await data(service, "GET /v1/webhooks/deliveries");
  assert.ok(active && deliveries.length === 10);
  assert.ok(deliveries.every((delivery) => delivery.status === "pending" && delivery.nextAttemptAt !== null));

  await service.restart();
  assert.ok(await isGone(service));
  status = 500;
  await attempt();
  assert.ok(await isGone(service));
  status = 200;
  await attempt();
  await until(async () => !(await isGone(service)), { what: "the end of the mark" });
  assert.equal((await health(service, service.adminKey)).checks.webhooks, undefined);
});

test("a process that sends nothing answers the mark that another one set, and another URL ends it", async (t) => {
  const receiver = await startReceiver();
  t.after(() => receiver.stop());
  const { asked, stop } = await startProcesses();
  t.after(stop);
  let status = 410;
  receiver.answer = (_, response) => {
    response.statusCode = status;
    response.end();
  };
  const set = (path: string): Promise<Webhook> =>
    data(asked, "PUT /v1/webhooks", { body: { url: receiver.url + path, events: ["*"] } });
  const attempt = () => data(asked, "POST /v1/webhooks/test");
  const { id } = await set("");
  for (let count = 0; count < 10; count += 1) await attempt();
  await assertMarked(asked, id);
  assert.equal((await set("/other")).isGone, false);
  for (let count = 0; count < 10; count += 1) await attempt();
  await assertMarked(asked, id);
  status = 200;
  await attempt();
  await until(async () => !(await isGone(asked)), { what: "the end of the mark" });
});
