/** Schemas of message requests, proven equal to the wire contract. */

import { Type } from "typebox";
import {
  ATTACHMENT_SOURCES,
  CHANNELS,
  DIRECTIONS,
  EFFECTS,
  MESSAGE_STATUSES,
  type RetryMessage as WireRetryMessage,
  type SendCarousel as WireSendCarousel,
  type SendMessage as WireSendMessage,
  type UpdateMessage as WireUpdateMessage,
} from "../../../sdk/wire.ts";
import { Address, closed, HttpsUrl, IdempotencyKey, Instant, Metadata, page, text, wire } from "./common.ts";

/** Longest text of a message, in characters. */
export const TEXT_LENGTH_MAX = 10_000;
/** Longest identifier of the caller's own, in characters. */
const EXTERNAL_ID_LENGTH_MAX = 255;
/** Addresses of media that one message can have. */
const MEDIA_URLS_MAX = 20;
/** Attachments that one message can have: as many as media. */
export const ATTACHMENTS_MAX = 20;
/** Mentions that one message can have. */
const MENTIONS_MAX = 100;

const Routing = closed({
  preference: Type.Optional(Type.Array(Type.Enum(CHANNELS), { minItems: 1, maxItems: CHANNELS.length })),
  fallback: Type.Optional(Type.Boolean()),
  fallbackAfterSeconds: Type.Optional(Type.Integer({ minimum: 10, maximum: 86_400 })),
});

export const AttachmentInput = closed({
  type: Type.Enum(ATTACHMENT_SOURCES),
  url: Type.Optional(HttpsUrl),
  data: Type.Optional(Type.String()),
  mimeType: Type.Optional(text(1, 255)),
  filename: Type.Optional(text(1, 255)),
  isAudioMessage: Type.Optional(Type.Boolean()),
});

const Mention = closed({
  address: Address,
  start: Type.Integer({ minimum: 0, maximum: TEXT_LENGTH_MAX * 2 }),
  length: Type.Integer({ minimum: 1, maximum: TEXT_LENGTH_MAX * 2 }),
});

/** What both bodies have in common. Addresses and instants have error codes of their own, so the engine judges them. */
const sendOptions = {
  to: Type.Optional(text(0, 512)),
  chatId: Type.Optional(text(0, 512)),
  conversationId: Type.Optional(text(0, 512)),
  from: Type.Optional(text(1, 512)),
  attachments: Type.Optional(Type.Array(AttachmentInput, { maxItems: ATTACHMENTS_MAX })),
  replyTo: Type.Optional(text(1, 512)),
  effect: Type.Optional(Type.Enum(EFFECTS)),
  mentions: Type.Optional(Type.Array(Mention, { maxItems: MENTIONS_MAX })),
  createContact: Type.Optional(Type.Boolean()),
  routing: Type.Optional(Routing),
  scheduledAt: Type.Optional(text(0, 100)),
  idempotencyKey: Type.Optional(IdempotencyKey),
  externalMessageId: Type.Optional(text(1, EXTERNAL_ID_LENGTH_MAX)),
  callbackUrl: Type.Optional(HttpsUrl),
  metadata: Type.Optional(Metadata),
};

const Text = Type.Optional(text(0, TEXT_LENGTH_MAX));

/** Query of both routes that send. */
export const Rehearsal = closed({ dryRun: Type.Optional(Type.Boolean()) });

/** Body of `POST /v1/messages`. */
export const SendMessage = wire<WireSendMessage>()(
  closed({
    ...sendOptions,
    content: Type.Optional(
      closed({
        text: Text,
        mediaUrls: Type.Optional(Type.Array(HttpsUrl, { minItems: 1, maxItems: MEDIA_URLS_MAX })),
        mediaUrl: Type.Optional(HttpsUrl),
      }),
    ),
  }),
);

/** Body of `POST /v1/messages/carousel`. */
export const SendCarousel = wire<WireSendCarousel>()(
  closed({ ...sendOptions, mediaUrls: Type.Array(HttpsUrl, { minItems: 2, maxItems: MEDIA_URLS_MAX }), text: Text }),
);

/** Body of `PATCH /v1/messages/:id`. */
export const UpdateMessage = wire<WireUpdateMessage>()(
  closed({
    content: Type.Optional(
      closed({
        text: Text,
        mediaUrls: Type.Optional(Type.Array(HttpsUrl, { maxItems: MEDIA_URLS_MAX })),
        mediaUrl: Type.Optional(HttpsUrl),
      }),
    ),
    scheduledAt: Type.Optional(text(0, 100)),
    metadata: Type.Optional(Type.Union([Metadata, Type.Null()])),
  }),
);

export const RetryMessage = wire<WireRetryMessage>()(
  closed({ mayDuplicate: Type.Optional(Type.Boolean()), idempotencyKey: Type.Optional(IdempotencyKey) }),
);

/** Longest text to look for in messages, in characters. */
const SEARCH_LENGTH_MAX = 200;

/** Farthest that a list can be entered by `offset`. */
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
  channel: Type.Optional(Type.Enum(CHANNELS)),
  chatId: Type.Optional(text(1, 512)),
  q: Type.Optional(text(1, SEARCH_LENGTH_MAX)),
  updatedAfter: Type.Optional(Instant),
});

export const ListScheduled = closed({ ...page });
