/** The headers of attempts: as the receiver got them, and as they were after the secret was changed. */

import assert from "node:assert/strict";
import { test } from "node:test";
import type { Attempt, Delivery, DeliveryList, TestedDelivery } from "../../sdk/wire.ts";
import { freePort } from "../support/free-port.ts";
import { isSigned, type Received, startReceiver } from "../support/receiver.ts";
import { startTestService } from "../support/service.ts";
import { until } from "../support/wait.ts";

const SECRET = `whsec_${"A".repeat(43)}=`;

/** The headers that a receiver got, without those of the connection. */
function ownHeaders({ headers }: Received): Record<string, unknown> {
  const { host: _, connection: __, "content-length": ___, ...own } = headers;
  return own;
}

function inLowerCase({ requestHeaders }: Attempt): Record<string, unknown> {
  return Object.fromEntries(Object.entries(requestHeaders ?? {}).map(([name, value]) => [name.toLowerCase(), value]));
}

test("an attempt shows all headers that its receiver got, also after a rotation and another attempt", async (t) => {
  const api = await startTestService();
  t.after(() => api.stop());
  const receiver = await startReceiver();
  t.after(() => receiver.stop());
  await api.ask("PUT", "/v1/webhooks", { body: { url: receiver.url, events: ["message.read"], secret: SECRET } });
  const headers = { "X-Correlation-Id": `cor_${"1".repeat(32)}` };
  const tested: TestedDelivery = (await api.ask("POST", "/v1/webhooks/test", { headers })).data;
  const path = `/v1/webhooks/deliveries/${tested.id}`;
  const read = async (): Promise<Delivery> => (await api.ask("GET", path)).data;
  await until(async () => (await read()).attempts.length === 1);
  const [first] = (await read()).attempts;
  const [firstReceived] = receiver.received;
  assert.ok(first !== undefined && firstReceived !== undefined);
  assert.deepEqual(inLowerCase(first), ownHeaders(firstReceived));
  assert.equal(first.requestHeaders?.["X-Correlation-Id"], headers["X-Correlation-Id"]);
  assert.equal(first.requestHeaders?.["webhook-id"], tested.eventId);
  assert.ok(isSigned(firstReceived, SECRET));

  const rotated = (await api.ask("POST", "/v1/webhooks/rotate-secret", { body: { gracePeriodSeconds: 600 } })).data;
  assert.notEqual(rotated.secret, SECRET);
  await api.ask("POST", `${path}/retry`);
  await until(async () => (await read()).attempts.length === 2);
  const { attempts } = await read();
  assert.deepEqual(attempts[0], first, "the attempt before the rotation is as it was");
  assert.deepEqual(attempts.map(inLowerCase), receiver.received.map(ownHeaders));
  assert.equal(attempts[1]?.requestHeaders?.["webhook-signature"]?.split(" ").length, 2, "both secrets signed");
  const list: DeliveryList = (await api.ask("GET", "/v1/webhooks/deliveries")).data;
  assert.deepEqual(
    list.deliveries.map((delivery) => delivery.attempts),
    [attempts],
  );
});

test("an attempt that got no connection has no requestHeaders", async (t) => {
  const api = await startTestService();
  t.after(() => api.stop());
  const url = `http://127.0.0.1:${await freePort()}/hook`;
  await api.ask("PUT", "/v1/webhooks", { body: { url, events: ["message.read"] } });
  const tested: TestedDelivery = (await api.ask("POST", "/v1/webhooks/test")).data;
  const read = async (): Promise<Delivery> => (await api.ask("GET", `/v1/webhooks/deliveries/${tested.id}`)).data;
  await until(async () => (await read()).attempts.length > 0);
  const [attempt] = (await read()).attempts;
  assert.deepEqual([attempt?.error, attempt?.requestHeaders], ["CONNECTION_REFUSED", null]);
});
