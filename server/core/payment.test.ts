/** Payment requests: money to the cent, and the lifecycle as its table has it. */

import assert from "node:assert/strict";
import { describe, test } from "node:test";
import fc from "fast-check";
import { PAYMENT_STATUSES, type PaymentStatus } from "../../sdk/wire.ts";
import {
  beginPayment,
  cancelPayment,
  expirePayment,
  formatAmount,
  type Payment,
  type PaymentChange,
  type PaymentContext,
  type PaymentSignal,
  parseAmount,
  paymentRecord,
  payPayment,
  requestText,
} from "./payment.ts";

const CREATED_AT = Date.UTC(2026, 0, 1);
const DAY_MS = 86_400_000;

function contextAt(now: number): PaymentContext {
  return { now, eventId: () => "evt_1" };
}

function made(): PaymentChange {
  return beginPayment(
    {
      id: "pay_1",
      customerId: "cust_1",
      keyId: "key_1",
      messageId: "msg_1",
      from: "+15550000001",
      to: "+15005550112",
      amountCents: 2_500,
      currency: "USD",
      note: "Lunch",
      metadata: { order: 7 },
      callbackUrl: null,
      correlationId: `cor_${"0".repeat(32)}`,
      expiresAt: CREATED_AT + DAY_MS,
      createdAt: CREATED_AT,
      updatedAt: CREATED_AT,
    },
    contextAt(CREATED_AT),
  );
}

describe("amounts", () => {
  const GOOD: [amount: number | string, cents: number][] = [
    [25, 2_500],
    [25.5, 2_550],
    ["25.00", 2_500],
    ["25.5", 2_550],
    ["25", 2_500],
    [0.01, 1],
    ["0.01", 1],
    [0.07, 7],
    [0.1, 10],
    [1.1, 110],
    [19.99, 1_999],
    [1.005e3, 100_500],
    [4.35, 435],
    [8.7, 870],
    [999_999.99, 99_999_999],
    ["999999.99", 99_999_999],
  ];
  const BAD: (number | string)[] = [
    0,
    -0,
    -25,
    0.001,
    0.1 + 0.2,
    25.001,
    1_000_000,
    999_999.991,
    1e-7,
    1e21,
    Number.NaN,
    Number.POSITIVE_INFINITY,
    "",
    "0",
    "0.00",
    "-25",
    "+25",
    " 25",
    "25 ",
    "25\n",
    "1e3",
    "0x19",
    "25.",
    ".5",
    "25.001",
    "025",
    "1,000.00",
    "$25",
    "25,00",
    "1000000",
    "٢٥",
    "Infinity",
    "null",
  ];

  for (const [amount, cents] of GOOD) {
    test(`${JSON.stringify(amount)} is ${cents} cents`, () => assert.equal(parseAmount(amount), cents));
  }

  test("an amount is 0.01 to 999999.99 with at most two decimals; other values are refused, not rounded", () => {
    assert.deepEqual(
      BAD.filter((amount) => parseAmount(amount) !== null),
      [],
    );
  });

  test("every amount is parsed from its own formatting, as a string and as a JSON number", () => {
    fc.assert(
      fc.property(fc.integer({ min: 1, max: 99_999_999 }), (cents) => {
        const written = formatAmount(cents);
        assert.match(written, /^\d{1,6}\.\d\d$/);
        assert.equal(parseAmount(written), cents);
        assert.equal(parseAmount(JSON.parse(JSON.stringify(Number(written)))), cents);
      }),
    );
  });
});

describe("the lifecycle", () => {
  const LEADS: Record<PaymentSignal, Record<PaymentStatus, PaymentStatus | null>> = {
    pay: { pending: "paid", paid: null, cancelled: null, expired: null },
    cancel: { pending: "cancelled", paid: null, cancelled: null, expired: null },
    expire: { pending: "expired", paid: null, cancelled: null, expired: null },
    fail: { pending: "cancelled", paid: null, cancelled: null, expired: null },
  };
  const GIVE: Record<PaymentSignal, (payment: Payment, context: PaymentContext) => PaymentChange | null> = {
    pay: (payment, context) => payPayment(payment, { messageId: "msg_2", evidence: "apple_cash" }, context),
    cancel: (payment, context) => cancelPayment(payment, "cancel", context),
    expire: expirePayment,
    fail: (payment, context) => cancelPayment(payment, "fail", context),
  };

  for (const signal of Object.keys(LEADS) as PaymentSignal[]) {
    for (const status of PAYMENT_STATUSES) {
      const to = LEADS[signal][status];
      test(`${signal} leads ${status} to ${to ?? "nothing"}`, () => {
        const change = GIVE[signal]({ ...made().payment, status }, contextAt(CREATED_AT + 1));
        assert.equal(change?.payment.status ?? null, to);
        if (change === null) return;
        assert.equal(change.event.type, `payment.request.${to}`);
        assert.deepEqual(JSON.parse(change.event.bytes).data, paymentRecord(change.payment));
        assert.equal(change.payment.dueAt, null);
      });
    }
  }

  test("a payment event carries the payment's record at that moment", () => {
    const { payment, event } = made();
    assert.equal(payment.dueAt, CREATED_AT + DAY_MS);
    assert.deepEqual(JSON.parse(event.bytes), {
      id: "evt_1",
      type: "payment.request.created",
      timestamp: "2026-01-01T00:00:00.000Z",
      data: {
        id: "pay_1",
        messageId: "msg_1",
        to: "+15005550112",
        from: "+15550000001",
        amount: "25.00",
        currency: "USD",
        note: "Lunch",
        status: "pending",
        metadata: { order: 7 },
        paidBy: null,
        reason: null,
        expiresAt: "2026-01-02T00:00:00.000Z",
        paidAt: null,
        cancelledAt: null,
        createdAt: "2026-01-01T00:00:00.000Z",
        updatedAt: "2026-01-01T00:00:00.000Z",
      },
    });
  });

  test("the record names the payment's message, evidence and time, or the reason and time of its cancellation", () => {
    const at = "2026-01-01T00:00:05.000Z";
    const context = contextAt(Date.parse(at));
    const paid = GIVE.pay(made().payment, context)?.payment;
    const cancelled = GIVE.cancel(made().payment, context)?.payment;
    const failed = GIVE.fail(made().payment, context)?.payment;
    assert.ok(paid && cancelled && failed);
    const ends = [paid, cancelled, failed].map((payment) => {
      const { paidBy, reason, paidAt, cancelledAt, updatedAt } = paymentRecord(payment);
      return { paidBy, reason, paidAt, cancelledAt, updatedAt };
    });
    const paidBy = { messageId: "msg_2", evidence: "apple_cash" };
    assert.deepEqual(ends, [
      { paidBy, reason: null, paidAt: at, cancelledAt: null, updatedAt: at },
      { paidBy: null, reason: "CANCELLED_BY_CALLER", paidAt: null, cancelledAt: at, updatedAt: at },
      { paidBy: null, reason: "MESSAGE_FAILED", paidAt: null, cancelledAt: at, updatedAt: at },
    ]);
  });
});

test("the message of a payment request shows the amount as phones write it, and the note", () => {
  assert.equal(requestText(2_500, null), "Payment request: $25.00");
  assert.equal(requestText(99_999_999, "Räder"), "Payment request: $999,999.99 - Räder");
  assert.equal(requestText(123_456, null), "Payment request: $1,234.56");
  assert.equal(requestText(7, null), "Payment request: $0.07");
});
