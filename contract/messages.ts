/** Messages: the record, its lists and filters, and what can be done with a message that exists. */

import { type Static, Type } from "typebox";
import { Attachment } from "./attachments.ts";
import { at, IDS, OWN } from "./samples.ts";
import {
  alias,
  atLeastOne,
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
  SHOWN,
  says,
  string,
  stringOrNull,
  text,
} from "./schema.ts";
import {
  acceptedExample,
  acceptedFields,
  Effect,
  Encoding,
  EXTERNAL_ID_LENGTH_MAX,
  MessageType,
  mediaInput,
  OUTBOUND_STATUSES,
  oneMedia,
  TEXT_LENGTH_MAX,
  Text,
} from "./sending.ts";
import {
  Address,
  anyMetadata,
  Channel,
  ChatName,
  changed,
  IdempotencyKey,
  Instant,
  instantShown,
  metadataInput,
  Pagination,
  page,
} from "./values.ts";

export const MESSAGE_STATUSES = [...OUTBOUND_STATUSES, "received"] as const;
export const MessageStatus = choice(
  "MessageStatus",
  MESSAGE_STATUSES,
  "Status of a message. An inbound message is `received`, and `unsent` once its sender unsent it.",
);

export const DIRECTIONS = ["outbound", "inbound"] as const;
export const Direction = choice("Direction", DIRECTIONS, "Direction of a message, as seen from your number.");

export const MESSAGE_ORIGINS = ["api", "device", "service"] as const;
export const MessageOrigin = choice("MessageOrigin", MESSAGE_ORIGINS, "Who caused an outbound message.");

export const MESSAGE_ERROR_CODES = [
  "NO_CHANNEL_AVAILABLE",
  "REJECTED",
  "IMESSAGE_SEND_FAILED",
  "SMS_SEND_FAILED",
  "EXPIRED",
  "RECIPIENT_OPTED_OUT",
  "OUTCOME_UNKNOWN",
  "ATTACHMENT_FAILED",
] as const;
export const MessageErrorCode = choice(
  "MessageErrorCode",
  MESSAGE_ERROR_CODES,
  "Why a message failed. `ATTACHMENT_FAILED` also occurs on a message that was sent without its files.",
);

export const REACTIONS = ["love", "like", "dislike", "laugh", "emphasize", "question"] as const;
export const Reaction = choice("Reaction", REACTIONS, "A reaction of iMessage.");

export const REACTION_COMMANDS = [
  ...REACTIONS,
  "-love",
  "-like",
  "-dislike",
  "-laugh",
  "-emphasize",
  "-question",
] as const;
type Commands = (typeof REACTION_COMMANDS)[number] | (string & Record<never, never>);

/** A reaction as requests have it, and with a minus its removal. */
export const ReactionCommand = Type.Unsafe<Commands>({
  type: "string",
  format: "reaction",
  "x-name": "ReactionCommand",
  "x-about": "One of the six reactions or one emoji; with a minus it removes the reaction.",
  "x-typescript": "(typeof REACTION_COMMANDS)[number] | (string & Record<never, never>)",
  "x-shown": { pattern: `^-?(?:${REACTIONS.join("|")}|[#*0-9]?[^\\x00-\\x7F]{1,64})$` },
});

export const TimelineEntry = record("TimelineEntry", "One step in the life of a message.", {
  status: says(MessageStatus, "Status that the message reached."),
  at: instant("When the message reached it."),
  realAt: optional(instant("When it did in real time, if the sandbox's clock was ahead.")),
  channel: says(Channel, "Channel that was used or planned."),
  reason: optional(string("Why, if there is a reason.")),
  instanceId: optional(id("inst", "The provider instance.")),
});

export const Message = record("Message", "A message, as `GET /v1/messages/:id` returns it.", {
  ...acceptedFields,
  status: says(MessageStatus, "Status of the message."),
  direction: says(Direction, "Whether you sent or received the message."),
  origin: orNull(
    MessageOrigin,
    "`api`: a request. `service`: the service itself, as `confirmation` or `help` of opt-outs. `device`: a person wrote it in Messages on the Mac; it is `sent`, and no receipt changes that. Null for an inbound message.",
  ),
  chatId: orNull(id("chat", "The chat."), "The chat that the message belongs to."),
  messageType: says(MessageType, "Kind of the message."),
  content: Type.Object(
    {
      text: stringOrNull("The text; null if there is none."),
      mediaUrls: list(Type.String(), "HTTPS URLs of its images."),
    },
    { description: "Text and media." },
  ),
  attachments: list(Attachment, "Files of the message."),
  attachmentsDropped: count("Files that are not sent: the channel used, or the planned one, does not carry them.", {
    minimum: 0,
  }),
  metadata: orNull(anyMetadata, "Your own JSON object, as you sent it."),
  effect: orNull(Effect, "Effect on the recipient's iPhone."),
  replyTo: stringOrNull("`replyTo` of the request; null for an inbound message."),
  parentMessageId: stringOrNull("Id of the message that this one replies to, in both directions, if it is known here."),
  fallbackTriggered: flag("Whether a channel was given up."),
  providerMessageId: stringOrNull("The provider's id of the message."),
  errorCode: orNull(MessageErrorCode, "Why the message failed, or was sent without its files."),
  errorMessage: stringOrNull("The same as `errorCode`, in words."),
  providerErrorCode: stringOrNull("The provider's own error code."),
  segments: orNull(Type.Integer({ minimum: 1 }), "Number of SMS segments; null on other channels."),
  encoding: orNull(Encoding, "Encoding of the SMS; null on other channels."),
  sentAt: atOrNull("When a provider accepted the message."),
  deliveredAt: atOrNull("When the message reached the recipient's device."),
  readAt: atOrNull("When the recipient opened the message."),
  updatedAt: changed.updatedAt,
  retryCount: count("How often the message was retried by hand.", { minimum: 0 }),
  timeline: list(TimelineEntry, "Every status and channel that the message has had."),
});

export const MessageList = record("MessageList", "A page of messages.", {
  messages: list(Message, "The messages of this page."),
  deleted: optional(list(id("msg"), "With `updatedAfter` only: ids of changed messages that are deleted.")),
  pagination: says(Pagination, "Where the list continues."),
});

/** Longest text to look for in messages, in characters. */
const SEARCH_LENGTH_MAX = 200;
/** Farthest that a list can be entered by `offset`. */
const OFFSET_MAX = 10_000;

/** Query of `GET /v1/messages`. */
export const MessagesQuery = closed({
  ...page,
  offset: optional(
    count("Number of messages to skip; not together with `cursor`.", { minimum: 0, maximum: OFFSET_MAX }),
  ),
  status: optional(says(MessageStatus, "Only messages with this status.")),
  to: optional(says(Address, "Only messages to this address.")),
  from: optional(says(Address, "Only messages from this address.")),
  direction: optional(says(Direction, "Only messages of this direction.")),
  externalMessageId: optional(text(1, EXTERNAL_ID_LENGTH_MAX, "Only messages with this identifier of your own.")),
  createdAfter: optional(says(Instant, "Only messages created at this instant or later.")),
  createdBefore: optional(says(Instant, "Only messages created before this instant.")),
  channel: optional(says(Channel, "Only messages of this channel.")),
  chatId: optional(says(ChatName, "Only messages of this chat: its id, or the address of a one-to-one thread.")),
  q: optional(
    text(1, SEARCH_LENGTH_MAX, "Only messages whose text contains all of these words, or parts of words, in any case."),
  ),
  updatedAfter: optional(
    says(Instant, "Messages that changed at this instant or later, oldest change first; not together with `offset`."),
  ),
});

/** Query of the messages of one chat. */
export const ChatMessagesQuery = closed({
  ...page,
  from: optional(says(Address, "Your number in the chat, if several of your numbers have a thread with this address.")),
});

export const EditMessage = request(
  "EditMessage",
  "Body of `PUT /v1/messages/:id`.",
  {
    text: optional(text(1, TEXT_LENGTH_MAX, "The new text.")),
    content: optional(alias("text", closed({ text: alias("text", text(1, TEXT_LENGTH_MAX)) }))),
    backwardsCompatibilityMessage: optional(text(1, TEXT_LENGTH_MAX, "Text for phones that do not support edits.")),
  },
  { allOf: [atLeastOne("text", "content")] },
);

export const UpdateMessage = request(
  "UpdateMessage",
  "Body of `PATCH /v1/messages/:id`, for a scheduled message: an absent field stays as it is.",
  {
    content: optional(
      closed(
        { text: optional(Text), ...mediaInput() },
        { description: "Text and media. `mediaUrls: []` removes the media.", [SHOWN]: oneMedia },
      ),
    ),
    scheduledAt: optional(
      text(0, 100, "When to send the message: ISO 8601 with an offset or `Z`, at most 30 days ahead.", instantShown),
    ),
    metadata: optional(orNull(metadataInput, "Your own JSON object, which replaces the present one; null removes it.")),
  },
);

export const React = request(
  "React",
  "Body of `POST /v1/messages/:id/reactions`.",
  {
    type: optional(ReactionCommand),
    reaction: optional(alias("type", ReactionCommand)),
    idempotencyKey: optional(IdempotencyKey),
  },
  { allOf: [atLeastOne("type", "reaction")] },
);

export const Reacted = record("Reacted", "Response of `POST /v1/messages/:id/reactions`.", {
  messageId: id("msg", "The message."),
  reaction: Type.Unsafe<Commands>({
    type: "string",
    "x-typescript": "ReactionCommand",
    description: "The reaction as requested; an emoji in its full form.",
  }),
});

export const RetryMessage = request("RetryMessage", "Body of `POST /v1/messages/:id/retry`.", {
  mayDuplicate: optional(flag("Accepts that the message may be sent twice; required after `OUTCOME_UNKNOWN`.")),
  idempotencyKey: optional(IdempotencyKey),
});

const HERE = "Sandbox (this number's instance)";
const CHOSEN = `iMessage (preferred), via ${HERE}; from ${OWN} (default number)`;

/** A message that was delivered and read. */
export const messageExample: Static<typeof Message> = {
  ...acceptedExample,
  status: "read",
  direction: "outbound",
  origin: "api",
  chatId: IDS.chat,
  messageType: "text",
  content: { text: "Your table is ready.", mediaUrls: [] },
  attachments: [],
  attachmentsDropped: 0,
  metadata: { table: 7 },
  effect: null,
  replyTo: null,
  parentMessageId: null,
  fallbackTriggered: false,
  providerMessageId: "sandbox-7f3a",
  errorCode: null,
  errorMessage: null,
  providerErrorCode: null,
  segments: null,
  encoding: null,
  sentAt: at(1),
  deliveredAt: at(2),
  readAt: at(60),
  updatedAt: at(60),
  retryCount: 0,
  timeline: [
    { status: "queued", at: at(0), channel: "imessage", reason: CHOSEN, instanceId: IDS.instance },
    { status: "sent", at: at(1), channel: "imessage", instanceId: IDS.instance },
    { status: "delivered", at: at(2), channel: "imessage", instanceId: IDS.instance },
    { status: "read", at: at(60), channel: "imessage", instanceId: IDS.instance },
  ],
};

export const scheduledExample: Static<typeof Message> = {
  ...messageExample,
  status: "scheduled",
  scheduledAt: at(86_400),
  providerMessageId: null,
  sentAt: null,
  deliveredAt: null,
  readAt: null,
  updatedAt: at(0),
  timeline: [{ status: "scheduled", at: at(0), channel: "imessage", reason: CHOSEN, instanceId: IDS.instance }],
};

export const retriedExample: Static<typeof Message> = {
  ...scheduledExample,
  status: "queued",
  scheduledAt: null,
  updatedAt: at(90),
  retryCount: 1,
  timeline: [
    { status: "queued", at: at(0), channel: "imessage", reason: CHOSEN, instanceId: IDS.instance },
    { status: "failed", at: at(30), channel: "imessage", reason: "REJECTED" },
    { status: "queued", at: at(90), channel: "imessage", reason: `retry; via ${HERE}`, instanceId: IDS.instance },
  ],
};
