/** Ends unpaid payment requests: cancels or expires them. Each end is one transaction with its event. */

import { ApiError } from "../../core/error.ts";
import type { CustomerId, PaymentId } from "../../core/id.ts";
import { fail } from "../../core/message-lifecycle.ts";
import { cancelPayment, expirePayment, type Payment, type PaymentChange } from "../../core/payment.ts";
import { findMessage } from "../../store/messages.ts";
import { findPayment, findPaymentOf, listDuePayments } from "../../store/payments.ts";
import type { Transaction } from "../../store/store.ts";
import { change } from "../commit.ts";
import type { Deps } from "../deps.ts";
import { changeContext, type With } from "../engine-deps.ts";
import { type IdempotentRequest, type IdempotentResult, idempotent } from "../idempotency.ts";
import { aheadIn, transactionOf } from "../messages/change-message.ts";
import { nullIfUnreadable } from "../unreadable.ts";
import { paymentContext, paymentOperations } from "./payments.ts";

/** A customer's payment request; throws 404 `NOT_FOUND`. */
export async function requirePayment(deps: Deps, customerId: CustomerId, id: string): Promise<Payment> {
  const payment = await findPaymentOf(deps.store.db, customerId, id);
  if (payment !== null) return payment;
  throw new ApiError("NOT_FOUND", `There is no payment request ${id.slice(0, 100)}.`);
}

/**
 * Cancels a pending request and returns it; a repeat of an idempotency key returns its id. Throws 404 `NOT_FOUND`, and
 * 400 `INVALID_STATUS` if the request is not pending.
 */
export async function cancelRequest(
  deps: With<"link">,
  request: IdempotentRequest,
  customerId: CustomerId,
  id: string,
): Promise<IdempotentResult<Payment>> {
  return idempotent(deps, request, async () => {
    const payment = await requirePayment(deps, customerId, id);
    const changed = cancelPayment(payment, "cancel", paymentContext(deps));
    if (changed !== null) {
      return { transaction: await endingOf(deps, payment, changed), value: changed.payment, result: payment.id };
    }
    throw new ApiError("INVALID_STATUS", `${id} is ${payment.status}; only a pending request can be cancelled.`);
  });
}

/** Requests that one batch expires. */
const EXPIRED_AT_ONCE = 100;

/** Expires one batch of due requests. Returns whether there may be more. */
export async function expirePayments(deps: With<"link">): Promise<boolean> {
  const due = await listDuePayments(deps.store.db, deps.clock.now(), EXPIRED_AT_ONCE);
  await Promise.all(due.map(({ id }) => nullIfUnreadable(deps, "end-payments", () => expireRequest(deps, id))));
  return due.length === EXPIRED_AT_ONCE;
}

async function expireRequest(deps: With<"link">, id: PaymentId): Promise<void> {
  await change(deps, async () => {
    const payment = await findPayment(deps.store.db, id);
    // A reset of the sandbox deleted the request after it was read.
    const changed = payment === null ? null : expirePayment(payment, paymentContext(deps));
    const transaction = payment === null || changed === null ? null : await endingOf(deps, payment, changed);
    return { transaction, value: undefined };
  });
}

/** The transaction that ends a request. Its message, if still queued, fails in the same transaction and is not sent. */
async function endingOf(deps: With<"link">, before: Payment, changed: PaymentChange): Promise<Transaction> {
  const operations = paymentOperations(before, changed);
  // A message that cannot be read is in quarantine: it is not sent, and the request ends without it.
  const message = await nullIfUnreadable(deps, "end-payments", () => findMessage(deps.store.db, before.messageId));
  if (message?.status !== "queued") return operations;
  const text = `The payment request ${before.id} was ${changed.payment.status} before this message could be sent.`;
  const failed = aheadIn(deps, message, fail(message, { code: "EXPIRED", message: text }, changeContext(deps)));
  return failed === null ? operations : transactionOf(message, failed, operations);
}
