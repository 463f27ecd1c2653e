/** Operations on webhook endpoints and deliveries. */

import { Type } from "typebox";
import { linksTo, linksToFirst, operation, type Section } from "../operation.ts";
import { at, CURSOR, IDS } from "../samples.ts";
import { orNull } from "../schema.ts";
import { Deleted, IdempotentRequest } from "../values.ts";
import {
  CreateWebhook,
  DeliveriesQuery,
  Delivery,
  DeliveryList,
  deliveryExample,
  Replay,
  ReplayEvents,
  RotateSecret,
  replayExample,
  SetWebhook,
  SigningSecret,
  StartedReplay,
  secretExample as secret,
  TestedDelivery,
  testedExample,
  UpdateWebhook,
  Webhook,
  webhookExamples,
} from "../webhooks.ts";

const { primary, further } = webhookExamples;

/** A route of the primary endpoint; a route that names an endpoint by its id. */
const missing = ["WEBHOOK_NOT_CONFIGURED"] as const;
const unknown = ["WEBHOOK_NOT_FOUND"] as const;

const TEST =
  "Sends a `webhook.test` event, whatever the endpoint subscribes to, and returns the delivery after its first attempt, or after 5 s.";

const primaryOperations: Section["operations"] = {
  "PUT /v1/webhooks": operation({
    id: "setWebhook",
    summary: "Set your primary webhook endpoint",
    description:
      "Creates or changes the primary endpoint. Without `secret` the customer's signing secret stays; a secret that was never shown is generated and returned once, in this response. It also signs deliveries to every `callbackUrl`.",
    body: SetWebhook,
    response: Webhook,
    example: { ...primary, secret },
    errors: ["WEBHOOK_DUPLICATE"],
    bodyExample: { url: primary.url, events: primary.events },
    links: linksTo("getWebhook", "updateWebhook"),
  }),
  "GET /v1/webhooks": operation({
    id: "getWebhookConfiguration",
    summary: "Get your primary webhook endpoint",
    description: "`data` is null if there is none.",
    response: orNull(Webhook),
    example: primary,
  }),
  "DELETE /v1/webhooks": operation({
    id: "deleteWebhookConfiguration",
    summary: "Delete your primary webhook endpoint",
    description: "Cancels its pending deliveries. The signing secret and all other endpoints stay.",
    response: Deleted,
    example: { id: IDS.webhook, deleted: true },
    errors: missing,
  }),
  "POST /v1/webhooks/test": operation({
    id: "testWebhookConfiguration",
    summary: "Test your primary webhook endpoint",
    description: TEST,
    body: IdempotentRequest,
    response: TestedDelivery,
    example: testedExample,
    errors: [...missing, "INVALID_STATUS"],
  }),
  "POST /v1/webhooks/rotate-secret": operation({
    id: "rotateSecret",
    summary: "Rotate your signing secret",
    description:
      "Returns the new secret, once. Until the grace period ends, `X-Signature` is made with the old secret and `webhook-signature` holds a signature of each. The secret also signs deliveries to every `callbackUrl`: without a primary endpoint, the fields of the endpoint are null.",
    body: RotateSecret,
    response: Type.Union([Webhook, SigningSecret]),
    example: { ...primary, previousSecretExpiresAt: at(3_600), secret },
    bodyExample: { gracePeriodSeconds: 3_600 },
  }),
};

const endpoints: Section["operations"] = {
  "GET /v1/webhooks/list": operation({
    id: "listWebhooks",
    summary: "List webhook endpoints",
    description: "Returns all endpoints in one plain list, the primary one first.",
    response: Type.Array(Webhook),
    example: [primary, further],
  }),
  "POST /v1/webhooks": operation({
    id: "createWebhook",
    summary: "Create a webhook endpoint",
    description:
      "Creates a further endpoint with a signing secret of its own: the given one, or a generated one that is returned once, in this response.",
    status: 201,
    body: CreateWebhook,
    response: Webhook,
    example: { ...further, secret },
    errors: ["WEBHOOK_DUPLICATE", "WEBHOOK_NOT_FOUND"],
    bodyExample: { url: further.url, events: further.events, name: further.name },
    links: linksTo("getWebhook", "updateWebhook", "testWebhook", "replayEvents", "deleteWebhook"),
  }),
  "GET /v1/webhooks/:id": operation({
    id: "getWebhook",
    summary: "Get a webhook endpoint",
    description: "Returns the endpoint without its secret.",
    response: Webhook,
    example: further,
    errors: unknown,
  }),
  "PATCH /v1/webhooks/:id": operation({
    id: "updateWebhook",
    summary: "Change a webhook endpoint",
    description:
      "`active: false` pauses the endpoint and cancels its pending deliveries; missed events can be replayed. A changed URL or secret applies from the next attempt.",
    body: UpdateWebhook,
    response: Webhook,
    example: { ...further, active: false, updatedAt: at(90) },
    errors: [...unknown, "WEBHOOK_DUPLICATE"],
    bodyExample: { active: false },
  }),
  "DELETE /v1/webhooks/:id": operation({
    id: "deleteWebhook",
    summary: "Delete a webhook endpoint",
    description: "Cancels its pending deliveries.",
    response: Deleted,
    example: { id: IDS.webhook, deleted: true },
    errors: unknown,
  }),
  "POST /v1/webhooks/:id/test": operation({
    id: "testWebhook",
    summary: "Test a webhook endpoint",
    description: TEST,
    body: IdempotentRequest,
    response: TestedDelivery,
    example: testedExample,
    errors: [...unknown, "INVALID_STATUS"],
  }),
  "POST /v1/webhooks/:id/rotate-secret": operation({
    id: "rotateWebhookSecret",
    summary: "Rotate the secret of a webhook endpoint",
    description: "Works like the rotation of the customer's signing secret, for this endpoint.",
    body: RotateSecret,
    response: Webhook,
    example: { ...further, previousSecretExpiresAt: at(3_600), secret },
    errors: unknown,
    bodyExample: { gracePeriodSeconds: 3_600 },
  }),
  "POST /v1/webhooks/:id/replay": operation({
    id: "replayEvents",
    summary: "Replay stored events",
    description:
      "Begins a replay: every event of the period and types is sent to this endpoint again, as a new delivery. With `only: failed` just those that the endpoint has not answered with 2xx: a delivery that failed, was given up or cancelled is taken up again with its id and a full schedule, and one that was never made, since the endpoint was paused, is made. The service makes the deliveries in the background, also after a restart, and sends new events first. An endpoint has one replay at a time; pausing or deleting it stops the replay.",
    status: 202,
    body: ReplayEvents,
    response: StartedReplay,
    example: { id: IDS.replay, status: "running", deliveries: 12 },
    errors: [...unknown, "INVALID_STATUS", "REPLAY_RUNNING"],
    bodyExample: { since: at(0), until: at(3_600), types: ["message.inbound"], only: "failed" },
  }),
  "GET /v1/webhooks/:id/replay": operation({
    id: "getReplay",
    summary: "Get the last replay",
    description: "The last replay of this endpoint, with its progress. `data` is null if there was none.",
    response: orNull(Replay),
    example: replayExample,
    errors: unknown,
  }),
  "DELETE /v1/webhooks/:id/replay": operation({
    id: "stopReplay",
    summary: "Stop the replay",
    description: "Stops the replay that runs, and cancels those of its deliveries that were not tried yet.",
    response: Replay,
    example: { ...replayExample, status: "stopped", endedAt: at(3_700) },
    errors: [...unknown, "NOT_FOUND"],
  }),
};

export const webhooks: Section = {
  tag: "Webhooks",
  description:
    "The endpoints that receive your events: one primary endpoint, and any number of further ones. The events, and how to verify them, are under Events below.",
  parameters: { id: { description: "Id of the endpoint.", example: IDS.webhook } },
  operations: { ...primaryOperations, ...endpoints },
};

export const deliveries: Section = {
  tag: "Deliveries",
  description: "The log of deliveries to your endpoints and `callbackUrl`s, as long as events are kept.",
  parameters: { id: { description: "Id of the delivery.", example: IDS.delivery } },
  operations: {
    "GET /v1/webhooks/deliveries": operation({
      id: "listDeliveries",
      summary: "List deliveries",
      description: "Lists deliveries newest first, each with the receiver's response to every attempt.",
      query: DeliveriesQuery,
      response: DeliveryList,
      example: { deliveries: [deliveryExample], pagination: { hasMore: true, nextCursor: CURSOR } },
      queryExample: { status: "pending" },
      links: linksToFirst("deliveries", "getDelivery"),
    }),
    "GET /v1/webhooks/deliveries/:id": operation({
      id: "getDelivery",
      summary: "Get a delivery",
      description: "Includes every attempt, and when the next one is due.",
      response: Delivery,
      example: deliveryExample,
    }),
    "POST /v1/webhooks/deliveries/:id/retry": operation({
      id: "retryDelivery",
      summary: "Retry a delivery now",
      description: "Makes one extra attempt at once; the schedule of the others stays.",
      status: 202,
      body: IdempotentRequest,
      response: Delivery,
      example: deliveryExample,
      errors: ["INVALID_STATUS", ...unknown],
      links: linksTo("getDelivery"),
    }),
  },
};
