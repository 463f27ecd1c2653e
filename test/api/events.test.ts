/** Events over HTTP: in webhooks and in the list. */

import assert from "node:assert/strict";
import { after, test } from "node:test";
import { SECRET, startNotifiedService } from "../support/notified.ts";
import { isSigned, startReceiver } from "../support/receiver.ts";
import { until } from "../support/wait.ts";

const { api, receiver, stop } = await startNotifiedService();
after(stop);

const send = (to: string, more: object = {}) =>
  api.ask("POST", "/v1/messages", { body: { to, content: { text: "Hello" }, ...more } });
const untilEvents = (id: string, count: number) =>
  until(() => receiver.types(id).length >= count, {
    what: `${count} events of ${id}; there are ${receiver.types(id)}`,
  });

test("every webhook is signed over its timestamp and raw body", async () => {
  const { data } = await send("+15005550100");
  await untilEvents(data.id, 3);
  for (const received of receiver.received) assert.ok(isSigned(received, SECRET));
});

test("an event has id, type, timestamp and the message's data, as sent", async () => {
  const metadata = { order: 7, nested: { a: [1, null] } };
  const { data } = await send("+15005550100", { metadata, externalMessageId: "mine-1" });
  await untilEvents(data.id, 3);
  const event = receiver.received.find(
    ({ event }) => event.data.messageId === data.id && event.type === "message.delivered",
  )?.event;
  assert.match(event?.id ?? "", /^evt_[0-9a-f-]{36}$/);
  assert.match(event?.timestamp ?? "", /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$/);
  const { deliveredAt, correlationId, providerMessageId, ...rest } = event?.data ?? {};
  assert.equal(providerMessageId, (await api.ask("GET", `/v1/messages/${data.id}`)).data.providerMessageId);
  assert.equal(typeof providerMessageId, "string");
  assert.equal(typeof deliveredAt, "string");
  assert.match(String(correlationId), /^cor_[0-9a-f]{32}$/);
  assert.deepEqual(rest, {
    messageId: data.id,
    externalMessageId: "mine-1",
    from: data.from,
    to: "+15005550100",
    text: "Hello",
    channel: "imessage",
    metadata,
    status: "delivered",
    sequence: 3,
  });
});

test("events are listed newest first, with `after` oldest first, each byte for byte as delivered", async () => {
  const { data } = await send("+15005550101");
  await untilEvents(data.id, 4);
  const newest = await api.ask("GET", `/v1/events?messageId=${data.id}`);
  const types = newest.data.events.map(({ type }: { type: string }) => type);
  assert.deepEqual(types, ["message.read", "message.delivered", "message.sent", "message.queued"]);
  const [first] = newest.data.events.toReversed();
  const after = await api.ask("GET", `/v1/events?messageId=${data.id}&after=${first.id}`);
  assert.deepEqual(
    after.data.events.map(({ type }: { type: string }) => type),
    types.toReversed().slice(1),
  );
  const raw = await (
    await fetch(`${api.url}/v1/events/${first.id}`, { headers: { authorization: `Bearer ${api.key}` } })
  ).text();
  const delivered = receiver.received.find(({ event }) => event.id === first.id);
  assert.ok(raw.includes(`"data":${delivered?.body}`));
});

test("a callbackUrl gets every event of its message, but only one delivery if it equals the webhook's URL", async () => {
  const callback = await startReceiver();
  const { data } = await send("+15005550100", { callbackUrl: callback.url });
  await until(() => callback.received.length === 3);
  assert.deepEqual(callback.types(), ["message.queued", "message.sent", "message.delivered"]);
  for (const received of callback.received) assert.ok(isSigned(received, SECRET));
  await untilEvents(data.id, 3);
  const same = await send("+15005550100", { callbackUrl: receiver.url });
  await untilEvents(same.data.id, 3);
  const { data: list } = await api.ask("GET", `/v1/webhooks/deliveries?messageId=${same.data.id}`);
  assert.equal(list.deliveries.length, 3);
  await callback.stop();
});
