/**
 * Changes of payment requests by messages: an inbound message pays a request, a failed message cancels its own request.
 * Both changes belong in the message's transaction.
 */

import type { EventId } from "../../core/id.ts";
import type { Message } from "../../core/message.ts";
import {
  cancelPayment,
  type Payment,
  type PaymentChange,
  type PaymentContext,
  payPayment,
} from "../../core/payment.ts";
import { paidCentsOf } from "../../core/payment-text.ts";
import type { InboundSignal } from "../../providers/provider.ts";
import { findOldestPending, findPayment } from "../../store/payments.ts";
import type { Operation } from "../../store/store.ts";
import { difference } from "../commit.ts";
import type { Deps } from "../deps.ts";
import type { With } from "../engine-deps.ts";
import { nullIfUnreadable } from "../unreadable.ts";

/** Context of a change to a payment request. */
export function paymentContext(deps: Pick<Deps, "clock" | "newId" | "correlationId">): PaymentContext {
  const { clock, correlationId, newId } = deps;
  const context = { now: clock.now(), eventId: (): EventId => newId("evt") };
  return correlationId === undefined ? context : { ...context, correlationId };
}

/** The operations that lead from `before` to the change's request, with its event. */
export function paymentOperations(before: Payment, { payment, event }: PaymentChange): Operation[] {
  const set = difference(before, payment);
  return [
    { op: "update", table: "payments", id: before.id, version: before.version, set },
    { op: "event", event, callbackUrl: payment.callbackUrl },
  ];
}

/** A payment in a message, or described by its text. */
interface CarriedPayment {
  amountCents: number;
  evidence: "apple_cash" | "text";
}

/**
 * The operations by which an inbound message pays the oldest pending request from its recipient to its sender with
 * exactly its amount. They belong in the message's transaction, and are decided again with it. None if the message pays
 * nothing.
 */
export async function paidBy(deps: With<"providers">, message: Message, signal: InboundSignal): Promise<Operation[]> {
  const carried = carriedBy(deps, message, signal);
  if (carried === null) return [];
  const { customerId, id: messageId } = message;
  const { amountCents, evidence } = carried;
  const paid = { customerId, from: message.to, to: message.from, amountCents };
  const payment = await findOldestPending(deps.store.db, paid);
  const changed = payment === null ? null : payPayment(payment, { messageId, evidence }, paymentContext(deps));
  return payment === null || changed === null ? [] : paymentOperations(payment, changed);
}

/** A payment in a group may be for anybody in it, so it pays no request. */
function carriedBy(
  deps: With<"providers">,
  message: Message,
  { payment, group }: InboundSignal,
): CarriedPayment | null {
  if (group !== null) return null;
  if (payment !== null) return payment.isRequest ? null : { amountCents: payment.amountCents, evidence: "apple_cash" };
  if (message.text === null || !countsText(deps, message)) return null;
  const amountCents = paidCentsOf(message.text);
  return amountCents === null ? null : { amountCents, evidence: "text" };
}

/**
 * Anyone can type a sentence, so text counts only over iMessage, and only if the provider sees no payments or the
 * operator allows it.
 */
function countsText({ providers, settings }: With<"providers">, { channel, instanceId }: Message): boolean {
  if (channel !== "imessage") return false;
  return settings.paymentText || providers.get(instanceId)?.capabilities.seesPayments === false;
}

/**
 * The operations that cancel the payment request of a failed message, for the message's transaction. None if the row of the
 * request cannot be decoded: the message fails nevertheless, and the repaired request expires.
 */
export async function failedWith(deps: Deps, { payment: asked }: Message): Promise<Operation[]> {
  if (asked === null) return [];
  const payment = await nullIfUnreadable(deps, "payments", () => findPayment(deps.store.db, asked.id));
  const changed = payment === null ? null : cancelPayment(payment, "fail", paymentContext(deps));
  return payment === null || changed === null ? [] : paymentOperations(payment, changed);
}
