/** Reference of webhooks: the configuration, further endpoints, and the log of deliveries. */

import { Type } from "typebox";
import {
  DELIVERY_STATUSES,
  EVENT_TYPES,
  type Attempt as WireAttempt,
  type Delivery as WireDelivery,
  type DeliveryList as WireDeliveryList,
  type Replayed as WireReplayed,
  type TestedDelivery as WireTestedDelivery,
  type Webhook as WireWebhook,
  type WebhookTestData as WireWebhookTestData,
} from "../../../sdk/wire.ts";
import { wire } from "../schemas/common.ts";
import { Deleted } from "./messages.ts";
import {
  At,
  AtOrNull,
  component,
  happening,
  id,
  operation,
  orNull,
  Pagination,
  type Section,
  TextOrNull,
} from "./operation.ts";
import { at, CURSOR, IDS } from "./samples.ts";

const Webhook = wire<WireWebhook>()(
  component("Webhook", {
    id: id("wh"),
    name: TextOrNull,
    url: Type.String(),
    events: Type.Array(Type.Enum([...EVENT_TYPES, "*"]), { minItems: 1 }),
    active: Type.Boolean(),
    primary: Type.Boolean(),
    maxInFlight: Type.Integer({ minimum: 1, maximum: 256 }),
    createdAt: At,
    updatedAt: At,
    secret: Type.Optional(Type.String()),
  }),
);

const Attempt = wire<WireAttempt>()(
  component("Attempt", {
    at: At,
    status: orNull(Type.Integer({ minimum: 100, maximum: 999 })),
    durationMs: Type.Number({ minimum: 0 }),
    response: TextOrNull,
    error: TextOrNull,
  }),
);

const Delivery = wire<WireDelivery>()(
  component("Delivery", {
    id: id("dlv"),
    eventId: id("evt"),
    eventType: Type.Enum(EVENT_TYPES),
    messageId: orNull(id("msg")),
    webhookId: orNull(id("wh")),
    url: Type.String(),
    status: Type.Enum(DELIVERY_STATUSES),
    attempts: Type.Array(Attempt),
    nextAttemptAt: AtOrNull,
    createdAt: At,
  }),
);

const TestedDelivery = wire<WireTestedDelivery>()(
  component("TestedDelivery", {
    ...Delivery.properties,
    delivered: Type.Boolean(),
    responseStatus: orNull(Type.Integer({ minimum: 100, maximum: 999 })),
  }),
);

const DeliveryList = wire<WireDeliveryList>()(
  component("DeliveryList", { deliveries: Type.Array(Delivery), pagination: Pagination }),
);

const Replayed = wire<WireReplayed>()(component("Replayed", { deliveries: Type.Integer({ minimum: 0 }) }));

const WebhookTestData = wire<WireWebhookTestData>()(
  component("WebhookTestData", { message: Type.String(), webhookId: id("wh"), customerId: id("cust") }),
);

const url = "https://example.com/hooks/tightbeam";

const configuration: WireWebhook = {
  id: IDS.webhook,
  name: null,
  url,
  events: ["message.delivered", "message.failed", "message.inbound"],
  active: true,
  primary: true,
  maxInFlight: 64,
  createdAt: at(0),
  updatedAt: at(0),
};

/** Base64 of 32 bytes, as a generated secret is; this one signs nothing. */
const secret = `whsec_${"QUJD".repeat(10)}QUI=`;

const further: WireWebhook = {
  ...configuration,
  name: "Accounting",
  url: "https://accounting.example.com/hooks",
  events: ["payment.request.paid"],
  primary: false,
};

const delivery: WireDelivery = {
  id: IDS.delivery,
  eventId: IDS.event,
  eventType: "message.delivered",
  messageId: IDS.message,
  webhookId: IDS.webhook,
  url,
  status: "pending",
  attempts: [{ at: at(2), status: 503, durationMs: 41, response: "busy", error: null }],
  nextAttemptAt: at(32),
  createdAt: at(2),
};

const testDelivery: WireTestedDelivery = {
  ...delivery,
  eventType: "webhook.test",
  messageId: null,
  status: "succeeded",
  attempts: [{ at: at(0), status: 200, durationMs: 41, response: "ok", error: null }],
  nextAttemptAt: null,
  delivered: true,
  responseStatus: 200,
};

/** Both ways to name an endpoint: none is the configuration. */
const missing = ["WEBHOOK_NOT_CONFIGURED"] as const;
const unknown = ["WEBHOOK_NOT_FOUND"] as const;

const configurations: Section["operations"] = {
  "PUT /v1/webhooks": operation({
    id: "setWebhook",
    summary: "Set the webhook configuration",
    description:
      "Makes or changes the one configuration in place. Without `secret` the customer's signing secret stays; one that was never shown is generated and shown in this answer only. It signs `callbackUrl` too.",
    answer: Webhook,
    example: { ...configuration, secret },
    errors: ["WEBHOOK_DUPLICATE"],
    body: { url, events: ["message.delivered", "message.failed", "message.inbound"] },
  }),
  "GET /v1/webhooks": operation({
    id: "getWebhookConfiguration",
    summary: "Get the webhook configuration",
    description: "`data` is null when there is none.",
    answer: orNull(Webhook),
    example: configuration,
  }),
  "DELETE /v1/webhooks": operation({
    id: "deleteWebhookConfiguration",
    summary: "Delete the webhook configuration",
    description: "Cancels its pending deliveries. The signing secret stays. Touches no other endpoint.",
    answer: Deleted,
    example: { id: IDS.webhook, deleted: true },
    errors: missing,
  }),
  "POST /v1/webhooks/test": operation({
    id: "testWebhookConfiguration",
    summary: "Test the configuration",
    description:
      "Sends it a `webhook.test` event, whatever it subscribes to, and answers the delivery once its first attempt has ended, after 5 s at the latest.",
    answer: TestedDelivery,
    example: testDelivery,
    errors: [...missing, "INVALID_STATUS"],
  }),
  "POST /v1/webhooks/rotate-secret": operation({
    id: "rotateSecret",
    summary: "Rotate the signing secret",
    description:
      "Answers the new secret, this once. Until the grace ends, `X-Signature` is made with the old one and `webhook-signature` carries both.",
    answer: Webhook,
    example: { ...configuration, secret },
    errors: missing,
    body: { gracePeriodSeconds: 3_600 },
  }),
};

const endpoints: Section["operations"] = {
  "GET /v1/webhooks/list": operation({
    id: "listWebhooks",
    summary: "List all endpoints",
    description: "In one plain list, the configuration first.",
    answer: Type.Array(Webhook),
    example: [configuration, further],
  }),
  "POST /v1/webhooks": operation({
    id: "createWebhook",
    summary: "Make a further endpoint",
    description: "With a secret of its own: the one given, or one that is generated and shown in this answer only.",
    status: 201,
    answer: Webhook,
    example: { ...further, secret },
    errors: ["WEBHOOK_DUPLICATE", "WEBHOOK_NOT_FOUND"],
    body: { url: "https://accounting.example.com/hooks", events: ["payment.request.paid"], name: "Accounting" },
  }),
  "GET /v1/webhooks/:id": operation({
    id: "getWebhook",
    summary: "Get an endpoint",
    description: "Without its secret.",
    answer: Webhook,
    example: further,
    errors: unknown,
  }),
  "PATCH /v1/webhooks/:id": operation({
    id: "updateWebhook",
    summary: "Change an endpoint",
    description:
      "`active: false` pauses it and cancels what is pending; what it missed can be replayed. A changed address or secret holds from the next attempt.",
    answer: Webhook,
    example: { ...further, active: false, updatedAt: at(90) },
    errors: [...unknown, "WEBHOOK_DUPLICATE"],
    body: { active: false },
  }),
  "DELETE /v1/webhooks/:id": operation({
    id: "deleteWebhook",
    summary: "Delete an endpoint",
    description: "Cancels its pending deliveries.",
    answer: Deleted,
    example: { id: IDS.webhook, deleted: true },
    errors: unknown,
  }),
  "POST /v1/webhooks/:id/test": operation({
    id: "testWebhook",
    summary: "Test an endpoint",
    description:
      "Sends it a `webhook.test` event, whatever it subscribes to, and answers the delivery once its first attempt has ended, after 5 s at the latest.",
    answer: TestedDelivery,
    example: testDelivery,
    errors: [...unknown, "INVALID_STATUS"],
  }),
  "POST /v1/webhooks/:id/rotate-secret": operation({
    id: "rotateWebhookSecret",
    summary: "Rotate an endpoint's secret",
    description: "As for the configuration.",
    answer: Webhook,
    example: { ...further, secret },
    errors: unknown,
    body: { gracePeriodSeconds: 3_600 },
  }),
  "POST /v1/webhooks/:id/replay": operation({
    id: "replayEvents",
    summary: "Send stored events again",
    description: "Makes a new delivery of every event of that time, and of these types, to this endpoint.",
    status: 202,
    answer: Replayed,
    example: { deliveries: 12 },
    errors: [...unknown, "INVALID_STATUS"],
    body: { since: at(0), until: at(3_600), types: ["message.inbound"] },
  }),
};

const deliveryOperations: Section["operations"] = {
  "GET /v1/webhooks/deliveries": operation({
    id: "listDeliveries",
    summary: "List deliveries",
    description: "Newest first, each with every attempt: what the receiver answered, or why there was no answer.",
    answer: DeliveryList,
    example: { deliveries: [delivery], pagination: { hasMore: true, nextCursor: CURSOR } },
    query: { status: "pending" },
  }),
  "GET /v1/webhooks/deliveries/:id": operation({
    id: "getDelivery",
    summary: "Get a delivery",
    description: "With every attempt, and when the next one is.",
    answer: Delivery,
    example: delivery,
  }),
  "POST /v1/webhooks/deliveries/:id/retry": operation({
    id: "retryDelivery",
    summary: "Try a delivery again now",
    description: "One extra attempt at once; the schedule of the others stays as it is.",
    status: 202,
    answer: Delivery,
    example: delivery,
    errors: ["INVALID_STATUS", ...unknown],
  }),
};

export const webhooks: Section = {
  tag: "Webhooks",
  description:
    "Where your events go. One endpoint is the configuration; more can be made. What is delivered is under Events below; how to verify it too.",
  parameters: { id: { description: "The endpoint.", example: IDS.webhook } },
  operations: { ...configurations, ...endpoints },
  events: [
    happening("webhook.test", "You asked for a test; sent whatever the endpoint subscribes to.", WebhookTestData, {
      message: "This is a test event from Tightbeam.",
      webhookId: IDS.webhook,
      customerId: IDS.customer,
    }),
  ],
};

export const deliveries: Section = {
  tag: "Deliveries",
  description: "The log of what was sent to your endpoints and `callbackUrl`s, for as long as events are kept.",
  parameters: { id: { description: "The delivery.", example: IDS.delivery } },
  operations: deliveryOperations,
};
