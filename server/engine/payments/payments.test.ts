/** Payment requests: which messages pay a request, which do not, and that each request ends once, with one event. */

import assert from "node:assert/strict";
import { describe, type TestContext as NodeTest, test } from "node:test";
import type { PaymentRequest } from "../../../sdk/wire.ts";
import { type EngineStage, engineStage, type StageOptions } from "../../../test/support/engine.ts";
import { inbound, ScriptedProvider } from "../../../test/support/provider.ts";
import { ApiError } from "../../core/error.ts";
import type { MessageId } from "../../core/id.ts";
import type { Payment } from "../../core/payment.ts";
import type { InboundSignal } from "../../providers/provider.ts";
import { findPayment } from "../../store/payments.ts";
import { retryMessage } from "../messages/actions.ts";
import { Sweep } from "../sweep.ts";
import { cancelRequest, expirePayments } from "./end-payments.ts";
import { requestPayment } from "./request-payment.ts";

const CONTACT = "+15550100001";
const DAY_MS = 86_400_000;

/** A stage on which a customer requests a payment and the contact pays. */
async function paymentStage(t: NodeTest, options: StageOptions = {}) {
  const stage = await engineStage(t, options);
  let reported = 0;
  return {
    ...stage,
    ask: (more: { to?: string; amount?: number | string; expiresInSeconds?: number } = {}) => ask(stage, more),
    /** Reports an inbound message with the payment, and returns its reference. */
    async pay(amountCents: number | null, more: Partial<InboundSignal> = {}) {
      reported += 1;
      const payment = amountCents === null ? null : { amountCents, currency: "USD" as const, isRequest: false };
      await stage.report(inbound({ reference: `pay-${reported}`, from: CONTACT, text: null, payment, ...more }));
    },
    payment: (id: Payment["id"]) => paymentOf(stage, id),
    tellings: () => paymentEvents(stage),
  };
}

async function ask(
  { life, customer, apiKey }: EngineStage,
  more: { to?: string; amount?: number | string; expiresInSeconds?: number; callbackUrl?: string },
): Promise<Payment> {
  const result = await requestPayment(life.deps, {
    customerId: customer.id,
    keyId: apiKey.id,
    correlationId: `cor_${"0".repeat(32)}`,
    idempotencyKey: null,
    body: { to: CONTACT, amount: 25, ...more },
  });
  assert.ok(!result.repeated);
  return result.value;
}

async function paymentOf({ deps }: EngineStage, id: Payment["id"]): Promise<Payment> {
  const payment = await findPayment(deps.store.db, id);
  assert.ok(payment !== null);
  return payment;
}

/** Events of payment requests so far, after checking that each carries the record of its time. */
async function paymentEvents({ deps }: EngineStage): Promise<[type: string, id: string, data: PaymentRequest][]> {
  const rows = await deps.store.db.selectFrom("events").select(["type", "bytes"]).orderBy("position").execute();
  return rows
    .filter(({ type }) => type.startsWith("payment."))
    .map(({ type, bytes }) => {
      const { data } = JSON.parse(bytes) as { data: PaymentRequest };
      return [type.replace("payment.request.", ""), data.id, data];
    });
}

async function inboundId({ deps }: EngineStage, reference: string): Promise<MessageId> {
  const row = await deps.store.db
    .selectFrom("messages")
    .select("id")
    .where("provider_message_id", "=", reference)
    .executeTakeFirstOrThrow();
  return row.id;
}

describe("a payment request", () => {
  test("is a pending record and one message with amount and note; payment.request.created follows message.queued", async (t) => {
    const stage = await paymentStage(t);
    const payment = await stage.ask({ amount: "1234.5" });
    assert.equal(payment.status, "pending");
    assert.equal(payment.expiresAt, stage.clock.now() + 30 * DAY_MS);
    const message = await stage.message(payment.messageId);
    assert.equal(message.text, "Payment request: $1,234.50");
    assert.deepEqual(message.payment, { id: payment.id, amountCents: 123_450 });
    const events = await stage.deps.store.db.selectFrom("events").select("type").orderBy("position").execute();
    assert.deepEqual(
      events.map(({ type }) => type),
      ["message.queued", "payment.request.created"],
    );
    await stage.run();
    assert.deepEqual(stage.provider.handed[0]?.payment, message.payment);
  });

  test("in two concurrent first calls for one contact creates one thread and two requests", async (t) => {
    const stage = await paymentStage(t);
    const [one, two] = await Promise.all([stage.ask(), stage.ask({ amount: 3 })]);
    const messages = await Promise.all([stage.message(one.messageId), stage.message(two.messageId)]);
    assert.equal(messages[0]?.chatId, messages[1]?.chatId);
    assert.equal((await stage.tellings()).length, 2);
  });
});

describe("paid", () => {
  test("by the contact's payment of the amount to the number; message.inbound precedes payment.request.paid", async (t) => {
    const stage = await paymentStage(t);
    const { id } = await stage.ask();
    stage.clock.shift(5_000);
    await stage.pay(2_500);
    const payment = await stage.payment(id);
    const messageId = await inboundId(stage, "pay-1");
    assert.equal(payment.status, "paid");
    assert.deepEqual(payment.paidBy, { messageId, evidence: "apple_cash" });
    assert.equal(payment.paidAt, stage.clock.now());
    assert.equal(payment.dueAt, null);
    const events = await stage.deps.store.db.selectFrom("events").select("type").orderBy("position").execute();
    assert.deepEqual(
      events.map(({ type }) => type).filter((type) => /inbound|paid/.test(type)),
      ["message.inbound", "payment.request.paid"],
    );
  });

  test("by one payment each, the oldest request first; a third payment pays nothing", async (t) => {
    const stage = await paymentStage(t);
    const older = await stage.ask();
    const newer = await stage.ask();
    const statuses: string[][] = [];
    for (let payments = 0; payments < 3; payments += 1) {
      await stage.pay(2_500);
      statuses.push([(await stage.payment(older.id)).status, (await stage.payment(newer.id)).status]);
    }
    assert.deepEqual(statuses, [
      ["paid", "pending"],
      ["paid", "paid"],
      ["paid", "paid"],
    ]);
    assert.deepEqual(
      (await stage.tellings()).map(([type, id]) => [type, id]),
      [
        ["created", older.id],
        ["created", newer.id],
        ["paid", older.id],
        ["paid", newer.id],
      ],
    );
  });

  test("by a payment that is reported twice, once", async (t) => {
    const stage = await paymentStage(t);
    const older = await stage.ask();
    const newer = await stage.ask();
    await stage.pay(2_500, { reference: "same" });
    await stage.pay(2_500, { reference: "same" });
    assert.equal((await stage.payment(older.id)).status, "paid");
    assert.equal((await stage.payment(newer.id)).status, "pending");
  });

  const NOTHING: [title: string, amountCents: number | null, more: Partial<InboundSignal>][] = [
    ["a payment of a cent more", 2_501, {}],
    ["a payment of a cent less", 2_499, {}],
    ["a payment of another contact", 2_500, { from: "+15550100002" }],
    ["a payment to another number", 2_500, { to: "+15550000002" }],
    ["a payment in a group", 2_500, { group: { reference: "g", name: null, participants: [CONTACT, "+15550100002"] } }],
    ["a request for a payment", null, { payment: { amountCents: 2_500, currency: "USD", isRequest: true } }],
    [
      "a request for a payment that says “You received $25”",
      null,
      { payment: { amountCents: 2_500, currency: "USD", isRequest: true }, text: "You received $25.00" },
    ],
    ["a sentence in a message of a provider that sees payments", null, { text: "Jane sent you $25.00" }],
  ];
  for (const [title, amountCents, more] of NOTHING) {
    test(`${title} pays nothing`, async (t) => {
      const stage = await paymentStage(t);
      await stage.addTenant("Another customer");
      const { id } = await stage.ask();
      await stage.pay(amountCents, more);
      assert.equal((await stage.payment(id)).status, "pending");
      assert.equal((await stage.tellings()).length, 1);
    });
  }

  test("a payment to another customer's number pays that customer's request", async (t) => {
    const stage = await paymentStage(t);
    const { id } = await stage.ask();
    const other = await stage.addTenant("Another customer");
    const theirs = await ask({ ...stage, customer: other.customer, apiKey: other.apiKey }, {});
    await stage.pay(2_500, { to: other.number.address });
    assert.deepEqual([(await stage.payment(id)).status, (await stage.payment(theirs.id)).status], ["pending", "paid"]);
  });
});

describe("text alone", () => {
  /** A provider that does not see payments. */
  const blind = () => {
    const provider = new ScriptedProvider();
    Object.assign(provider.capabilities, { seesPayments: false });
    return provider;
  };
  const SENTENCE = { text: "Jane sent you $25.00" };

  test("counts over iMessage if the provider does not see payments", async (t) => {
    const stage = await paymentStage(t, { provider: blind() });
    const { id } = await stage.ask();
    await stage.pay(null, SENTENCE);
    const { status, paidBy } = await stage.payment(id);
    assert.deepEqual([status, paidBy?.evidence], ["paid", "text"]);
  });

  test("counts with TB_PAYMENT_TEXT=on also if the provider sees payments, and the payload takes precedence", async (t) => {
    const stage = await paymentStage(t, { settings: { paymentText: true } });
    const { id } = await stage.ask();
    await stage.pay(700, SENTENCE);
    assert.equal((await stage.payment(id)).status, "pending");
    await stage.pay(null, SENTENCE);
    assert.equal((await stage.payment(id)).paidBy?.evidence, "text");
  });

  test("never counts over SMS, or if the text is itself a request", async (t) => {
    const stage = await paymentStage(t, { provider: blind(), settings: { paymentText: true } });
    const { id } = await stage.ask();
    await stage.pay(null, { ...SENTENCE, channel: "sms" });
    await stage.pay(null, { text: "Please send me $25.00" });
    assert.equal((await stage.payment(id)).status, "pending");
  });
});

describe("the end without a payment", () => {
  test("a failed message cancels its request with a reason, after message.failed, and cannot be retried", async (t) => {
    const stage = await paymentStage(t);
    stage.provider.onSend = () => ({ outcome: "rejected", code: "E42", reason: "not wanted" });
    const { id, messageId } = await stage.ask();
    await stage.run();
    const payment = await stage.payment(id);
    assert.deepEqual([payment.status, payment.reason, payment.dueAt], ["cancelled", "MESSAGE_FAILED", null]);
    assert.equal((await stage.message(messageId)).status, "failed");
    const events = await stage.deps.store.db.selectFrom("events").select("type").orderBy("position").execute();
    assert.deepEqual(events.map(({ type }) => type).slice(-2), ["message.failed", "payment.request.cancelled"]);
    const retrying = { customerId: stage.customer.id, id: messageId, mayDuplicate: true, idempotencyKey: null };
    await assert.rejects(
      retryMessage(stage.life.deps, retrying),
      (error) =>
        error instanceof ApiError && error.code === "INVALID_STATUS" && /new payment request/.test(error.message),
    );
    await stage.pay(2_500);
    assert.equal((await stage.payment(id)).status, "cancelled");
  });

  test("a message fails even if the row of its request is undecodable", async (t) => {
    const stage = await paymentStage(t, { faults: ["payments"] });
    stage.provider.onSend = () => ({ outcome: "rejected", code: "E42", reason: "not wanted" });
    const { id, messageId, version } = await stage.ask();
    const status = "maybe" as Payment["status"];
    await stage.deps.store.commit([{ op: "update", table: "payments", id, version, set: { status } }]);
    await stage.run();
    assert.equal((await stage.message(messageId)).status, "failed");
  });

  test("a message that fails after it was paid leaves the request paid", async (t) => {
    const stage = await paymentStage(t);
    const { id, messageId } = await stage.ask();
    await stage.run();
    await stage.pay(2_500);
    const { providerMessageId } = await stage.message(messageId);
    await stage.report({
      kind: "receipt",
      reference: providerMessageId ?? "",
      channel: "imessage",
      receipt: "failed",
    });
    assert.equal((await stage.payment(id)).status, "paid");
    assert.deepEqual(
      (await stage.tellings()).map(([type]) => type),
      ["created", "paid"],
    );
  });

  test("a caller cancels a pending request once, and a second cancellation is refused", async (t) => {
    const stage = await paymentStage(t);
    const { id, messageId } = await stage.ask();
    await stage.run();
    const request = { key: null, customerId: stage.customer.id, route: "cancel", body: {} };
    const cancel = () => cancelRequest(stage.life.deps, request, stage.customer.id, id);
    await cancel();
    const { status, reason } = await stage.payment(id);
    assert.deepEqual([status, reason], ["cancelled", "CANCELLED_BY_CALLER"]);
    assert.equal((await stage.message(messageId)).status, "sent", "what was sent stays sent");
    await assert.rejects(cancel(), (error) => error instanceof ApiError && error.code === "INVALID_STATUS");
    await stage.pay(2_500);
    assert.deepEqual(
      (await stage.tellings()).map(([type]) => type),
      ["created", "cancelled"],
    );
  });

  test("a request expires at expiresAt, not before, and is never paid after it", async (t) => {
    const stage = await paymentStage(t);
    const { id } = await stage.ask({ expiresInSeconds: 60 });
    await stage.run();
    stage.clock.shift(59_999);
    await expirePayments(stage.life.deps);
    assert.equal((await stage.payment(id)).status, "pending");
    stage.clock.shift(1);
    await expirePayments(stage.life.deps);
    const { status, reason, expiresAt, updatedAt } = await stage.payment(id);
    assert.deepEqual([status, reason, updatedAt], ["expired", null, expiresAt]);
    await stage.pay(2_500);
    await expirePayments(stage.life.deps);
    assert.deepEqual(
      (await stage.tellings()).map(([type]) => type),
      ["created", "expired"],
    );
  });

  test("the sweep expires every due request within a second, however many there are, and after a restart", async (t) => {
    const stage = await paymentStage(t);
    const ids = await Promise.all(Array.from({ length: 250 }, () => stage.ask({ expiresInSeconds: 60 })));
    stage.clock.shift(60_000);
    const sweep = new Sweep(stage.life.deps);
    t.after(() => sweep.stop());
    sweep.start();
    await stage.clock.advance(1_000);
    const statuses = await Promise.all(ids.map(async ({ id }) => (await stage.payment(id)).status));
    assert.deepEqual(
      statuses.filter((status) => status !== "expired"),
      [],
    );
    assert.equal((await stage.tellings()).length, 500);
  });

  const ENDS: [title: string, end: (stage: EngineStage, id: Payment["id"]) => Promise<unknown>, status: string][] = [
    [
      "cancelled",
      ({ life, customer }, id) =>
        cancelRequest(life.deps, { key: null, customerId: customer.id, route: "c", body: {} }, customer.id, id),
      "cancelled",
    ],
    [
      "expired",
      ({ life, clock }) => {
        clock.shift(60_000);
        return expirePayments(life.deps);
      },
      "expired",
    ],
  ];
  for (const [title, end, status] of ENDS) {
    test(`a request that is ${title} before its message is sent is never sent: the message fails in the same transaction`, async (t) => {
      const stage = await paymentStage(t);
      stage.provider.onSend = () => ({ outcome: "deferred", retryAfterMs: DAY_MS, reason: "away" });
      const { id, messageId } = await stage.ask({ expiresInSeconds: 60 });
      await stage.run();
      assert.equal((await stage.message(messageId)).status, "queued");
      await end(stage, id);
      assert.equal((await stage.payment(id)).status, status);
      const message = await stage.message(messageId);
      assert.deepEqual([message.status, message.errorCode], ["failed", "EXPIRED"]);
      assert.deepEqual(
        (await stage.tellings()).map(([type]) => type),
        ["created", status],
      );
      stage.provider.handed.length = 0;
      await stage.pass(2 * DAY_MS);
      assert.deepEqual(stage.provider.handed, []);
    });
  }
});
