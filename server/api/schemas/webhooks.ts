/** Schemas of requests about webhooks and deliveries, proven equal to the wire contract. */

import { Type } from "typebox";
import {
  DELIVERY_STATUSES,
  EVENT_TYPES,
  type CreateWebhook as WireCreateWebhook,
  type Replay as WireReplay,
  type RotateSecret as WireRotateSecret,
  type SetWebhook as WireSetWebhook,
  type UpdateWebhook as WireUpdateWebhook,
} from "../../../sdk/wire.ts";
import { closed, HttpsUrl, IdempotencyKey, Instant, page, text, wire } from "./common.ts";

/** Items that a list of event types may have: more than there are types, since doubles are taken out later. */
const EVENTS_MAX = 100;
const NAME_LENGTH_MAX = 255;
/** Longest id that a filter takes, as in a path. */
const ID_LENGTH_MAX = 512;
/** Most attempts that an endpoint may take at once. */
const MAX_IN_FLIGHT_MAX = 256;
/** Longest grace of a rotation: 7 days. */
const GRACE_SECONDS_MAX = 604_800;

const Events = Type.Array(Type.Enum([...EVENT_TYPES, "*"]), { minItems: 1, maxItems: EVENTS_MAX });

/** At most 256 of printable ASCII; "" counts as left out. */
const Secret = Type.String({ maxLength: 256, pattern: "^[ -~]*$" });

const Name = text(1, NAME_LENGTH_MAX);

/** Attempts at once. */
const MaxInFlight = Type.Integer({ minimum: 1, maximum: MAX_IN_FLIGHT_MAX });

export const SetWebhook = wire<WireSetWebhook>()(
  closed({
    url: HttpsUrl,
    events: Events,
    secret: Type.Optional(Secret),
    maxInFlight: Type.Optional(MaxInFlight),
  }),
);

export const CreateWebhook = wire<WireCreateWebhook>()(
  closed({
    url: HttpsUrl,
    events: Events,
    secret: Type.Optional(Secret),
    name: Type.Optional(Name),
    maxInFlight: Type.Optional(MaxInFlight),
    idempotencyKey: Type.Optional(IdempotencyKey),
  }),
);

export const UpdateWebhook = wire<WireUpdateWebhook>()(
  closed({
    url: Type.Optional(HttpsUrl),
    events: Type.Optional(Events),
    name: Type.Optional(Type.Union([Name, Type.Null()])),
    secret: Type.Optional(Secret),
    active: Type.Optional(Type.Boolean()),
    maxInFlight: Type.Optional(MaxInFlight),
  }),
);

export const RotateSecret = wire<WireRotateSecret>()(
  closed({
    gracePeriodSeconds: Type.Optional(Type.Integer({ minimum: 0, maximum: GRACE_SECONDS_MAX })),
    idempotencyKey: Type.Optional(IdempotencyKey),
  }),
);

export const Replay = wire<WireReplay>()(
  closed({
    since: Instant,
    until: Type.Optional(Instant),
    types: Type.Optional(Type.Array(Type.Enum([...EVENT_TYPES]), { minItems: 1, maxItems: EVENTS_MAX })),
    idempotencyKey: Type.Optional(IdempotencyKey),
  }),
);

/** Body of a test, and of another attempt by hand. */
export const CommandWebhook = closed({ idempotencyKey: Type.Optional(IdempotencyKey) });

export const ListDeliveries = closed({
  ...page,
  status: Type.Optional(Type.Enum([...DELIVERY_STATUSES])),
  webhookId: Type.Optional(text(1, ID_LENGTH_MAX)),
  eventId: Type.Optional(text(1, ID_LENGTH_MAX)),
  messageId: Type.Optional(text(1, ID_LENGTH_MAX)),
});
