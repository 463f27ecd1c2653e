/** Schemas of payment requests, proven equal to the wire contract. */

import { Type } from "typebox";
import { PAYMENT_STATUSES, type RequestPayment as WireRequestPayment } from "../../../sdk/wire.ts";
import { AMOUNT_MAX, AMOUNT_MIN } from "../../core/payment.ts";
import { closed, HttpsUrl, IdempotencyKey, Metadata, page, text, wire } from "./common.ts";

/** Longest note, in characters. */
const NOTE_LENGTH_MAX = 500;
/** A request is open for a second at least and a year at most, in seconds. */
const EXPIRES_IN_SECONDS = { minimum: 1, maximum: 31_536_000 } as const;

/** Body of `POST /v1/payments/request`. Addresses are judged by the engine. */
export const RequestPayment = wire<WireRequestPayment>()(
  closed({
    to: text(0, 512),
    from: Type.Optional(text(1, 512)),
    amount: Type.Union([
      Type.Number({ minimum: AMOUNT_MIN, maximum: AMOUNT_MAX, "x-amount": true }),
      Type.String({ format: "amount" }),
    ]),
    currency: Type.Optional(Type.Literal("USD")),
    note: Type.Optional(text(0, NOTE_LENGTH_MAX)),
    callbackUrl: Type.Optional(HttpsUrl),
    metadata: Type.Optional(Metadata),
    idempotencyKey: Type.Optional(IdempotencyKey),
    expiresInSeconds: Type.Optional(Type.Integer(EXPIRES_IN_SECONDS)),
  }),
);

/** Query of `GET /v1/payments/requests`: `from` and `to` are dates or instants; the handler says which. */
export const ListPayments = closed({
  ...page,
  status: Type.Optional(Type.Enum(PAYMENT_STATUSES)),
  from: Type.Optional(text(1, 40)),
  to: Type.Optional(text(1, 40)),
});

/** Body of `POST /v1/payments/requests/:id/cancel`. */
export const CancelPayment = closed({ idempotencyKey: Type.Optional(IdempotencyKey) });
