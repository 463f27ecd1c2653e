/** Requests a payment from a contact: the request, its message and both events are one transaction. */

import type { RequestPayment } from "../../../sdk/wire.ts";
import { invalidField } from "../../core/error.ts";
import type { CustomerId, KeyId } from "../../core/id.ts";
import { newMessage } from "../../core/new-message.ts";
import {
  AMOUNT_EXPECTED,
  beginPayment,
  formatAmount,
  type Payment,
  parseAmount,
  requestText,
} from "../../core/payment.ts";
import type { Operation } from "../../store/store.ts";
import { duplicateThread, retryDuplicateThread } from "../chats/threads.ts";
import { type IdempotentResult, idempotent } from "../idempotency.ts";
import { type AcceptDeps, type CheckedMessage, checkMessage } from "../messages/accept.ts";
import { requireRecipient } from "../messages/recipient.ts";
import { paymentContext } from "./payments.ts";

/** Default time until a request expires, in seconds: 30 days. */
const EXPIRES_IN_SECONDS = 30 * 86_400;

/** A request for a payment, and its customer and key. */
export interface PaymentRequest {
  customerId: CustomerId;
  keyId: KeyId;
  correlationId: string;
  idempotencyKey: string | null;
  body: RequestPayment;
}

/** The request body with its defaults. */
type PaymentTerms = Omit<RequestPayment, "idempotencyKey" | "amount" | "expiresInSeconds"> & {
  amount: string;
  expiresInSeconds: number;
};

/**
 * Requests a payment. When it resolves, request, message and both events are on disk. A repeat of an idempotency key
 * returns the request's id. Throws the refusals of a message, and a 400 for an invalid amount.
 */
export async function requestPayment(deps: AcceptDeps, asking: PaymentRequest): Promise<IdempotentResult<Payment>> {
  const { customerId, idempotencyKey: key } = asking;
  const { amountCents, asked } = understandRequest(asking.body);
  const request = { key, customerId, route: "POST /v1/payments/request", body: asked };
  const work = () =>
    idempotent<{ checked: CheckedMessage; payment: Payment }>(
      deps,
      request,
      async () => {
        const made = await checkRequest(deps, asking, asked, amountCents);
        return { transaction: made.operations, value: made, result: made.payment.id };
      },
      duplicateThread,
    );
  const result = await retryDuplicateThread(work);
  if (result.repeated) return result;
  const { checked, payment } = result.value;
  checked.committed();
  return { repeated: false, value: payment };
}

function understandRequest({ idempotencyKey: _, amount, note, ...rest }: RequestPayment): {
  amountCents: number;
  asked: PaymentTerms;
} {
  const amountCents = parseAmount(amount);
  if (amountCents === null) throw invalidField("amount", `${AMOUNT_EXPECTED}; got ${String(amount).slice(0, 50)}`);
  const defaults = { currency: "USD" as const, expiresInSeconds: EXPIRES_IN_SECONDS };
  const noted = note === undefined || note === "" ? {} : { note };
  return { amountCents, asked: { ...defaults, ...rest, ...noted, amount: formatAmount(amountCents) } };
}

async function checkRequest(deps: AcceptDeps, asking: PaymentRequest, asked: PaymentTerms, amountCents: number) {
  const { customerId, keyId, correlationId } = asking;
  const { to, from, note = null, callbackUrl, metadata } = asked;
  const id = deps.newId("pay");
  const wanted = newMessage(
    { customerId, keyId, correlationId },
    {
      to,
      ...(from === undefined ? {} : { from }),
      content: { text: requestText(amountCents, note) },
      ...(callbackUrl === undefined ? {} : { callbackUrl }),
      ...(metadata === undefined ? {} : { metadata }),
    },
  );
  // A payment has one payer, so a chat id, which may name a group, is refused as an invalid recipient.
  if (wanted.chatId !== undefined) await requireRecipient(deps, customerId, to);
  const checked = await checkMessage(deps, { ...wanted, payment: { id, amountCents } });
  const { message } = checked;
  const { payment, event } = beginPayment(
    {
      id,
      customerId,
      keyId,
      messageId: message.id,
      from: message.from,
      to: message.to,
      amountCents,
      currency: "USD",
      note,
      metadata: metadata ?? null,
      callbackUrl: callbackUrl ?? null,
      correlationId,
      expiresAt: message.createdAt + asked.expiresInSeconds * 1_000,
      createdAt: message.createdAt,
      updatedAt: message.createdAt,
    },
    paymentContext(deps),
  );
  const operations: Operation[] = [
    ...checked.operations,
    { op: "insert", table: "payments", record: payment },
    { op: "event", event, callbackUrl: payment.callbackUrl },
  ];
  return { checked, payment, operations };
}
