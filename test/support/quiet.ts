/** The state that the crash test finds when all is quiet: each reply and each payment exists once. */

import assert from "node:assert/strict";
import type { AnyEvent, Delivery, Message, PaymentRequest } from "../../sdk/wire.ts";
import type { Order, PaymentOrder } from "./load.ts";

/** Replies to each message with its text. */
export const ECHO = "+15005550110";
/** Pays each payment request. */
export const PAYER = "+15005550112";

/** All records of the service, when no work is left. */
export interface Found {
  /** The requests. */
  messages: Map<string, Message>;
  /** The messages of contacts. */
  inbound: Message[];
  /** The payment requests. */
  asking: Map<string, Message>;
  payments: PaymentRequest[];
  events: Map<string, { event: AnyEvent; page: string }>;
  deliveries: Delivery[];
}

/** Whether the recipient replies to the message. */
export function isEchoed({ direction, to, status }: Message): boolean {
  return direction === "outbound" && to === ECHO && status === "delivered";
}

/** The request for this message. */
export function orderOf(orders: readonly Order[], message: Pick<Message, "externalMessageId">): Order {
  const order = orders[Number(message.externalMessageId?.replace("order-", ""))];
  assert.ok(order, `${message.externalMessageId} was never sent`);
  return order;
}

/** Each message to the echo got one reply, with its own text. */
export function checkEchoes({ messages, inbound }: Found, orders: readonly Order[]): void {
  const echoed = [...messages.values()]
    .filter(isEchoed)
    .map((one) => `You said: ${orderOf(orders, one).body.content.text}`);
  const received = inbound.filter(({ from }) => from === ECHO).map(({ content }) => content.text ?? "");
  assert.deepEqual(received.sort(), echoed.sort());
}

/** Each requested payment exists once, and was paid once, by a payment that paid no other request. */
export function checkPayments({ payments, inbound, asking, events }: Found, orders: readonly PaymentOrder[]): void {
  for (const { name, wrong } of orders) assert.deepEqual(wrong, [], name);
  assert.deepEqual(payments.map(({ id }) => id).sort(), orders.map(({ id }) => id ?? "").sort());
  const payers = inbound.filter(({ from }) => from === PAYER).map(({ id }) => id);
  assert.deepEqual(payments.map(({ paidBy }) => paidBy?.messageId).sort(), payers.sort());
  for (const { id, messageId, status } of payments) {
    assert.ok(asking.has(messageId), `${id} has its message`);
    const emitted = [...events.values()].filter(
      ({ event }) => event.type.startsWith("payment.") && event.data.id === id,
    );
    const types = emitted.map(({ event }) => event.type).sort();
    assert.deepEqual([status, ...types], ["paid", "payment.request.created", "payment.request.paid"], id);
  }
}
