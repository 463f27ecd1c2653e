/** Reference of payment requests. */

import { Type } from "typebox";
import {
  PAYMENT_EVIDENCE,
  PAYMENT_STATUSES,
  type PaymentRequest as WirePaymentRequest,
  type PaymentRequestList as WirePaymentRequestList,
} from "../../../sdk/wire.ts";
import { wire } from "../schemas/common.ts";
import {
  AnyObject,
  At,
  AtOrNull,
  component,
  happening,
  id,
  operation,
  orNull,
  Pagination,
  type Section,
  TextOrNull,
} from "./operation.ts";
import { at, CONTACT, IDS, LAST_PAGE, OWN } from "./samples.ts";

const PaymentRequest = wire<WirePaymentRequest>()(
  component("PaymentRequest", {
    id: id("pay"),
    messageId: id("msg"),
    to: Type.String(),
    from: Type.String(),
    amount: Type.String({ pattern: "^(0|[1-9]\\d*)\\.\\d{2}$" }),
    currency: Type.Literal("USD"),
    note: TextOrNull,
    status: Type.Enum(PAYMENT_STATUSES),
    metadata: orNull(AnyObject),
    paidBy: orNull(Type.Object({ messageId: id("msg"), evidence: Type.Enum(PAYMENT_EVIDENCE) })),
    reason: TextOrNull,
    expiresAt: At,
    paidAt: AtOrNull,
    cancelledAt: AtOrNull,
    createdAt: At,
    updatedAt: At,
  }),
);

const PaymentRequestList = wire<WirePaymentRequestList>()(
  component("PaymentRequestList", { requests: Type.Array(PaymentRequest), pagination: Pagination }),
);

const pending: WirePaymentRequest = {
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

const paid: WirePaymentRequest = {
  ...pending,
  status: "paid",
  paidBy: { messageId: IDS.reply, evidence: "apple_cash" },
  paidAt: at(60),
  updatedAt: at(60),
};

const cancelled: WirePaymentRequest = { ...pending, status: "cancelled", cancelledAt: at(90), updatedAt: at(90) };

export const payments: Section = {
  tag: "Payments",
  description:
    "Ask a contact for money by a message. A request is paid by a payment from that contact to that number of that amount: the oldest pending one first, once.",
  parameters: { id: { description: "The payment request.", example: IDS.payment } },
  operations: {
    "POST /v1/payments/request": operation({
      id: "requestPayment",
      summary: "Ask for a payment",
      description:
        "Sends the request as a message. Should that message fail, the request is cancelled and `reason` says why. `callbackUrl` gets the events of the message and of the request.",
      status: 202,
      answer: PaymentRequest,
      example: pending,
      errors: [
        "INVALID_PHONE_NUMBER",
        "INVALID_RECIPIENT",
        "NO_DEFAULT_ADDRESS",
        "NO_CHANNEL_AVAILABLE",
        "ADDRESS_NOT_AUTHORIZED",
        "RECIPIENT_OPTED_OUT",
      ],
      body: { to: CONTACT, amount: "25.00", note: "Deposit for table 7", metadata: { table: 7 } },
    }),
    "GET /v1/payments/requests": operation({
      id: "listPaymentRequests",
      summary: "List payment requests",
      description: "Newest first. `from` and `to` are dates or instants between which a request was made.",
      answer: PaymentRequestList,
      example: { requests: [paid], pagination: LAST_PAGE },
      query: { status: "paid", from: "2026-03-01" },
    }),
    "GET /v1/payments/requests/:id": operation({
      id: "getPaymentRequest",
      summary: "Get a payment request",
      description: "As it now is, with the message that paid it and what kind of proof that was.",
      answer: PaymentRequest,
      example: paid,
    }),
    "POST /v1/payments/requests/:id/cancel": operation({
      id: "cancelPaymentRequest",
      summary: "Cancel a payment request",
      description: "Only while it is pending. A payment that comes later is a message like any other.",
      answer: PaymentRequest,
      example: cancelled,
      errors: ["INVALID_STATUS"],
    }),
  },
  events: [
    happening("payment.request.created", "A payment request was accepted.", PaymentRequest, pending),
    happening("payment.request.paid", "A payment request was paid.", PaymentRequest, paid),
    happening(
      "payment.request.cancelled",
      "A payment request was cancelled, or its message could not be sent.",
      PaymentRequest,
      cancelled,
    ),
    happening("payment.request.expired", "A payment request was not paid in time.", PaymentRequest, {
      ...pending,
      status: "expired",
      updatedAt: at(2_592_000),
    }),
  ],
};
