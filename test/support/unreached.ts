/** Asserts at a service that a test and a retry by hand go at once while the other deliveries of their endpoint wait, since it cannot be reached. */

import assert from "node:assert/strict";
import type { Delivery, TestedDelivery } from "../../sdk/wire.ts";
import { freePort } from "./free-port.ts";
import type { TestService } from "./service.ts";
import { data } from "./two-processes.ts";
import { until } from "./wait.ts";

/** Each makes three events or more. */
const MESSAGES = 40;

/** Open breakers, by the metrics of the process that delivers. */
async function breakersOpen({ service, adminKey }: TestService): Promise<string | undefined> {
  const response = await fetch(`http://127.0.0.1:${service.port}/metrics`, {
    headers: { authorization: `Bearer ${adminKey}` },
  });
  return /^tightbeam_webhook_breakers_open (\d+)$/m.exec(await response.text())?.[1];
}

/** The newest deliveries of the endpoint. */
async function newest(asked: TestService): Promise<Delivery[]> {
  return (await data(asked, "GET /v1/webhooks/deliveries?limit=100")).deliveries;
}

/** How many of the newest deliveries have no attempt. */
async function untried(asked: TestService): Promise<number> {
  return (await newest(asked)).filter(({ attempts }) => attempts.length === 0).length;
}

/** `deliverer`: the process that delivers. */
export async function assertTriedAtOnce(asked: TestService, deliverer: TestService): Promise<void> {
  const url = `http://127.0.0.1:${await freePort()}/`;
  await data(asked, "PUT /v1/webhooks", { body: { url, events: ["*"] } });
  for (let count = 0; count < MESSAGES; count += 1)
    await data(asked, "POST /v1/messages", { body: { to: "+15005550100", content: { text: String(count) } } });
  await until(async () => (await breakersOpen(deliverer)) === "1", { what: "the breaker opens" });
  await until(async () => (await untried(asked)) >= MESSAGES, { what: "deliveries wait" });

  const tested: TestedDelivery = await data(asked, "POST /v1/webhooks/test");
  assert.deepEqual([tested.eventType, tested.delivered, tested.responseStatus], ["webhook.test", false, null]);
  await until(async () => {
    const { attempts } = await data(asked, `GET /v1/webhooks/deliveries/${tested.id}`);
    return attempts[0]?.error === "CONNECTION_REFUSED";
  });
  assert.ok((await untried(asked)) > MESSAGES / 2, "the others wait");

  const waiting = (await newest(asked)).find(({ attempts }) => attempts.length === 0);
  assert.ok(waiting !== undefined);
  await data(asked, `POST /v1/webhooks/deliveries/${waiting.id}/retry`, { body: {} });
  await until(async () => {
    const { attempts } = await data(asked, `GET /v1/webhooks/deliveries/${waiting.id}`);
    return attempts.length === 1;
  });
  assert.ok((await untried(asked)) > MESSAGES / 2, "the others wait");
}
