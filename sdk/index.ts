/** What the published package offers: the client, its errors, webhook signatures and the shapes of the wire. Nothing is written here. */

export type { ApiPromise, RateLimitStatus, WithResponse } from "./answer.ts";
export { Tightbeam, type UsageQuery } from "./client.ts";
export type { ContactQuery, OptOutQuery } from "./contacts.ts";
export { type ClientErrorCode, TightbeamError } from "./errors.ts";
export type { EventQuery, StreamQuery } from "./events.ts";
export type { MessageQuery } from "./messages.ts";
export type { CallOptions, Page } from "./paging.ts";
export type { CallQuery, PaymentQuery } from "./payments.ts";
export type { ClientOptions, Logger, RequestOptions } from "./request.ts";
export type { WaitQuery } from "./sandbox.ts";
export {
  constructSignature,
  type ReceivedWebhook,
  type SignatureParts,
  verifyWebhook,
  type WebhookHeaders,
  type WebhookRefusal,
  WebhookVerificationError,
} from "./webhook.ts";
export type { DeliveryQuery } from "./webhooks.ts";
export * from "./wire.ts";
