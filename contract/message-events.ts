/** Events of messages: the data of each, when it is sent, and an example. */

import { type Static, Type } from "typebox";
import { Attachment } from "./attachments.ts";
import { event } from "./event-type.ts";
import { MessageErrorCode, MessageOrigin, REACTIONS } from "./messages.ts";
import { at, CONTACT, CORRELATION_ID, IDS, OWN } from "./samples.ts";
import {
  choice,
  count,
  flag,
  id,
  at as instant,
  list,
  optional,
  orNull,
  record,
  says,
  string,
  stringOrNull,
  yes,
} from "./schema.ts";
import { OutboundStatus } from "./sending.ts";
import { anyMetadata, Channel } from "./values.ts";

export const FALLBACK_REASONS = ["NOT_REACHABLE", "REJECTED", "NO_DELIVERY"] as const;
export const FallbackReason = choice("FallbackReason", FALLBACK_REASONS, "Why a channel was given up.");

const correlationId = Type.String({
  pattern: "^cor_[0-9a-fA-F]{32}$",
  description: "Correlation id of the request that led to the event.",
});

/** Data of every message event, in both directions. */
const common = {
  messageId: id("msg", "The message."),
  from: string("Address of the sender."),
  to: string("Address of the recipient."),
  text: stringOrNull("The text; null if there is none."),
  channel: says(Channel, "Channel that was used, or the planned one until one is used."),
  sequence: count("Number of the event within its message, from 1: order events by it.", { minimum: 1 }),
  correlationId,
  scheduledAt: optional(instant("When the message is, or was, to be sent.")),
  deliveredAt: optional(instant("When the message reached the recipient's device.")),
  readAt: optional(instant("When the recipient opened the message.")),
  errorCode: optional(says(MessageErrorCode, "Why the message failed, or was sent without its files.")),
  error: optional(
    Type.Object(
      {
        code: says(MessageErrorCode, "The same as `errorCode`."),
        message: string("Explanation for people; its wording may change."),
      },
      { description: "Why the message failed, with a sentence for people." },
    ),
  ),
  mayHaveBeenSent: optional(flag("Whether the message may have been sent although it failed.")),
  fallbackFrom: optional(says(Channel, "The channel that was given up.")),
  reason: optional(Type.String({ examples: [...FALLBACK_REASONS], description: "Why." })),
  editedAt: optional(instant("When the message was last edited.")),
};

/** Further data of an outbound message, which some events of an inbound one have too. */
const further = {
  ...common,
  parentMessageId: optional(id("msg", "Id of the message that this one replies to.")),
  attachments: optional(list(Attachment, "Files of the message.")),
  attachmentsDropped: optional(
    count("Files that are not sent, as the channel does not carry them; absent if there are none.", { minimum: 1 }),
  ),
  externalMessageId: optional(string("Your own identifier of the message.")),
  origin: optional(says(MessageOrigin, "Who caused an outbound message, if that was no request of yours.")),
  providerMessageId: optional(string("The provider's id; absent until the provider has accepted the message.")),
  metadata: optional(anyMetadata),
};

const textTruncated = optional(yes("The text was longer than 64 KiB, and was cut there at a character."));

export const MessageEventData = record(
  "MessageEventData",
  "`data` of every `message.*` event of an outbound message.",
  { ...further, status: says(OutboundStatus, "Status of the message.") },
);

export const RevisionEventData = record(
  "RevisionEventData",
  "`data` of `message.edited`, `message.unsent` and `message.deleted`.",
  {
    ...further,
    status: optional(says(OutboundStatus, "Status of an outbound message; absent for an inbound one.")),
    textTruncated,
  },
);

export const InboundEventData = record("InboundEventData", "`data` of `message.inbound`.", {
  ...common,
  parentMessageId: orNull(id("msg"), "Id of the message that this one replies to."),
  attachments: list(Attachment, "Files of the message."),
  chatId: optional(id("chat", "The group that received the message; absent for a one-to-one thread.")),
  textTruncated,
});

export const AttachmentsAddedEventData = record("AttachmentsAddedEventData", "`data` of `message.attachments_added`.", {
  messageId: id("msg", "The message, whose record holds all of its files."),
  from: common.from,
  to: common.to,
  channel: common.channel,
  chatId: orNull(id("chat"), "The chat that received the message."),
  attachments: list(Attachment, "The files that came, and no others."),
  sequence: common.sequence,
  correlationId,
});

export const ReactionEventData = record("ReactionEventData", "`data` of `message.reaction`.", {
  messageId: orNull(id("msg"), "The message that was reacted to; null if it is not known here."),
  reaction: Type.Object(
    {
      type: Type.Enum([...REACTIONS, "emoji", "remove"], {
        description: "One of the six; `emoji` for any other; `remove` when the contact removed it.",
      }),
      emoji: optional(string("With the type `emoji`: the emoji; absent if the provider does not say which.")),
      targetMessageId: stringOrNull("The same as `messageId`."),
      content: string("The line that phones without support for reactions show."),
    },
    { description: "The reaction." },
  ),
  from: common.from,
  to: common.to,
  channel: common.channel,
  sequence: common.sequence,
  correlationId,
  externalMessageId: further.externalMessageId,
  providerMessageId: optional(string("The provider's id of the message, if the message is outbound.")),
  metadata: further.metadata,
});

type Data = Static<typeof MessageEventData>;

const example: Data = {
  messageId: IDS.message,
  externalMessageId: "order-1001",
  from: OWN,
  to: CONTACT,
  text: "Your table is ready.",
  channel: "imessage",
  metadata: { table: 7 },
  status: "queued",
  sequence: 1,
  correlationId: CORRELATION_ID,
};

const providerMessageId = "D562DEFD-0B1D-4F4E-9A0B-3C4D5E6F7A8B";
const sent: Data = { ...example, status: "sent", providerMessageId, sequence: 2 };
const delivered: Data = { ...sent, status: "delivered", sequence: 3, deliveredAt: at(2) };
const read: Data = { ...delivered, status: "read", sequence: 4, readAt: at(60) };

const inbound: Static<typeof InboundEventData> = {
  messageId: IDS.reply,
  from: CONTACT,
  to: OWN,
  text: "On my way",
  channel: "imessage",
  sequence: 1,
  correlationId: CORRELATION_ID,
  parentMessageId: IDS.message,
  attachments: [
    {
      guid: IDS.attachment,
      mimeType: "image/jpeg",
      filename: "map.jpg",
      totalBytes: 48_213,
      downloadUrl: "http://127.0.0.1:8080/v1/attachments/K5Zt0d3mQx1c8Yb7Vn2Rsw",
    },
  ],
};

const outbound = [
  event(
    "message.queued",
    "A message was accepted, became due, or is being retried by hand.",
    MessageEventData,
    example,
  ),
  event("message.sent", "A provider has accepted the message.", MessageEventData, sent),
  event("message.delivered", "The message has reached the recipient's device.", MessageEventData, delivered),
  event("message.read", "The recipient has opened the message (iMessage only).", MessageEventData, read),
  event("message.failed", "The message will not be delivered; `errorCode` says why.", MessageEventData, {
    ...example,
    channel: "sms",
    status: "failed",
    sequence: 3,
    errorCode: "REJECTED",
    error: { code: "REJECTED", message: "The number does not exist." },
  }),
  event("message.fallback", "A channel was given up, and the next one is tried.", MessageEventData, {
    ...example,
    channel: "sms",
    sequence: 2,
    fallbackFrom: "imessage",
    reason: "NOT_REACHABLE",
  }),
  event("message.scheduled", "A message was scheduled, or changed before its time.", MessageEventData, {
    ...example,
    status: "scheduled",
    scheduledAt: at(86_400),
  }),
  event("message.schedule_cancelled", "A scheduled message was cancelled.", MessageEventData, {
    ...example,
    status: "cancelled",
    sequence: 2,
    scheduledAt: at(86_400),
  }),
];

const revisions = [
  event("message.edited", "The text of a message was edited on the recipient's phone.", RevisionEventData, {
    ...read,
    text: "Your table is ready now.",
    sequence: 5,
    editedAt: at(90),
  }),
  event("message.edit_failed", "A message could not be edited and is unchanged.", MessageEventData, {
    ...read,
    sequence: 5,
    reason: "The time in which a message can be edited is over.",
  }),
  event("message.unsent", "A message was unsent: removed from the recipient's phone.", RevisionEventData, {
    ...read,
    status: "unsent",
    sequence: 5,
  }),
  event("message.deleted", "A message and its text were deleted in the service.", RevisionEventData, {
    ...read,
    text: null,
    sequence: 5,
  }),
  event("message.audio_kept", "The recipient has kept an audio message.", MessageEventData, {
    ...read,
    text: null,
    sequence: 5,
  }),
];

const reacted: Static<typeof ReactionEventData> = {
  messageId: IDS.message,
  reaction: { type: "love", targetMessageId: IDS.message, content: "Loved “Your table is ready.”" },
  from: CONTACT,
  to: OWN,
  channel: "imessage",
  sequence: 5,
  correlationId: CORRELATION_ID,
  externalMessageId: "order-1001",
  providerMessageId,
  metadata: { table: 7 },
};

const { messageId: receivedId, from, to, channel, attachments: mapFile } = inbound;
const filesCame: Static<typeof AttachmentsAddedEventData> = {
  messageId: receivedId,
  from,
  to,
  channel,
  chatId: IDS.chat,
  attachments: mapFile,
  sequence: 2,
  correlationId: CORRELATION_ID,
};

/** All of `message.*`. */
export const messageEvents = [
  ...outbound,
  event("message.inbound", "A contact has sent a message.", InboundEventData, inbound),
  event("message.reaction", "A contact has reacted to a message, or removed a reaction.", ReactionEventData, reacted),
  ...revisions,
  event(
    "message.attachments_added",
    "Files of a contact's message came after the message, within a day.",
    AttachmentsAddedEventData,
    filesCame,
  ),
];
