/** Payments: requests for money, and their events. */

import { type Static, Type } from "typebox";
import { event } from "./event-type.ts";
import { at, CONTACT, IDS, OWN } from "./samples.ts";
import {
  atOrNull,
  choice,
  closed,
  id,
  at as instant,
  list,
  optional,
  orNull,
  record,
  request,
  SHOWN,
  says,
  string,
  stringOrNull,
  text,
} from "./schema.ts";
import { Sender } from "./sending.ts";
import { EITHER_FORM } from "./sentences.ts";
import {
  addressShown,
  anyMetadata,
  boundShown,
  changed,
  HttpsUrl,
  IdempotencyKey,
  metadataInput,
  Pagination,
  page,
} from "./values.ts";

/** Smallest amount, in dollars. */
export const AMOUNT_MIN = 0.01;
/** Largest amount, in dollars. */
export const AMOUNT_MAX = 999_999.99;

/** Longest note, in characters. */
const NOTE_LENGTH_MAX = 500;
/** A request is open for a second at least and a year at most, in seconds. */
const EXPIRES_IN_SECONDS = { minimum: 1, maximum: 31_536_000 } as const;

export const PAYMENT_STATUSES = ["pending", "paid", "cancelled", "expired"] as const;
export const PaymentStatus = choice("PaymentStatus", PAYMENT_STATUSES, "Status of a payment request.");

export const PAYMENT_EVIDENCE = ["apple_cash", "text"] as const;
export const PaymentEvidence = choice(
  "PaymentEvidence",
  PAYMENT_EVIDENCE,
  "Proof of a payment: a payment that the phone saw, or a sentence about one.",
);

/** A decimal string of dollars. */
export const AmountText = Type.String({
  format: "amount",
  [SHOWN]: { pattern: "^(?:0\\.(?:0[1-9]|[1-9]\\d?)|[1-9]\\d{0,5}(?:\\.\\d{1,2})?)$" },
});

/** Dollars: a number or a decimal string. */
export const Amount = Type.Union([
  Type.Number({ minimum: AMOUNT_MIN, maximum: AMOUNT_MAX, "x-amount": true }),
  AmountText,
]);

export const RequestPayment = request("RequestPayment", "Body of `POST /v1/payments/request`.", {
  to: text(0, 512, `The contact who is to pay: a phone number or iMessage e-mail. ${EITHER_FORM}`, addressShown),
  from: optional(Sender),
  amount: says(Amount, "Dollars, 0.01 to 999,999.99, with at most two decimals: a number or a decimal string."),
  currency: optional(Type.Literal("USD", { description: "US dollars." })),
  note: optional(text(0, NOTE_LENGTH_MAX, "Purpose of the payment.")),
  callbackUrl: optional(
    says(HttpsUrl, "URL that receives every event of this payment request, whatever webhooks subscribe to."),
  ),
  metadata: optional(metadataInput),
  idempotencyKey: optional(IdempotencyKey),
  expiresInSeconds: optional(
    Type.Integer({ ...EXPIRES_IN_SECONDS, description: "How long the request stays open. Default: 30 days." }),
  ),
});

export const PaymentRequest = record("PaymentRequest", "A request for a payment.", {
  id: id("pay"),
  messageId: id("msg", "The message that asks for the payment."),
  to: string("Address of the contact who is to pay."),
  from: string("Your number."),
  amount: Type.String({ pattern: "^(0|[1-9]\\d*)\\.\\d{2}$", description: "Dollars with two decimals." }),
  currency: Type.Literal("USD", { description: "US dollars." }),
  note: stringOrNull("Purpose of the payment."),
  status: says(PaymentStatus, "Status of the payment request."),
  metadata: orNull(anyMetadata, "Your own JSON object, as you sent it."),
  paidBy: orNull(
    Type.Object({
      messageId: id("msg", "The message that carries the payment."),
      evidence: says(PaymentEvidence, "Kind of proof."),
    }),
    "The message that paid the request, and the kind of proof; null until then.",
  ),
  reason: stringOrNull("Why the request was cancelled, if there is a reason."),
  expiresAt: instant("When the request expires."),
  paidAt: atOrNull("When the request was paid."),
  cancelledAt: atOrNull("When the request was cancelled."),
  ...changed,
});

export const PaymentRequestList = record("PaymentRequestList", "A page of payment requests.", {
  requests: list(PaymentRequest, "The payment requests of this page."),
  pagination: says(Pagination, "Where the list continues."),
});

/** Query of `GET /v1/payments/requests`. */
export const PaymentsQuery = closed({
  ...page,
  status: optional(says(PaymentStatus, "Only payment requests with this status.")),
  from: optional(text(1, 40, "Only payment requests created on or after this date or instant.", boundShown)),
  to: optional(text(1, 40, "Only payment requests created until this date, or before this instant.", boundShown)),
});

const pending: Static<typeof PaymentRequest> = {
  id: IDS.payment,
  messageId: IDS.message,
  to: CONTACT,
  from: OWN,
  amount: "25.00",
  currency: "USD",
  note: "Deposit for table 7",
  status: "pending",
  metadata: { table: 7 },
  paidBy: null,
  reason: null,
  expiresAt: at(2_592_000),
  paidAt: null,
  cancelledAt: null,
  createdAt: at(0),
  updatedAt: at(0),
};

const paid: Static<typeof PaymentRequest> = {
  ...pending,
  status: "paid",
  paidBy: { messageId: IDS.reply, evidence: "apple_cash" },
  paidAt: at(60),
  updatedAt: at(60),
};

/** The same request in each status. */
export const paymentExamples = {
  pending,
  paid,
  cancelled: { ...pending, status: "cancelled", cancelledAt: at(90), updatedAt: at(90) },
  expired: { ...pending, status: "expired", updatedAt: at(2_592_000) },
} satisfies Record<string, Static<typeof PaymentRequest>>;

export const paymentEvents = [
  event("payment.request.created", "A payment request was accepted.", PaymentRequest, pending),
  event("payment.request.paid", "A payment request was paid.", PaymentRequest, paid),
  event(
    "payment.request.cancelled",
    "A payment request was cancelled, or its message could not be sent.",
    PaymentRequest,
    paymentExamples.cancelled,
  ),
  event("payment.request.expired", "A payment request was not paid in time.", PaymentRequest, paymentExamples.expired),
];
