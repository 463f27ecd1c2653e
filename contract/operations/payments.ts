/** Operations on payment requests. */

import { linksTo, operation, type Section } from "../operation.ts";
import { PaymentRequest, PaymentRequestList, PaymentsQuery, paymentExamples, RequestPayment } from "../payments.ts";
import { CONTACT, IDS, LAST_PAGE } from "../samples.ts";
import { IdempotentRequest } from "../values.ts";

export const payments: Section = {
  tag: "Payments",
  description:
    "Ask a contact for money by a message. A payment of that amount from that contact to that number pays the oldest pending request, once.",
  parameters: { id: { description: "Id of the payment request.", example: IDS.payment } },
  operations: {
    "POST /v1/payments/request": operation({
      id: "requestPayment",
      summary: "Request a payment",
      description:
        "Sends the request as a message. If that message fails, the request is cancelled and `reason` says why. `callbackUrl` receives the events of the message and of the request.",
      status: 202,
      body: RequestPayment,
      response: PaymentRequest,
      example: paymentExamples.pending,
      errors: [
        "INVALID_PHONE_NUMBER",
        "INVALID_RECIPIENT",
        "NO_DEFAULT_ADDRESS",
        "NO_CHANNEL_AVAILABLE",
        "ADDRESS_NOT_AUTHORIZED",
        "RECIPIENT_OPTED_OUT",
      ],
      bodyExample: { to: CONTACT, amount: "25.00", note: "Deposit for table 7", metadata: { table: 7 } },
      links: linksTo("getPaymentRequest", "cancelPaymentRequest"),
    }),
    "GET /v1/payments/requests": operation({
      id: "listPaymentRequests",
      summary: "List payment requests",
      description: "Lists payment requests newest first. `from` and `to` bound when they were created.",
      query: PaymentsQuery,
      response: PaymentRequestList,
      example: { requests: [paymentExamples.paid], pagination: LAST_PAGE },
      queryExample: { status: "paid", from: "2026-03-01" },
    }),
    "GET /v1/payments/requests/:id": operation({
      id: "getPaymentRequest",
      summary: "Get a payment request",
      description: "Includes the message that paid it, and the kind of proof.",
      response: PaymentRequest,
      example: paymentExamples.paid,
    }),
    "POST /v1/payments/requests/:id/cancel": operation({
      id: "cancelPaymentRequest",
      summary: "Cancel a payment request",
      description: "Possible while the request is pending. A later payment is an ordinary message.",
      body: IdempotentRequest,
      response: PaymentRequest,
      example: paymentExamples.cancelled,
      errors: ["INVALID_STATUS"],
    }),
  },
};
