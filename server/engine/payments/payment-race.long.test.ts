/** Two concurrent ends of a payment request, in a thousand orders each: one wins, and the events name it. */

import assert from "node:assert/strict";
import { type TestContext as NodeTest, test } from "node:test";
import type { PaymentRequest } from "../../../sdk/wire.ts";
import { type EngineStage, engineStage, seeded, turns } from "../../../test/support/engine.ts";
import { inbound, receipt } from "../../../test/support/provider.ts";
import { ApiError } from "../../core/error.ts";
import type { PaymentId } from "../../core/id.ts";
import type { Payment } from "../../core/payment.ts";
import { findPayment } from "../../store/payments.ts";
import { apply } from "../apply.ts";
import { cancelRequest, expirePayments } from "./end-payments.ts";
import { requestPayment } from "./request-payment.ts";

const ROUNDS = 1_000;
/** Most turns of the event loop by which a write, or the start of an action, is delayed. */
const WRITE_DELAY_MAX = 3;
const START_DELAY_MAX = 6;

/** One round: its own contact, and the actions on payment requests to that contact. */
interface Round {
  stage: EngineStage;
  contact: string;
  /** Starts all actions, each after a random delay, and waits for them. Returns the codes of refusals. */
  atOnce(...actions: (() => Promise<unknown>)[]): Promise<(string | null)[]>;
}

/**
 * Runs `round` a thousand times. Fails if one of `ends` occurred in less than 1 % of the rounds, because then nothing
 * raced.
 */
async function race(t: NodeTest, ends: readonly string[], round: (round: Round) => Promise<string>): Promise<void> {
  const stage = await engineStage(t);
  const draw = seeded(Number(process.env.TB_RACE_SEED ?? 1));
  const found = new Map<string, number>();
  stage.life.delay = () => draw(WRITE_DELAY_MAX + 1);
  const atOnce = (...actions: (() => Promise<unknown>)[]) =>
    Promise.all(
      actions.map(async (action) => {
        await turns(draw(START_DELAY_MAX + 1));
        return action().then(() => null, codeOf);
      }),
    );
  for (let index = 0; index < ROUNDS; index += 1) {
    const end = await round({ stage, contact: `+1555${2_000_000 + index}`, atOnce });
    found.set(end, (found.get(end) ?? 0) + 1);
  }
  t.diagnostic(JSON.stringify(Object.fromEntries(found)));
  assert.deepEqual([...found.keys()].sort(), [...ends].sort());
  for (const end of ends) assert.ok((found.get(end) ?? 0) >= ROUNDS / 100, `${end} came about too seldom`);
}

function codeOf(error: unknown): string {
  if (error instanceof ApiError) return error.code;
  throw error;
}

async function ask({ stage, contact }: Round): Promise<Payment> {
  const { life, customer, apiKey } = stage;
  const result = await requestPayment(life.deps, {
    customerId: customer.id,
    keyId: apiKey.id,
    correlationId: `cor_${"0".repeat(32)}`,
    idempotencyKey: null,
    body: { to: contact, amount: 25, expiresInSeconds: 60 },
  });
  assert.ok(!result.repeated);
  return result.value;
}

/** A payment of $25 by the contact; `name` is its reference within the round. */
function pay({ stage, contact }: Round, name = "1"): Promise<unknown> {
  const payment = { amountCents: 2_500, currency: "USD" as const, isRequest: false };
  const signal = inbound({ reference: `${contact} ${name}`, from: contact, text: null, payment });
  return apply(stage.life.deps, stage.instance.id, signal);
}

function cancel({ stage }: Round, id: PaymentId): Promise<unknown> {
  const request = { key: null, customerId: stage.customer.id, route: "cancel", body: {} };
  return cancelRequest(stage.life.deps, request, stage.customer.id, id);
}

/**
 * The final status of a request, after checks that hold for either winner: one event reports it, with the current
 * record.
 */
async function endOf({ stage }: Round, id: PaymentId): Promise<string> {
  const payment = await findPayment(stage.deps.store.db, id);
  assert.ok(payment !== null);
  const all = await stage.deps.store.db
    .selectFrom("events")
    .select(["type", "bytes"])
    .where("message_id", "=", payment.messageId)
    .orderBy("position")
    .execute();
  const rows = all.filter(({ type }) => type.startsWith("payment."));
  const { status, paidBy, dueAt } = payment;
  const types = status === "pending" ? ["created"] : ["created", status];
  assert.deepEqual(
    rows.map(({ type }) => type.replace("payment.request.", "")),
    types,
  );
  const { data } = JSON.parse(rows.at(-1)?.bytes ?? "{}") as { data: PaymentRequest };
  assert.equal(data.status, status);
  assert.deepEqual(data.paidBy, paidBy);
  assert.equal(paidBy !== null, status === "paid");
  assert.equal(dueAt !== null, status === "pending");
  return status;
}

/** The references of the inbound messages that paid. */
async function payersOf(round: Round, ...ids: PaymentId[]): Promise<string[]> {
  const { db } = round.stage.deps.store;
  const payers: string[] = [];
  for (const id of ids) {
    const payment = await findPayment(db, id);
    if (!payment?.paidBy) continue;
    const query = db.selectFrom("messages").select("provider_message_id").where("id", "=", payment.paidBy.messageId);
    payers.push((await query.executeTakeFirstOrThrow()).provider_message_id ?? "");
  }
  return payers;
}

test("a payment concurrent with the expiry: the request is paid or expired, never both", async (t) => {
  await race(t, ["paid", "expired"], async (round) => {
    const { id } = await ask(round);
    await round.stage.run();
    round.stage.clock.shift(60_000);
    const refused = await round.atOnce(
      () => pay(round),
      () => expirePayments(round.stage.life.deps),
    );
    assert.deepEqual(refused, [null, null]);
    return endOf(round, id);
  });
});

test("a payment concurrent with a cancellation: the request is cancelled, or paid and the cancellation refused", async (t) => {
  await race(t, ["paid INVALID_STATUS", "cancelled"], async (round) => {
    const { id } = await ask(round);
    await round.stage.run();
    const [refused] = await round.atOnce(
      () => cancel(round, id),
      () => pay(round),
    );
    const end = await endOf(round, id);
    return refused === null ? end : `${end} ${refused}`;
  });
});

test("two concurrent payments for one request: one pays it, and both messages are kept", async (t) => {
  await race(t, ["paid by 1", "paid by 2"], async (round) => {
    const { id } = await ask(round);
    await round.stage.run();
    await round.atOnce(
      () => pay(round, "1"),
      () => pay(round, "2"),
    );
    const query = round.stage.deps.store.db.selectFrom("messages").select("id").where("from", "=", round.contact);
    assert.equal((await query.execute()).length, 2);
    const [payer = ""] = await payersOf(round, id);
    return `${await endOf(round, id)} by ${payer.split(" ")[1]}`;
  });
});

test("two concurrent payments for two requests: each pays one", async (t) => {
  await race(t, ["paid paid by 1 2", "paid paid by 2 1"], async (round) => {
    const [older, newer] = [await ask(round), await ask(round)];
    await round.stage.run();
    await round.atOnce(
      () => pay(round, "1"),
      () => pay(round, "2"),
    );
    const payers = await payersOf(round, older.id, newer.id);
    const names = payers.map((payer) => payer.split(" ")[1]).join(" ");
    return `${await endOf(round, older.id)} ${await endOf(round, newer.id)} by ${names}`;
  });
});

test("a payment concurrent with cancelling the older of two requests pays one of them, once", async (t) => {
  await race(t, ["paid pending", "cancelled paid"], async (round) => {
    const [older, newer] = [await ask(round), await ask(round)];
    await round.stage.run();
    await round.atOnce(
      () => pay(round),
      () => pay(round),
      () => cancel(round, older.id),
    );
    assert.equal((await payersOf(round, older.id, newer.id)).length, 1);
    return `${await endOf(round, older.id)} ${await endOf(round, newer.id)}`;
  });
});

test("a payment concurrent with the failure of the message: the request is cancelled or paid, and the message has failed", async (t) => {
  await race(t, ["paid", "cancelled"], async (round) => {
    const { id, messageId } = await ask(round);
    await round.stage.run();
    const { providerMessageId, channelsLeft } = await round.stage.message(messageId);
    assert.deepEqual(channelsLeft, ["sms"]);
    // The first failure only leads to the next channel.
    await round.stage.report(receipt("failed", { reference: providerMessageId ?? "", messageId }));
    const again = await round.stage.message(messageId);
    const failed = receipt("failed", { reference: again.providerMessageId ?? "", messageId, channel: "sms" });
    await round.atOnce(
      () => apply(round.stage.life.deps, round.stage.instance.id, failed),
      () => pay(round),
    );
    assert.equal((await round.stage.message(messageId)).status, "failed");
    return endOf(round, id);
  });
});
