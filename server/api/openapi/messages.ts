/** Reference of messages: records, and the operations under `/v1/messages`. */

import { Type } from "typebox";
import {
  CHANNELS,
  DIRECTIONS,
  EFFECTS,
  ENCODINGS,
  MESSAGE_ERROR_CODES,
  MESSAGE_STATUSES,
  MESSAGE_TYPES,
  OUTBOUND_STATUSES,
  type ReactionCommand,
  type AcceptedCarousel as WireAcceptedCarousel,
  type AcceptedMessage as WireAcceptedMessage,
  type Deleted as WireDeleted,
  type DryRun as WireDryRun,
  type Message as WireMessage,
  type MessageList as WireMessageList,
  type PlannedHop as WirePlannedHop,
  type Reacted as WireReacted,
} from "../../../sdk/wire.ts";
import { wire } from "../schemas/common.ts";
import { Attachment } from "./attachments.ts";
import { messageEvents } from "./message-events.ts";
import {
  AnyObject,
  At,
  AtOrNull,
  component,
  id,
  operation,
  orNull,
  Pagination,
  type Section,
  TextOrNull,
} from "./operation.ts";
import { at, CONTACT, CURSOR, IDS, LAST_PAGE, OWN } from "./samples.ts";

const accepted = {
  id: id("msg"),
  status: Type.Enum(OUTBOUND_STATUSES),
  to: Type.String(),
  from: Type.String(),
  channel: Type.Enum(CHANNELS),
  scheduledAt: AtOrNull,
  externalMessageId: TextOrNull,
  createdAt: At,
};

const AcceptedMessage = wire<WireAcceptedMessage>()(component("AcceptedMessage", accepted));

const AcceptedCarousel = wire<WireAcceptedCarousel>()(
  component("AcceptedCarousel", {
    ...accepted,
    messageType: Type.Enum(MESSAGE_TYPES),
    imageCount: Type.Integer({ minimum: 1 }),
  }),
);

const PlannedHop = wire<WirePlannedHop>()(
  component("PlannedHop", {
    channel: Type.Enum(CHANNELS),
    instanceId: TextOrNull,
    usable: Type.Boolean(),
    reason: Type.String(),
  }),
);

const DryRun = wire<WireDryRun>()(
  component("DryRun", {
    dryRun: Type.Literal(true),
    to: Type.String(),
    from: Type.String(),
    channel: orNull(Type.Enum(CHANNELS)),
    instanceId: TextOrNull,
    reason: Type.String(),
    hops: Type.Array(PlannedHop),
    segments: orNull(Type.Integer({ minimum: 1 })),
    encoding: orNull(Type.Enum(ENCODINGS)),
    scheduledAt: AtOrNull,
    quietUntil: AtOrNull,
  }),
);

const rehearsed = {
  answer: DryRun,
  when: "With `dryRun=true`: what would become of it. Nothing is kept, and nothing sent.",
};

const TimelineEntry = component("TimelineEntry", {
  status: Type.Enum(MESSAGE_STATUSES),
  at: At,
  channel: Type.Enum(CHANNELS),
  reason: Type.Optional(Type.String()),
  instanceId: Type.Optional(id("inst")),
});

export const Message = wire<WireMessage>()(
  component("Message", {
    ...accepted,
    status: Type.Enum(MESSAGE_STATUSES),
    direction: Type.Enum(DIRECTIONS),
    chatId: orNull(id("chat")),
    messageType: Type.Enum(MESSAGE_TYPES),
    content: Type.Object({ text: TextOrNull, mediaUrls: Type.Array(Type.String()) }),
    attachments: Type.Array(Attachment),
    metadata: orNull(AnyObject),
    effect: orNull(Type.Enum(EFFECTS)),
    replyTo: TextOrNull,
    parentMessageId: TextOrNull,
    fallbackTriggered: Type.Boolean(),
    providerMessageId: TextOrNull,
    errorCode: orNull(Type.Enum(MESSAGE_ERROR_CODES)),
    errorMessage: TextOrNull,
    providerErrorCode: TextOrNull,
    segments: orNull(Type.Integer({ minimum: 1 })),
    encoding: orNull(Type.Enum(ENCODINGS)),
    sentAt: AtOrNull,
    deliveredAt: AtOrNull,
    readAt: AtOrNull,
    updatedAt: At,
    retryCount: Type.Integer({ minimum: 0 }),
    timeline: Type.Array(TimelineEntry),
  }),
);

export const MessageList = wire<WireMessageList>()(
  component("MessageList", {
    messages: Type.Array(Message),
    deleted: Type.Optional(Type.Array(id("msg"))),
    pagination: Pagination,
  }),
);

/** A reaction as it was made. */
export const Reacted = wire<WireReacted>()(
  component("Reacted", { messageId: id("msg"), reaction: Type.Unsafe<ReactionCommand>({ type: "string" }) }),
);

/** What is left of a record that was deleted. */
export const Deleted = wire<WireDeleted>()(component("Deleted", { id: Type.String(), deleted: Type.Literal(true) }));

const acceptedExample: WireAcceptedMessage = {
  id: IDS.message,
  status: "queued",
  to: CONTACT,
  from: OWN,
  channel: "imessage",
  scheduledAt: null,
  externalMessageId: "order-1001",
  createdAt: at(0),
};

/** A message that was delivered and read. */
const HERE = "Sandbox (this number's instance)";
const CHOSEN = `iMessage (preferred), via ${HERE}; from ${OWN} (default number)`;

export const messageExample: WireMessage = {
  ...acceptedExample,
  status: "read",
  direction: "outbound",
  chatId: IDS.chat,
  messageType: "text",
  content: { text: "Your table is ready.", mediaUrls: [] },
  attachments: [],
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

const scheduledExample: WireMessage = {
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

const failedExample: WireMessage = {
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

const sending = [
  "INVALID_PHONE_NUMBER",
  "INVALID_RECIPIENT",
  "NO_DEFAULT_ADDRESS",
  "NO_CHANNEL_AVAILABLE",
  "CHANNEL_NOT_SUPPORTED",
  "INVALID_STATUS",
  "INVALID_SCHEDULED_AT",
  "SCHEDULED_IN_PAST",
  "SCHEDULED_TOO_FAR",
  "ADDRESS_NOT_AUTHORIZED",
  "RECIPIENT_OPTED_OUT",
  "REPLY_NOT_FOUND",
  "CONVERSATION_NOT_FOUND",
  "INVALID_STATUS",
] as const;

/** Why a phone could not be told to do something with a message that is on it. */
const commanding = ["INVALID_STATUS", "CHANNEL_NOT_SUPPORTED", "PROVIDER_ERROR", "PROVIDER_TIMEOUT"] as const;

export const messages: Section = {
  tag: "Messages",
  description: "Send a message now or later, see what became of it, and change it on the recipient's phone.",
  parameters: { id: { description: "The message.", example: IDS.message } },
  operations: {
    "POST /v1/messages": operation({
      id: "sendMessage",
      summary: "Send a message",
      description:
        "Give exactly one of `to` and `chatId`, and a text, media or attachments. Without `from` and without a conversation it goes from the number of the newest conversation with this recipient that has a channel for it, else from the default number; the timeline says which and why. The answer is a promise: message and event are on disk before it is sent. Messages from one number to one recipient are handed over in the order of acceptance; what becomes of them comes as events.",
      status: 202,
      answer: AcceptedMessage,
      example: acceptedExample,
      instead: rehearsed,
      errors: sending,
      body: {
        to: CONTACT,
        content: { text: "Your table is ready." },
        externalMessageId: "order-1001",
        metadata: { table: 7 },
      },
    }),
    "GET /v1/messages": operation({
      id: "listMessages",
      summary: "List messages",
      description:
        "Both directions, newest first. The list is stable while messages are added. A page looks through a limited number of messages: where a filter finds few among very many, it may hold less than `limit`, or nothing, and `hasMore` is true; go on by `nextCursor`.\n\nWith `updatedAfter` it is a feed to keep another system in step: what changed since that instant, the oldest change first, each message as it now is. A change is whatever an event tells of. The answer always has a `nextCursor`, also when `hasMore` is false: keep it, and ask by it later for what changed since. Nothing is left out, also what commits late; a message that changes again comes again. Ids of deleted messages are in `deleted`. What changed longer ago than events are kept (`TB_RETENTION`) comes first, in the order in which the messages were made.",
      answer: MessageList,
      example: { messages: [messageExample], pagination: { hasMore: true, nextCursor: CURSOR } },
      query: { status: "read", limit: "20" },
    }),
    "GET /v1/messages/scheduled": operation({
      id: "listScheduledMessages",
      summary: "List what is scheduled",
      description: "Messages that wait for their time, soonest first.",
      answer: MessageList,
      example: { messages: [scheduledExample], pagination: LAST_PAGE },
    }),
    "POST /v1/messages/carousel": operation({
      id: "sendCarousel",
      summary: "Send a carousel of images",
      description: "2 to 20 images as one message, with everything else that a message can have.",
      status: 202,
      answer: AcceptedCarousel,
      instead: rehearsed,
      example: { ...acceptedExample, messageType: "carousel", imageCount: 2 },
      errors: sending,
      body: {
        to: CONTACT,
        mediaUrls: ["https://images.example.com/1.jpg", "https://images.example.com/2.jpg"],
        text: "Two of our rooms.",
        externalMessageId: "order-1001",
      },
    }),
    "GET /v1/messages/:id": operation({
      id: "getMessage",
      summary: "Get a message",
      description: "The record as it now is, with the timeline of every status and channel it has had.",
      answer: Message,
      example: messageExample,
    }),
    "PUT /v1/messages/:id": operation({
      id: "editMessage",
      summary: "Edit a message",
      description:
        "Changes the text on the recipient's phone (iMessage, once it was sent). `backwardsCompatibilityMessage` is what phones show that do not know edits.",
      answer: Message,
      example: { ...messageExample, content: { text: "Your table is ready now.", mediaUrls: [] }, updatedAt: at(90) },
      errors: ["INVALID_STATUS", "CHANNEL_NOT_SUPPORTED", "ALREADY_UNSENT", "EDIT_FAILED", "PROVIDER_TIMEOUT"],
      body: { text: "Your table is ready now." },
    }),
    "PATCH /v1/messages/:id": operation({
      id: "updateMessage",
      summary: "Change a scheduled message",
      description:
        "Its text, media, time or metadata, before it is sent; what is left out stays, `metadata` is replaced as a whole. Either the change or the sending comes first: once it is due, this is a 400 `INVALID_STATUS`. A change emits `message.scheduled` again, with the next `sequence`.",
      answer: Message,
      example: {
        ...scheduledExample,
        content: { text: "Your table is ready at eight.", mediaUrls: [] },
        updatedAt: at(30),
      },
      errors: ["INVALID_STATUS", "INVALID_SCHEDULED_AT", "SCHEDULED_IN_PAST", "SCHEDULED_TOO_FAR"],
      body: { content: { text: "Your table is ready at eight." } },
    }),
    "DELETE /v1/messages/:id": operation({
      id: "deleteMessage",
      summary: "Delete a message",
      description:
        "Erases text and media here, not on the recipient's phone; of its stored events too, once no delivery of them is pending. A scheduled message is cancelled first; one that is queued or pending cannot be deleted.",
      answer: Deleted,
      example: { id: IDS.message, deleted: true },
      errors: ["INVALID_STATUS", "ALREADY_DELETED"],
    }),
    "DELETE /v1/messages/:id/schedule": operation({
      id: "cancelMessage",
      summary: "Cancel a scheduled message",
      description: "Either it is cancelled or it is sent, never both.",
      answer: Message,
      example: { ...scheduledExample, status: "cancelled", updatedAt: at(30) },
      errors: ["NOT_SCHEDULED"],
    }),
    "POST /v1/messages/:id/unsend": operation({
      id: "unsendMessage",
      summary: "Take a message back",
      description: "Removes it from the recipient's phone (iMessage, once it was sent).",
      answer: Message,
      example: { ...messageExample, status: "unsent", updatedAt: at(90) },
      errors: [...commanding, "ALREADY_UNSENT"],
    }),
    "POST /v1/messages/:id/retry": operation({
      id: "retryMessage",
      summary: "Send a failed message again",
      description:
        "By the channel it failed on. Of a message with the `errorCode` `ATTACHMENT_FAILED`, also if it is `sent`, only what is missing is sent. A message with the `errorCode` `OUTCOME_UNKNOWN` may have been sent before: that takes `mayDuplicate`.",
      status: 202,
      answer: Message,
      example: failedExample,
      errors: ["INVALID_STATUS", "OUTCOME_UNKNOWN"],
      body: { mayDuplicate: false },
    }),
    "POST /v1/messages/:id/reactions": operation({
      id: "reactToMessage",
      summary: "React to a message",
      description:
        "With one of the six, or any single emoji where the channel can send it (the sandbox can; BlueBubbles can send the six only). A minus before it takes the reaction back. Works on sent and received messages (iMessage).",
      answer: Reacted,
      example: { messageId: IDS.message, reaction: "love" },
      errors: [...commanding, "ALREADY_UNSENT"],
      body: { type: "love" },
    }),
  },
  events: messageEvents,
};
