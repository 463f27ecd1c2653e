/** The public face for a program that only receives webhooks: `@tightbeam/sdk/webhook`, without the client. Only re-exports. */

export {
  expressWebhookHandler,
  fastifyWebhookPlugin,
  type WebhookHandlerOptions,
  type WebhookHandlers,
  webhookHandler,
} from "./receiver.ts";
export {
  constructSignature,
  type ReceivedWebhook,
  type SignatureParts,
  verifyWebhook,
  type WebhookHeaders,
  type WebhookRefusal,
  WebhookVerificationError,
} from "./signature.ts";
export type { AnyEvent, Event, EventType } from "./wire.ts";
