/** Schemas of message requests, proven equal to the wire contract. */

import { Type } from "typebox";
import {
  CHANNELS,
  DIRECTIONS,
  MESSAGE_STATUSES,
  type RetryMessage as WireRetryMessage,
  type SendMessage as WireSendMessage,
} from "../../../sdk/wire.ts";
import { Address, closed, HttpsUrl, IdempotencyKey, Instant, Metadata, page, text, wire } from "./common.ts";

/** Longest text of a message, in characters (contract 3). */
const TEXT_LENGTH_MAX = 10_000;
/** Longest identifier of the caller's own, in characters (contract 3). */
const EXTERNAL_ID_LENGTH_MAX = 255;

const Routing = closed({
  preference: Type.Optional(Type.Array(Type.Enum(CHANNELS), { minItems: 1, maxItems: CHANNELS.length })),
  fallback: Type.Optional(Type.Boolean()),
  fallbackAfterSeconds: Type.Optional(Type.Integer({ minimum: 10, maximum: 86_400 })),
});

/** Body of `POST /v1/messages`. Addresses and instants have error codes of their own, so the engine judges them. */
export const SendMessage = wire<WireSendMessage>()(
  closed({
    to: Type.Optional(text(0, 512)),
    from: Type.Optional(text(1, 512)),
    content: closed({ text: text(1, TEXT_LENGTH_MAX) }),
    routing: Type.Optional(Routing),
    scheduledAt: Type.Optional(text(0, 100)),
    idempotencyKey: Type.Optional(IdempotencyKey),
    externalMessageId: Type.Optional(text(1, EXTERNAL_ID_LENGTH_MAX)),
    callbackUrl: Type.Optional(HttpsUrl),
    metadata: Type.Optional(Metadata),
  }),
);

export const RetryMessage = wire<WireRetryMessage>()(
  closed({ mayDuplicate: Type.Optional(Type.Boolean()), idempotencyKey: Type.Optional(IdempotencyKey) }),
);

/** Farthest that a list can be entered by `offset` (contract 1). */
const OFFSET_MAX = 10_000;

export const ListMessages = closed({
  ...page,
  offset: Type.Optional(Type.Integer({ minimum: 0, maximum: OFFSET_MAX })),
  status: Type.Optional(Type.Enum(MESSAGE_STATUSES)),
  to: Type.Optional(Address),
  from: Type.Optional(Address),
  direction: Type.Optional(Type.Enum(DIRECTIONS)),
  externalMessageId: Type.Optional(text(1, EXTERNAL_ID_LENGTH_MAX)),
  createdAfter: Type.Optional(Instant),
  createdBefore: Type.Optional(Instant),
});

export const ListScheduled = closed({ ...page });
