/** The oracle of tests that end the service violently: waits until all is quiet, reads everything, and checks every promise. */

import assert from "node:assert/strict";
import type { AnyEvent, Delivery, Message, PaymentRequest, TimelineEntry } from "../../sdk/wire.ts";
import type { Order, PaymentOrder } from "./load.ts";
import { allPages, type Running } from "./process.ts";
import { checkEchoes, checkPayments, ECHO, type Found, isEchoed, orderOf } from "./quiet.ts";
import { isSigned, type Received } from "./receiver.ts";
import { until } from "./wait.ts";

/** How old the time of a signature may be when it arrives: the receiver shares its process with the load. */
const TIMESTAMP_AGE_MAX_SECONDS = 15;
/** The schedule of retries that the service has to be started with (`TB_WEBHOOK_RETRY_SCHEDULE`). */
const RETRIES_MS = [100, 200, 300, 400, 500, 600, 700];
export const RETRY_SCHEDULE = RETRIES_MS.map((ms) => `${ms}ms`).join(",");
/** The signing secret of the endpoint that the receiver has. */
export const SECRET = "a secret of the crash test";
export const NEVER_RECEIVED = "the provider does not have it";
/** The sandbox stopped in the middle of an attempt, since another process has its instance now, and knows that it was not sent. */
const NEVER_SENT = "the attempt was aborted before the phone accepted the message";
/** The process recorded the attempt and could not make it. */
const NOT_GIVEN = "the message was not given to its provider";

/** How each recipient ends, and the events after `message.queued`. */
const ENDS: Record<string, { status: string; events: string[] }> = {
  "+15005550100": { status: "delivered", events: ["sent", "delivered"] },
  "+15005550101": { status: "read", events: ["sent", "delivered", "read"] },
  "+15005550102": { status: "delivered", events: ["fallback", "sent", "delivered"] },
  "+15005550106": { status: "delivered", events: ["sent", "delivered"] },
  "+15005550107": { status: "delivered", events: ["sent", "delivered"] },
  "+15005550108": { status: "read", events: ["sent", "delivered", "read"] },
  [ECHO]: { status: "delivered", events: ["sent", "delivered"] },
};

/** Moves (docs/lifecycle.md) that these recipients can make. `pending` after `pending` is a note on an unknown outcome. */
const MOVES: Record<string, string[]> = {
  scheduled: ["queued", "cancelled"],
  queued: ["pending"],
  pending: ["pending", "sent", "queued"],
  sent: ["delivered"],
  delivered: ["read"],
};

/** The phone whose carrier defers each text twice: texts to it wait for one another, and take seconds each. */
const DEFERRING = "+15005550106";

/** Recipients that a load sends to, each as often as it is here: few texts defer, so that a load is over within a minute of its end. */
export const RECIPIENTS: readonly string[] = Object.keys(ENDS).flatMap((to) =>
  Array(to === DEFERRING ? 1 : 25).fill(to),
);

/** Checks everything promised to callers and receivers against everything that the service now returns. */
export function checkPromises(
  found: Found,
  { orders, payments, received }: { orders: Order[]; payments: PaymentOrder[]; received: readonly Received[] },
): void {
  checkAccepted(orders, found.messages);
  for (const message of found.messages.values()) checkMessage(message, orderOf(orders, message));
  checkEvents(found, orders);
  checkReceived(found, received, orders);
  checkDeliveries(found, orders);
  checkEchoes(found, orders);
  checkPayments(found, payments);
}

/** Waits until every message has ended and every delivery too, then reads all there is. */
export async function readWhenQuiet(
  service: Running,
  orders: readonly Order[],
  asked: readonly PaymentOrder[],
): Promise<Found> {
  const endOf = (message: Message) => {
    if (message.direction === "inbound") return "received";
    // A payment request's message has no identifier of its own.
    return message.externalMessageId === null ? "delivered" : orderEnd(orders, message).status;
  };
  const isDone = (message: Message) => message.status === "cancelled" || message.status === endOf(message);
  await until(
    async () => {
      const open = await Promise.all([
        ...["scheduled", "queued", "pending"].map((status) =>
          service.ask("GET", `/v1/messages?status=${status}&limit=1`),
        ),
        service.ask("GET", "/v1/webhooks/deliveries?status=pending&limit=1"),
      ]);
      return open.every(({ data }) => (data.messages ?? data.deliveries).length === 0);
    },
    { limitMs: 120_000, what: "quiet: every message sent, every delivery ended" },
  );
  const list = async () => (await allPages<Message>(service, "/v1/messages", "messages")).flatMap(({ items }) => items);
  let messages: Message[] = [];
  await until(
    async () => {
      messages = await list();
      return messages.every(isDone);
    },
    { limitMs: 120_000, what: "I4: every message in its final state" },
  ).catch((error: Error) => {
    const left = messages.filter((message) => !isDone(message)).map(({ id, to, timeline }) => ({ id, to, timeline }));
    assert.fail(`${error.message}: ${left.length} are left, ${JSON.stringify(left.slice(0, 3))}`);
  });
  const expected = messages.filter(isEchoed).length + asked.length;
  let inbound: Message[] = [];
  await until(
    async () => {
      messages = await list();
      inbound = messages.filter(({ direction }) => direction === "inbound");
      return inbound.length >= expected;
    },
    { what: `${expected} messages of contacts; there are ${inbound.length}` },
  );
  const settled = async () =>
    (await service.ask("GET", "/v1/webhooks/deliveries?status=pending&limit=1")).data.deliveries.length === 0;
  await until(settled, { what: "every delivery to end" });
  const events = await allPages<AnyEvent>(service, "/v1/events", "events");
  const deliveries = await allPages<Delivery>(service, "/v1/webhooks/deliveries", "deliveries");
  const payments = await allPages<PaymentRequest>(service, "/v1/payments/requests", "requests");
  const outbound = messages.filter(({ direction }) => direction === "outbound");
  const byId = (some: Message[]) => new Map(some.map((message) => [message.id, message]));
  return {
    messages: byId(outbound.filter(({ externalMessageId }) => externalMessageId !== null)),
    asking: byId(outbound.filter(({ externalMessageId }) => externalMessageId === null)),
    inbound,
    payments: payments.flatMap(({ items }) => items),
    events: new Map(events.flatMap(({ items, text }) => items.map((event) => [event.id, { event, page: text }]))),
    deliveries: deliveries.flatMap(({ items }) => items),
  };
}

/** The request for this event's message, or null if nobody requested it. */
function orderBehind(orders: readonly Order[], { data }: AnyEvent): Order | null {
  const { externalMessageId } = data;
  return typeof externalMessageId === "string" ? orderOf(orders, { externalMessageId }) : null;
}

function orderEnd(orders: readonly Order[], message: Message) {
  const end = ENDS[orderOf(orders, message).body.to];
  assert.ok(end);
  return end;
}

/** I1, I2: every acknowledged message exists once, as it was sent, and no refused message exists. */
function checkAccepted(orders: readonly Order[], messages: ReadonlyMap<string, Message>): void {
  const byOrder = new Map<Order, Message[]>();
  for (const message of messages.values()) {
    const order = orderOf(orders, message);
    byOrder.set(order, [...(byOrder.get(order) ?? []), message]);
  }
  for (const order of orders) {
    assert.deepEqual(order.wrong, [], order.name);
    const made = byOrder.get(order) ?? [];
    if (order.refused) {
      assert.deepEqual([order.id, made.length], [null, 0], `${order.name} was refused`);
      continue;
    }
    assert.deepEqual(
      made.map(({ id }) => id),
      [order.id],
      `${order.name} is one message, the one that was acknowledged`,
    );
    const [message] = made;
    assert.equal(message?.content.text, order.body.content.text);
    assert.equal(message?.to, order.body.to);
    assert.deepEqual(message?.metadata, order.body.metadata);
    assert.equal(message?.scheduledAt ?? undefined, order.body.scheduledAt);
  }
}

/** I4, I6, I7, I8, by the record and its timeline. */
function checkMessage(message: Message, order: Order): void {
  const { timeline, id } = message;
  const shown = `${id} ${order.body.to} ${JSON.stringify(timeline)}`;
  assert.equal(timeline.at(-1)?.status, message.status, shown);
  for (const [index, entry] of timeline.entries()) {
    const next = timeline[index + 1];
    if (next !== undefined)
      assert.ok(MOVES[entry.status]?.includes(next.status), `${entry.status} → ${next.status}: ${shown}`);
  }
  const cancelled = message.status === "cancelled";
  if (order.cancelling === "cancelled") assert.ok(cancelled, `I8: it was cancelled, that was acknowledged: ${shown}`);
  else if (!order.cancelUnanswered) assert.ok(!cancelled, `nobody cancelled it: ${shown}`);
  for (const channel of ["imessage", "sms"]) checkSendAttempts(attempts(timeline, channel), order, shown);
  if (cancelled) assert.ok(!timeline.some(({ status }) => status === "pending"), `I8: cancelled and sent: ${shown}`);
  for (const { at, status } of timeline) {
    if (order.scheduledAt === null || status === "scheduled" || status === "cancelled") continue;
    assert.ok(Date.parse(at) >= order.scheduledAt, `I8: before its time: ${shown}`);
  }
}

/** The entries of a channel at which a send attempt began or was withdrawn. */
function attempts(timeline: readonly TimelineEntry[], channel: string): TimelineEntry[] {
  return timeline.filter((entry) => entry.channel === channel && ["pending", "queued"].includes(entry.status));
}

/** I6: each attempt but the first follows one that was deferred, or whose unknown outcome was reconciled as absent. */
function checkSendAttempts(entries: readonly TimelineEntry[], order: Order, shown: string): void {
  let open = false;
  for (const { status, reason } of entries) {
    if (status === "queued") {
      const isNotSent: boolean | undefined =
        reason?.startsWith(NEVER_RECEIVED) || reason === NEVER_SENT || reason === NOT_GIVEN;
      const known: boolean | undefined = order.body.to === DEFERRING || !open || isNotSent;
      assert.ok(known, `I6: withdrawn though it may have been sent: ${shown}`);
      open = false;
    } else if (reason === undefined) {
      assert.ok(!open, `I6: sent twice with no unknown outcome between: ${shown}`);
      open = true;
    }
  }
}

/** I3, I7: every message has the events of its recipient, each once, numbered from 1 without a gap. */
function checkEvents({ messages, asking, inbound, events }: Found, orders: readonly Order[]): void {
  const ids = [...messages.keys(), ...asking.keys(), ...inbound.map(({ id }) => id)];
  const byMessage = new Map<string, AnyEvent[]>(ids.map((id) => [id, []]));
  for (const { event } of events.values()) {
    // Typing events have no message, and a dead process forgets its typing contacts.
    if (event.type === "typing.indicator" || event.type.startsWith("payment.")) continue;
    const of = byMessage.get(String(event.data.messageId));
    assert.ok(of, `${event.id} is of a message that does not exist`);
    of.push(event);
  }
  const all: [message: Message, types: string[]][] = [
    ...[...messages.values()].map((one): [Message, string[]] => [one, expectedEvents(one, orderOf(orders, one))]),
    ...[...asking.values()].map((one): [Message, string[]] => [one, ["queued", "sent", "delivered"]]),
    ...inbound.map((one): [Message, string[]] => [one, ["inbound"]]),
  ];
  for (const [message, types] of all) {
    const emitted = (byMessage.get(message.id) ?? []).sort((a, b) => Number(a.data.sequence) - Number(b.data.sequence));
    assert.deepEqual(
      emitted.map(({ type, data }) => [data.sequence, type]),
      types.map((type, index) => [index + 1, `message.${type}`]),
      message.id,
    );
  }
}

function expectedEvents(message: Message, order: Order): string[] {
  const first = order.scheduledAt === null ? [] : ["scheduled"];
  if (message.status === "cancelled") return [...first, "schedule_cancelled"];
  return [...first, "queued", ...(ENDS[order.body.to]?.events ?? [])];
}

/** I5: every event came to each of its addresses, in order, signed, with the bytes that the event list has. */
function checkReceived({ events }: Found, received: readonly Received[], orders: readonly Order[]): void {
  const arrivals = new Map<string, number>();
  const lastSequence = new Map<string, number>();
  for (const webhook of received) {
    const { event, path, body, headers, at } = webhook;
    const known = events.get(event.id);
    assert.ok(known, `${event.id} ${event.type} was delivered and is not in the list`);
    assert.ok(known.page.includes(body), `I5: ${event.id} has other bytes in the list: ${body}`);
    assert.equal(Number(headers["content-length"]), Buffer.byteLength(body));
    assert.ok(isSigned(webhook, SECRET), `I5: the signature of ${event.id}`);
    assert.equal(headers["webhook-id"] ?? event.id, event.id);
    const ageSeconds = at / 1_000 - Number(headers["x-timestamp"]);
    assert.ok(ageSeconds > -1 && ageSeconds < TIMESTAMP_AGE_MAX_SECONDS, `I5: a timestamp ${ageSeconds} s old`);
    const key = `${path} ${event.id}`;
    const stream = `${path} ${event.data.messageId}`;
    if (!arrivals.has(key) && event.type.startsWith("message.")) {
      assert.equal(event.data.sequence, (lastSequence.get(stream) ?? 0) + 1, `${stream} in order`);
      lastSequence.set(stream, Number(event.data.sequence));
    }
    arrivals.set(key, (arrivals.get(key) ?? 0) + 1);
    const scheduledAt = orderBehind(orders, event)?.scheduledAt ?? null;
    const early = scheduledAt !== null && at < scheduledAt;
    if (early) assert.ok(/scheduled|schedule_cancelled/.test(event.type), `I8: ${event.type} before its time`);
  }
  for (const { event } of events.values()) {
    assert.ok(arrivals.has(`/hook ${event.id}`), `I5: ${event.id} ${event.type} never came`);
    const isCalledBack = orderBehind(orders, event)?.body.callbackUrl !== undefined;
    assert.equal(arrivals.has(`/callback ${event.id}`), isCalledBack, `${event.id} at its callback`);
  }
}

/** I12: one delivery for each event and address, succeeded, with no more attempts than the schedule has. */
function checkDeliveries({ events, deliveries }: Found, orders: readonly Order[]): void {
  const seen = new Set<string>();
  for (const { id, eventId, webhookId, status, attempts } of deliveries) {
    const key = `${eventId} ${webhookId === null ? "callback" : "hook"}`;
    assert.ok(events.has(eventId) && !seen.has(key), `${id}: one delivery of ${key}`);
    seen.add(key);
    assert.equal(status, "succeeded", id);
    assert.equal(attempts.at(-1)?.status, 200);
    assert.ok(attempts.length <= RETRIES_MS.length + 1, `${id} has ${attempts.length} attempts`);
  }
  const callbacks = [...events.values()].filter(
    ({ event }) => orderBehind(orders, event)?.body.callbackUrl !== undefined,
  );
  assert.equal(seen.size, events.size + callbacks.length);
}
