/** Webhooks: endpoints, their secrets and replays, and the log of deliveries. */

import { type Static, type TNull, Type } from "typebox";
import { EventFilter, EventType, event } from "./event-type.ts";
import { at, CORRELATION_ID, IDS } from "./samples.ts";
import {
  atOrNull,
  choice,
  closed,
  count,
  flag,
  id,
  at as instant,
  list,
  optional,
  orNull,
  record,
  request,
  says,
  string,
  stringOrNull,
  text,
} from "./schema.ts";
import { changed, created, HttpsUrl, IdempotencyKey, Instant, Pagination, page, size } from "./values.ts";

/** Items of a list of event types: more than there are types, since duplicates are removed later. */
const EVENTS_MAX = 100;
const NAME_LENGTH_MAX = 255;
/** Longest id of a filter, as in a path. */
const ID_LENGTH_MAX = 512;
/** Most attempts in flight at once at one endpoint. */
const IN_FLIGHT = { minimum: 1, maximum: 256 };
/** Longest grace period of a rotation: 7 days. */
const GRACE_SECONDS_MAX = 604_800;

const events = list(EventFilter, "Event types to deliver, or `*` for every type.", {
  minItems: 1,
  maxItems: EVENTS_MAX,
});
const url = says(HttpsUrl, "URL that receives the events: HTTPS, and a public address.");
const name = text(1, NAME_LENGTH_MAX, "Display name.");

/** At most 256 characters of printable ASCII; an empty secret counts as left out. */
const secret = (sentence: string) => Type.String({ maxLength: 256, pattern: "^[ -~]*$", description: sentence });

const inFlight = (sentence: string) => optional(count(sentence, IN_FLIGHT));

export const SetWebhook = request("SetWebhook", "Body of `PUT /v1/webhooks`.", {
  url,
  events,
  secret: optional(
    secret("Signing secret, 1 to 256 characters of printable ASCII. Default: the present one, or a generated one."),
  ),
  maxInFlight: inFlight(
    "Most attempts in flight at once, 1 to 256. Default: unchanged, or `TB_WEBHOOK_CONCURRENCY` (64) for a new endpoint.",
  ),
});

export const CreateWebhook = request("CreateWebhook", "Body of `POST /v1/webhooks`.", {
  url,
  events,
  secret: optional(secret("Signing secret, 1 to 256 characters of printable ASCII. Default: a generated one.")),
  name: optional(name),
  maxInFlight: inFlight("Most attempts in flight at once, 1 to 256. Default: `TB_WEBHOOK_CONCURRENCY` (64)."),
  idempotencyKey: optional(IdempotencyKey),
});

export const UpdateWebhook = request(
  "UpdateWebhook",
  "Body of `PATCH /v1/webhooks/:id`: an absent field stays as it is.",
  {
    url: optional(url),
    events: optional(events),
    name: optional(orNull(name, "Display name; null removes it.")),
    secret: optional(secret("New signing secret, from the next attempt on.")),
    active: optional(flag("Whether events are delivered; false pauses the endpoint.")),
    maxInFlight: inFlight("Most attempts in flight at once, 1 to 256, from the next attempt on."),
  },
);

export const RotateSecret = request("RotateSecret", "Body of the routes that rotate a signing secret.", {
  gracePeriodSeconds: optional(
    count("How long the old secret keeps signing. Default: 0; at most 7 days.", {
      minimum: 0,
      maximum: GRACE_SECONDS_MAX,
    }),
  ),
  idempotencyKey: optional(IdempotencyKey),
});

export const ReplayOnly = choice("ReplayOnly", ["failed"] as const, "Restricts a replay.");

export const ReplayEvents = request("ReplayEvents", "Body of `POST /v1/webhooks/:id/replay`.", {
  since: says(Instant, "Start of the period."),
  until: optional(says(Instant, "End of the period, exclusive. Default: now.")),
  types: optional(
    list(EventType, "Only events of these types. Default: every type.", { minItems: 1, maxItems: EVENTS_MAX }),
  ),
  only: optional(
    says(
      ReplayOnly,
      "`failed`: only events that the endpoint has not answered with 2xx, those it missed while it was paused included. Default: every event.",
    ),
  ),
  idempotencyKey: optional(IdempotencyKey),
});

export const REPLAY_STATUSES = ["running", "done", "stopped"] as const;
export const ReplayStatus = choice("ReplayStatus", REPLAY_STATUSES, "Status of a replay.");

const replayed = {
  id: id("rpl"),
  status: says(ReplayStatus, "`running` until all its deliveries are made: then `done`. `stopped` if you ended it."),
  deliveries: orNull(
    size("Number of deliveries."),
    "Number of deliveries that it makes: exact for `only: failed`, else an estimate; null if an estimate takes too long.",
  ),
};

export const StartedReplay = record("StartedReplay", "Response of `POST /v1/webhooks/:id/replay`.", replayed);

export const Replay = record("Replay", "The last replay of an endpoint.", {
  ...replayed,
  since: instant("Start of the period."),
  until: atOrNull("End of the period, exclusive; null: the start of the replay."),
  types: orNull(list(EventType, "Event types."), "Only events of these types; null: of every type."),
  only: orNull(ReplayOnly, "`failed`: only events that the endpoint had not answered with 2xx; null: every event."),
  made: size("Number of deliveries that were made or taken up again so far."),
  succeeded: size("Number of those that the endpoint answered with 2xx."),
  failed: size("Number of those that were given up or cancelled."),
  startedAt: instant("When the replay began."),
  endedAt: atOrNull("When all deliveries were made, or the replay was stopped; null while it runs."),
});

const endpoint = {
  id: id("wh"),
  name: stringOrNull("Display name."),
  url: string("URL that receives the events."),
  events: list(EventFilter, "Event types that are delivered, or `*` for every type.", { minItems: 1 }),
  active: flag("Whether events are delivered."),
  primary: flag("Whether this is the primary endpoint, the one of `PUT /v1/webhooks`."),
  maxInFlight: count(
    "Most attempts in flight at once. Delivery starts with 4 and adds more while the endpoint responds within 5 s.",
    IN_FLIGHT,
  ),
  standardWebhooks: flag(
    "Whether its secret also makes the signature headers of Standard Webhooks. If not, `X-Signature` alone signs: the secret is not `whsec_` and base64 of 24 to 64 bytes.",
  ),
  isGone: flag(
    "Whether its receiver is gone: ten answers in a row within a day were 410. Ends with the next 2xx, and with another URL. Nothing is paused or cancelled.",
  ),
  ...changed,
};

const signing = {
  previousSecretExpiresAt: atOrNull(
    "Until when the secret before the last rotation signs too, in real time; null without a grace period.",
  ),
  secret: optional(string("Signing secret; only in the response that generated it.")),
};

export const Webhook = record("Webhook", "An endpoint that receives events.", { ...endpoint, ...signing });

const noEndpoint = Object.fromEntries(
  Object.keys(endpoint).map((name) => [name, says(Type.Null(), "Null: there is no primary endpoint.")]),
) as { [Name in keyof typeof endpoint]: TNull };

export const SigningSecret = record(
  "SigningSecret",
  "The customer's signing secret, in the fields of an endpoint: of one who has no primary endpoint, and gets events at a `callbackUrl`.",
  { ...noEndpoint, ...signing },
);

export const DELIVERY_STATUSES = ["pending", "succeeded", "exhausted", "cancelled"] as const;
export const DeliveryStatus = choice("DeliveryStatus", DELIVERY_STATUSES, "Status of a delivery.");

const httpStatus = Type.Integer({ minimum: 100, maximum: 999 });

export const Attempt = record("Attempt", "One attempt to deliver an event.", {
  at: instant("When the attempt was made."),
  realAt: optional(instant("When it was made in real time, if the sandbox's clock was ahead.")),
  status: orNull(httpStatus, "HTTP status of the receiver's response; null without a response."),
  durationMs: Type.Number({ minimum: 0, description: "Duration of the attempt in milliseconds." }),
  response: stringOrNull("First 1 KiB of the receiver's response body."),
  error: stringOrNull("Why there was no response; null if there was one."),
  retryAfterSeconds: orNull(
    Type.Integer({ minimum: 1, maximum: 86_400 }),
    "Seconds that a 429 or 503 asked to wait by `Retry-After`, at most a day; null if it did not, or not in one of its forms.",
  ),
  requestHeaders: orNull(
    Type.Record(Type.String(), Type.String()),
    "Headers of the request by name, as they were sent, signatures included, without `Host`, `Content-Length` and `Connection`; null if there was no connection, or if the event is no longer stored.",
  ),
});

export const Delivery = record("Delivery", "The delivery of one event to one URL.", {
  id: id("dlv"),
  eventId: id("evt", "The event."),
  eventType: says(EventType, "Type of the event."),
  messageId: orNull(id("msg"), "The message that the event is about; null if it is about none."),
  webhookId: orNull(id("wh"), "The endpoint; null for a `callbackUrl`."),
  url: string("URL that receives the event."),
  status: says(DeliveryStatus, "Status of the delivery."),
  attempts: list(Attempt, "The attempts so far, at most the newest 50."),
  nextAttemptAt: atOrNull("When the next attempt is due; null if there will be none."),
  ...created,
});

export const TestedDelivery = record(
  "TestedDelivery",
  "Response of a webhook test: the delivery after its first attempt, or after 5 s without one.",
  {
    ...Delivery.properties,
    delivered: flag("Whether the receiver responded with a 2xx status."),
    responseStatus: orNull(httpStatus, "HTTP status of the receiver's response; null if there is none yet."),
  },
);

export const DeliveryList = record("DeliveryList", "A page of deliveries.", {
  deliveries: list(Delivery, "The deliveries of this page."),
  pagination: says(Pagination, "Where the list continues."),
});

/** Query of `GET /v1/webhooks/deliveries`. */
export const DeliveriesQuery = closed({
  ...page,
  status: optional(says(DeliveryStatus, "Only deliveries with this status.")),
  webhookId: optional(text(1, ID_LENGTH_MAX, "Only deliveries to this endpoint.")),
  eventId: optional(text(1, ID_LENGTH_MAX, "Only deliveries of this event.")),
  messageId: optional(text(1, ID_LENGTH_MAX, "Only deliveries of events of this message.")),
});

export const WebhookTestData = record("WebhookTestData", "`data` of `webhook.test`.", {
  message: string("A sentence that says that this is a test."),
  webhookId: id("wh", "The endpoint."),
  customerId: id("cust", "The customer."),
});

const webhook: Static<typeof Webhook> = {
  id: IDS.webhook,
  name: null,
  url: "https://example.com/hooks/tightbeam",
  events: ["message.delivered", "message.failed", "message.inbound"],
  active: true,
  primary: true,
  maxInFlight: 64,
  standardWebhooks: true,
  isGone: false,
  createdAt: at(0),
  updatedAt: at(0),
  previousSecretExpiresAt: null,
};

const sentHeaders = {
  "Content-Type": "application/json",
  "User-Agent": "Tightbeam/1.0.0",
  "X-Correlation-Id": CORRELATION_ID,
  "X-Signature": `sha256=${"0f".repeat(32)}`,
  "X-Timestamp": "1772366430",
};

const delivery: Static<typeof Delivery> = {
  id: IDS.delivery,
  eventId: IDS.event,
  eventType: "message.delivered",
  messageId: IDS.message,
  webhookId: IDS.webhook,
  url: webhook.url,
  status: "pending",
  attempts: [
    {
      at: at(2),
      status: 503,
      durationMs: 41,
      response: "busy",
      error: null,
      retryAfterSeconds: null,
      requestHeaders: sentHeaders,
    },
  ],
  nextAttemptAt: at(32),
  createdAt: at(2),
};

export const webhookExamples = {
  primary: webhook,
  further: {
    ...webhook,
    name: "Accounting",
    url: "https://accounting.example.com/hooks",
    events: ["payment.request.paid"],
    primary: false,
  },
} satisfies Record<string, Static<typeof Webhook>>;

/** Base64 of 32 bytes, as a generated secret is; this one signs nothing. */
export const secretExample = `whsec_${"QUJD".repeat(10)}QUI=`;

export const deliveryExample = delivery;

export const replayExample: Static<typeof Replay> = {
  id: IDS.replay,
  status: "running",
  deliveries: 12,
  since: at(0),
  until: at(3_600),
  types: ["message.inbound"],
  only: "failed",
  made: 12,
  succeeded: 9,
  failed: 0,
  startedAt: at(3_650),
  endedAt: null,
};

export const testedExample: Static<typeof TestedDelivery> = {
  ...delivery,
  eventType: "webhook.test",
  messageId: null,
  status: "succeeded",
  attempts: [
    {
      at: at(0),
      status: 200,
      durationMs: 41,
      response: "ok",
      error: null,
      retryAfterSeconds: null,
      requestHeaders: sentHeaders,
    },
  ],
  nextAttemptAt: null,
  delivered: true,
  responseStatus: 200,
};

export const webhookEvents = [
  event("webhook.test", "You requested a test; sent whatever the endpoint subscribes to.", WebhookTestData, {
    message: "This is a test event from Tightbeam.",
    webhookId: IDS.webhook,
    customerId: IDS.customer,
  }),
];
