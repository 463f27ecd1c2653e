/** `tightbeam payments` and `tightbeam calls`: the rows of their commands, and how a payment request and a call are shown. */

import { CALL_STATUSES, type Call, PAYMENT_STATUSES, type PaymentRequest } from "../sdk/wire.ts";
import { type CommandRow, list, present, request } from "./command.ts";
import { listing, type Paint, statusStyle } from "./output.ts";
import { REQUEST_FIELDS } from "./request-fields.ts";
import { table } from "./table.ts";
import { pair, seconds } from "./values.ts";

const PAYMENT = { "<id>": "payment request id (pay_…)" };

interface RequestOptions {
  note?: string;
  from?: string;
  expiresIn?: number;
  callbackUrl?: string;
  metadata?: Record<string, string>;
  idempotencyKey?: string;
}

const FIELDS = REQUEST_FIELDS.RequestPayment;

/** Commands about payment requests. */
export const payments: CommandRow = {
  name: "payments",
  help: "Ask contacts for money with Apple Cash, and see who paid.",
  examples: {
    "tightbeam payments request +15005550112 25.00 --note Lunch": "a contact that pays at once",
    "tightbeam payments list --status pending": "what is still open",
    "tightbeam payments cancel <id>": "withdraw a request",
  },
  commands: [
    request({
      name: "request",
      help: "Ask a contact for money, by a message.",
      arguments: {
        "<to>": FIELDS.to,
        "<amount>": "US dollars, with at most two decimals: 25 or 25.00",
      },
      options: {
        "--note <text>": FIELDS.note,
        "--from <address>": FIELDS.from,
        "--expires-in <time>": {
          help: `${FIELDS.expiresInSeconds}, such as 90s, 2h or 30d`,
          parse: seconds,
        },
        "--callback-url <url>": FIELDS.callbackUrl,
        "--metadata <key=value>": { help: `${FIELDS.metadata}; may be repeated`, parse: pair },
        "--idempotency-key <key>": FIELDS.idempotencyKey,
      },
      examples: {
        "tightbeam payments request +15005550112 25.00 --note Lunch": "",
        "tightbeam payments request +15005550113 5 --expires-in 10s": "nobody pays: it expires",
        "tightbeam payments request +15005550112 25.00 | jq -r .id": "just the id",
      },
      // The amount stays text: a floating-point number would not be exact.
      call: (client, to: string, amount: string, { expiresIn, idempotencyKey, ...given }: RequestOptions) => {
        const expires = present({ expiresInSeconds: expiresIn });
        return client.payments.request({ to, amount, ...given, ...expires }, { idempotencyKey });
      },
      show: paymentDetail,
    }),
    list({
      name: "list",
      help: "List payment requests, the newest first.",
      options: {
        "--status <status>": { help: "only requests in this status", choices: PAYMENT_STATUSES },
        "--from <date>": "only requests created on or after this day or time (ISO 8601)",
        "--to <date>": "only requests created up to the end of this day (ISO 8601)",
      },
      examples: { "tightbeam payments list --status paid --from 2031-05-01": "paid since then" },
      pages: (client) => client.payments,
      items: (page) => page.requests,
      columns: [
        { title: "ID", value: (payment) => payment.id },
        { title: "STATUS", value: (payment) => payment.status, style: (payment) => statusStyle(payment.status) },
        { title: "AMOUNT", value: (payment) => `$${payment.amount}` },
        { title: "TO", value: (payment) => payment.to },
        { title: "CREATED", value: (payment) => payment.createdAt },
        { title: "NOTE", value: (payment) => payment.note },
      ],
      empty: "No payment requests.",
    }),
    request({
      name: "get",
      help: "Show one payment request.",
      arguments: PAYMENT,
      examples: { "tightbeam payments get <id> | jq -r .status": "one field of it" },
      call: (client, id: string) => client.payments.get(id),
      show: paymentDetail,
    }),
    request({
      name: "cancel",
      help: "Cancel a pending request. Refused once it is paid.",
      arguments: PAYMENT,
      examples: { "tightbeam payments list --status pending": "what can be cancelled" },
      call: (client, id: string) => client.payments.cancel(id),
      show: paymentDetail,
    }),
  ],
};

function paymentDetail(payment: PaymentRequest, paint: Paint): string {
  const { paidBy, metadata } = payment;
  return listing(
    {
      id: payment.id,
      status: payment.status,
      amount: `$${payment.amount}`,
      to: payment.to,
      from: payment.from,
      note: payment.note,
      messageId: payment.messageId,
      paidBy: paidBy === null ? null : `${paidBy.messageId} (${paidBy.evidence})`,
      reason: payment.reason,
      metadata: metadata === null ? null : JSON.stringify(metadata),
      expiresAt: payment.expiresAt,
      paidAt: payment.paidAt,
      cancelledAt: payment.cancelledAt,
    },
    paint,
  );
}

/** Commands about FaceTime calls. */
export const calls: CommandRow = {
  name: "calls",
  help: "List the FaceTime calls that were detected, and how they ended.",
  examples: {
    "tightbeam calls list --status missed": "missed calls",
    "tightbeam calls get <id>": "one call with its history",
  },
  commands: [
    list({
      name: "list",
      help: "List calls, the newest first.",
      options: { "--status <status>": { help: "only calls in this status", choices: CALL_STATUSES } },
      examples: { "tightbeam calls list --limit 5": "the last five" },
      pages: (client) => client.calls,
      items: (page) => page.calls,
      columns: [
        { title: "ID", value: (call) => call.id },
        { title: "STATUS", value: (call) => call.status, style: (call) => statusStyle(call.status) },
        { title: "KIND", value: kindOf },
        { title: "CALLER", value: (call) => call.caller },
        { title: "TO", value: (call) => call.to },
        { title: "CREATED", value: (call) => call.createdAt },
      ],
      empty: "No calls.",
    }),
    request({
      name: "get",
      help: "Show one call with its history.",
      arguments: { "<id>": "call id (call_…)" },
      examples: { "tightbeam calls get <id> | jq -r .status": "one field of it" },
      call: (client, id: string) => client.calls.get(id),
      show: callDetail,
    }),
  ],
};

function kindOf({ isVideo }: Call): string {
  return isVideo ? "video" : "audio";
}

function callDetail(call: Call, paint: Paint, width: number): string {
  const { id, status, caller, to, history } = call;
  const steps = table(
    history,
    [
      { title: "AT", value: (step) => step.at },
      { title: "STATUS", value: (step) => step.status, style: (step) => statusStyle(step.status) },
    ],
    paint,
    width,
    "",
  );
  return `${listing({ id, status, kind: kindOf(call), caller, to }, paint)}\n\n${steps}`;
}
