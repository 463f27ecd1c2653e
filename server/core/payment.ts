/** Payment requests and their lifecycle: signal × status → status, as a table. Money is in integer cents. Pure. */

import type { EventType, Metadata, PaymentEvidence, PaymentRequest, PaymentStatus } from "../../sdk/wire.ts";
import { type Event, makeEvent } from "./event.ts";
import type { CustomerId, EventId, KeyId, MessageId, PaymentId } from "./id.ts";
import { iso, isoOrNull } from "./instant.ts";
import { withoutStepBack } from "./step-back.ts";

export interface Payment {
  id: PaymentId;
  version: number;
  customerId: CustomerId;
  keyId: KeyId;
  /** The message that requests it. */
  messageId: MessageId;
  from: string;
  to: string;
  amountCents: number;
  currency: "USD";
  note: string | null;
  status: PaymentStatus;
  metadata: Metadata | null;
  callbackUrl: string | null;
  correlationId: string;
  paidBy: { messageId: MessageId; evidence: PaymentEvidence } | null;
  /** Why it was cancelled. */
  reason: string | null;
  /** When it expires; `dueAt` has the same value while it is pending, else null. */
  expiresAt: number;
  dueAt: number | null;
  paidAt: number | null;
  cancelledAt: number | null;
  createdAt: number;
  updatedAt: number;
}

/** Signals of a payment request. `fail`: its message failed. */
export type PaymentSignal = "pay" | "cancel" | "expire" | "fail";

/** The lifecycle. Any other signal is ignored: an ended request never changes. */
const PAYMENT_TRANSITIONS: Readonly<Record<PaymentSignal, Readonly<Partial<Record<PaymentStatus, PaymentStatus>>>>> = {
  pay: { pending: "paid" },
  cancel: { pending: "cancelled" },
  expire: { pending: "expired" },
  fail: { pending: "cancelled" },
};

/** `reason` of a request that was cancelled, by what cancelled it. */
const CANCEL_REASON = { cancel: "CANCELLED_BY_CALLER", fail: "MESSAGE_FAILED" } as const;

const EVENT_OF: Readonly<Record<PaymentStatus, EventType>> = {
  pending: "payment.request.created",
  paid: "payment.request.paid",
  cancelled: "payment.request.cancelled",
  expired: "payment.request.expired",
};

/** A request and the event of one change to it, to be committed together. */
export interface PaymentChange {
  payment: Payment;
  event: Event;
}

/** Parameters of a change: shifted time, and an id for its event. */
export interface PaymentContext {
  now: number;
  eventId: () => EventId;
  /** Correlation id of the API request; by default the payment request's own. */
  correlationId?: string;
}

/** A new request, pending until it expires, with `payment.request.created`. */
export function beginPayment(
  asked: Omit<Payment, "version" | "status" | "paidBy" | "reason" | "dueAt" | "paidAt" | "cancelledAt">,
  context: PaymentContext,
): PaymentChange {
  const payment: Payment = {
    ...asked,
    version: 1,
    status: "pending",
    paidBy: null,
    reason: null,
    dueAt: asked.expiresAt,
    paidAt: null,
    cancelledAt: null,
  };
  return { payment, event: eventOf(payment, context) };
}

/** Marks the request as paid by an inbound message. Null if it is not pending. */
export function payPayment(
  payment: Payment,
  paidBy: NonNullable<Payment["paidBy"]>,
  context: PaymentContext,
): PaymentChange | null {
  return end(payment, "pay", { paidBy, paidAt: context.now }, context);
}

/** Cancels the request, for the caller or because its message failed. Null if it is not pending. */
export function cancelPayment(
  payment: Payment,
  signal: "cancel" | "fail",
  context: PaymentContext,
): PaymentChange | null {
  return end(payment, signal, { reason: CANCEL_REASON[signal], cancelledAt: context.now }, context);
}

/** Expires the request. Null if it is not pending. */
export function expirePayment(payment: Payment, context: PaymentContext): PaymentChange | null {
  return end(payment, "expire", {}, context);
}

function end(
  payment: Payment,
  signal: PaymentSignal,
  set: Partial<Payment>,
  context: PaymentContext,
): PaymentChange | null {
  const status = PAYMENT_TRANSITIONS[signal][payment.status];
  if (status === undefined) return null;
  const now = withoutStepBack(payment.updatedAt, context.now);
  const ended: Payment = { ...payment, ...set, status, dueAt: null, updatedAt: now };
  return { payment: ended, event: eventOf(ended, context) };
}

/**
 * The event of a change, at the time of the change. It belongs to the message of the request. `sequence` orders the first attempts, so
 * that an endpoint gets the creation of a request before its end.
 */
function eventOf(payment: Payment, { eventId, correlationId = payment.correlationId }: PaymentContext): Event {
  const { customerId, messageId } = payment;
  const sequence = payment.status === "pending" ? 1 : 2;
  const type = EVENT_OF[payment.status];
  return makeEvent(
    { id: eventId(), customerId, type, messageId, sequence, correlationId, createdAt: payment.updatedAt },
    paymentRecord(payment),
  );
}

/** The record of the API, also the data of every `payment.request.*` event. */
export function paymentRecord(payment: Payment): PaymentRequest {
  return {
    id: payment.id,
    messageId: payment.messageId,
    to: payment.to,
    from: payment.from,
    amount: formatAmount(payment.amountCents),
    currency: payment.currency,
    note: payment.note,
    status: payment.status,
    metadata: payment.metadata,
    paidBy: payment.paidBy,
    reason: payment.reason,
    expiresAt: iso(payment.expiresAt),
    paidAt: isoOrNull(payment.paidAt),
    cancelledAt: isoOrNull(payment.cancelledAt),
    createdAt: iso(payment.createdAt),
    updatedAt: iso(payment.updatedAt),
  };
}

/** Largest amount in cents (`AMOUNT_MAX`); the smallest amount is one cent. */
const AMOUNT_CENTS_MAX = 99_999_999;

/** The format that `parseAmount` accepts, as the end of an error message. */
export const AMOUNT_EXPECTED = 'must be 0.01 to 999,999.99 with at most two decimals, such as 25 or "25.00"';

const DECIMAL = /^(0|[1-9]\d{0,5})(?:\.(\d{1,2}))?$/;

/**
 * Cents of an amount in dollars; null unless it is 0.01 to 999999.99 with at most two decimals. A number counts as the
 * decimal that JSON writes: 0.1 + 0.2 is 0.30000000000000004, which is no amount. Nothing is rounded.
 */
export function parseAmount(amount: number | string): number | null {
  const [, dollars, decimals = ""] = DECIMAL.exec(String(amount)) ?? [];
  if (dollars === undefined) return null;
  const cents = Number(dollars) * 100 + Number(decimals.padEnd(2, "0"));
  return cents >= 1 && cents <= AMOUNT_CENTS_MAX ? cents : null;
}

/** Cents as a decimal of dollars with two places: 2500 is `25.00`. */
export function formatAmount(cents: number): string {
  return `${Math.floor(cents / 100)}.${String(cents % 100).padStart(2, "0")}`;
}

/** The text of a payment request. Phones turn an amount in this form into a link that pays it. */
export function requestText(amountCents: number, note: string | null): string {
  const [dollars = "", decimals] = formatAmount(amountCents).split(".");
  const asked = `Payment request: $${Number(dollars).toLocaleString("en-US")}.${decimals}`;
  // A plain hyphen: GSM 03.38 has no dash, so a dash would double the price of the SMS.
  return note === null ? asked : `${asked} - ${note}`;
}
