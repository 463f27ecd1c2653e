/** Schemas of message requests, proven equal to the wire contract. */

import { Type } from "typebox";
import {
  ATTACHMENT_SOURCES,
  CHANNELS,
  DIRECTIONS,
  EFFECTS,
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

const AttachmentInput = closed({
  type: Type.Enum(ATTACHMENT_SOURCES),
  url: Type.Optional(HttpsUrl),
  data: Type.Optional(Type.String()),
  mimeType: Type.Optional(text(1, 255)),
  filename: Type.Optional(text(1, 255)),
  isAudioMessage: Type.Optional(Type.Boolean()),
});

/** Body of `POST /v1/messages`. Addresses and instants have error codes of their own, so the engine judges them. */
export const SendMessage = wire<WireSendMessage>()(
  closed({
    to: Type.Optional(text(0, 512)),
    chatId: Type.Optional(text(0, 512)),
    conversationId: Type.Optional(text(0, 512)),
    from: Type.Optional(text(1, 512)),
    content: Type.Optional(
      closed({
        text: Type.Optional(text(0, TEXT_LENGTH_MAX)),
        mediaUrls: Type.Optional(Type.Array(HttpsUrl, { minItems: 1, maxItems: 20 })),
        mediaUrl: Type.Optional(HttpsUrl),
      }),
    ),
    attachments: Type.Optional(Type.Array(AttachmentInput)),
    replyTo: Type.Optional(text(1, 512)),
    effect: Type.Optional(Type.Enum(EFFECTS)),
    mentions: Type.Optional(
      Type.Array(
        closed({ address: Address, start: Type.Integer({ minimum: 0 }), length: Type.Integer({ minimum: 1 }) }),
      ),
    ),
    createContact: Type.Optional(Type.Boolean()),
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
