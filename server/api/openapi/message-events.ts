/** Reference of the events of messages: their data, and when each is sent. */

import { Type } from "typebox";
import {
  CHANNELS,
  FALLBACK_REASONS,
  MESSAGE_ERROR_CODES,
  OUTBOUND_STATUSES,
  REACTIONS,
  type InboundEventData as WireInboundEventData,
  type MessageEventData as WireMessageEventData,
  type ReactionEventData as WireReactionEventData,
  type RevisionEventData as WireRevisionEventData,
} from "../../../sdk/wire.ts";
import { wire } from "../schemas/common.ts";
import { Attachment } from "./attachments.ts";
import { AnyObject, At, component, type Happening, happening, id, orNull, TextOrNull } from "./operation.ts";
import { at, CONTACT, CORRELATION_ID, IDS, OWN } from "./samples.ts";

/** What the data of every event of a message has, in both directions. */
const common = {
  messageId: id("msg"),
  from: Type.String(),
  to: Type.String(),
  text: TextOrNull,
  channel: Type.Enum(CHANNELS),
  sequence: Type.Integer({ minimum: 1 }),
  correlationId: Type.String({ pattern: "^cor_[0-9a-fA-F]{32}$" }),
  scheduledAt: Type.Optional(At),
  deliveredAt: Type.Optional(At),
  readAt: Type.Optional(At),
  errorCode: Type.Optional(Type.Enum(MESSAGE_ERROR_CODES)),
  error: Type.Optional(Type.Object({ code: Type.Enum(MESSAGE_ERROR_CODES), message: Type.String() })),
  mayHaveBeenSent: Type.Optional(Type.Boolean()),
  fallbackFrom: Type.Optional(Type.Enum(CHANNELS)),
  reason: Type.Optional(Type.String({ examples: [...FALLBACK_REASONS] })),
  editedAt: Type.Optional(At),
};

/** Further fields of what is sent of an outbound message, which some events of an inbound one have too. */
const further = {
  ...common,
  parentMessageId: Type.Optional(id("msg")),
  attachments: Type.Optional(Type.Array(Attachment)),
  externalMessageId: Type.Optional(Type.String()),
  providerMessageId: Type.Optional(Type.String()),
  metadata: Type.Optional(AnyObject),
};

const MessageEventData = wire<WireMessageEventData>()(
  component("MessageEventData", { ...further, status: Type.Enum(OUTBOUND_STATUSES) }),
);

const RevisionEventData = wire<Flat<WireRevisionEventData>>()(
  component("RevisionEventData", { ...further, status: Type.Optional(Type.Enum(OUTBOUND_STATUSES)) }),
);

/** The same fields in one object: type identity tells an intersection from it. */
type Flat<T> = { [Key in keyof T]: T[Key] };

const InboundEventData = wire<Flat<WireInboundEventData>>()(
  component("InboundEventData", {
    ...common,
    parentMessageId: orNull(id("msg")),
    attachments: Type.Array(Attachment),
    chatId: Type.Optional(id("chat")),
  }),
);

const ReactionEventData = wire<WireReactionEventData>()(
  component("ReactionEventData", {
    messageId: orNull(id("msg")),
    reaction: Type.Object({
      type: Type.Enum([...REACTIONS, "remove"]),
      emoji: Type.Optional(Type.String()),
      targetMessageId: TextOrNull,
      content: Type.String(),
    }),
    from: Type.String(),
    to: Type.String(),
    channel: Type.Enum(CHANNELS),
    sequence: Type.Integer({ minimum: 1 }),
    correlationId: Type.String({ pattern: "^cor_[0-9a-fA-F]{32}$" }),
    externalMessageId: Type.Optional(Type.String()),
    providerMessageId: Type.Optional(Type.String()),
    metadata: Type.Optional(AnyObject),
  }),
);

const example: WireMessageEventData = {
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
const sent: WireMessageEventData = { ...example, status: "sent", providerMessageId, sequence: 2 };
const delivered: WireMessageEventData = { ...sent, status: "delivered", sequence: 3, deliveredAt: at(2) };
const read: WireMessageEventData = { ...delivered, status: "read", sequence: 4, readAt: at(60) };

const inbound: WireInboundEventData = {
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

const outbound: readonly Happening[] = [
  happening(
    "message.queued",
    "A message was accepted, became due, or is tried again by hand.",
    MessageEventData,
    example,
  ),
  happening("message.sent", "A provider has taken the message.", MessageEventData, sent),
  happening("message.delivered", "The message is on the recipient's device.", MessageEventData, delivered),
  happening("message.read", "The recipient has opened the message (iMessage only).", MessageEventData, read),
  happening("message.failed", "The message will not get there; `errorCode` says why.", MessageEventData, {
    ...example,
    channel: "sms",
    status: "failed",
    sequence: 3,
    errorCode: "REJECTED",
    error: { code: "REJECTED", message: "The number does not exist." },
  }),
  happening("message.fallback", "A channel was given up, and the next one is tried.", MessageEventData, {
    ...example,
    channel: "sms",
    sequence: 2,
    fallbackFrom: "imessage",
    reason: "NOT_REACHABLE",
  }),
  happening("message.scheduled", "A message was accepted for later, or changed before its time.", MessageEventData, {
    ...example,
    status: "scheduled",
    scheduledAt: at(86_400),
  }),
  happening("message.schedule_cancelled", "A scheduled message was cancelled.", MessageEventData, {
    ...example,
    status: "cancelled",
    sequence: 2,
    scheduledAt: at(86_400),
  }),
];

const later: readonly Happening[] = [
  happening("message.edited", "The text of a message was changed on the recipient's phone.", RevisionEventData, {
    ...read,
    text: "Your table is ready now.",
    sequence: 5,
    editedAt: at(90),
  }),
  happening("message.edit_failed", "A message could not be edited, and is as it was.", MessageEventData, {
    ...read,
    sequence: 5,
    reason: "The time in which a message can be edited is over.",
  }),
  happening("message.unsent", "A message was taken back from the recipient's phone.", RevisionEventData, {
    ...read,
    status: "unsent",
    sequence: 5,
  }),
  happening("message.deleted", "A message was deleted here, and its text with it.", RevisionEventData, {
    ...read,
    text: null,
    sequence: 5,
  }),
  happening("message.audio_kept", "The recipient has kept an audio message.", MessageEventData, {
    ...read,
    text: null,
    sequence: 5,
  }),
];

/** All of `message.*`. */
export const messageEvents: readonly Happening[] = [
  ...outbound,
  happening("message.inbound", "A contact has written.", InboundEventData, inbound),
  happening("message.reaction", "A contact has reacted to a message, or taken the reaction back.", ReactionEventData, {
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
  }),
  ...later,
];
