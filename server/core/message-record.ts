/** The public forms of a message: its record, the response to sending it, the data of its events. */

import type {
  AcceptedCarousel,
  AcceptedMessage,
  InboundEventData,
  OutboundStatus,
  RevisionEventData,
  Message as WireMessage,
} from "../../sdk/wire.ts";
import { attachmentRecord, type LinkBuilder } from "./attachment.ts";
import type { MessageId } from "./id.ts";
import { iso, isoOrNull } from "./instant.ts";
import type { Message } from "./message.ts";
import { timelineRecord } from "./timeline.ts";

/** `data` of a `message.*` event. Fields that do not apply are absent, such as the status of an inbound message. */
export function messageEventData(message: Message, link: LinkBuilder): RevisionEventData {
  const { errorCode, attachments } = message;
  const parentMessageId = parentOf(message);
  const status = outboundStatus(message);
  return {
    messageId: message.id,
    ...(message.externalMessageId === null ? {} : { externalMessageId: message.externalMessageId }),
    from: message.from,
    to: message.to,
    text: message.text,
    channel: message.channel,
    ...(message.metadata === null ? {} : { metadata: message.metadata }),
    ...(status === null ? {} : { status }),
    ...(message.origin === null ? {} : { origin: message.origin }),
    ...providerMessageIdOf(message),
    sequence: message.sequence,
    correlationId: message.correlationId,
    ...(message.scheduledAt === null ? {} : { scheduledAt: iso(message.scheduledAt) }),
    ...(message.deliveredAt === null ? {} : { deliveredAt: iso(message.deliveredAt) }),
    ...(message.readAt === null ? {} : { readAt: iso(message.readAt) }),
    ...(parentMessageId === null ? {} : { parentMessageId }),
    ...(attachments.length === 0 ? {} : { attachments: attachments.map((one) => attachmentRecord(one, link)) }),
    ...(message.attachmentsDropped === 0 ? {} : { attachmentsDropped: message.attachmentsDropped }),
    ...(message.editedAt === null ? {} : { editedAt: iso(message.editedAt) }),
    ...(errorCode === null ? {} : { errorCode, error: { code: errorCode, message: message.errorMessage ?? "" } }),
  };
}

/** The message that this one replies to, whoever sent it. */
function parentOf({ replyTo, parentMessageId }: Message): MessageId | null {
  return replyTo ?? parentMessageId;
}

/** The provider's reference of an outbound message, once it is known; no field otherwise. */
export function providerMessageIdOf({ direction, providerMessageId }: Message): { providerMessageId?: string } {
  return direction === "inbound" || providerMessageId === null ? {} : { providerMessageId };
}

/** The status of an outbound message; null for an inbound one. */
function outboundStatus({ direction, status }: Message): OutboundStatus | null {
  return direction === "inbound" || status === "received" ? null : status;
}

/** Facts of an inbound message that its event tells and its record does not. */
export interface InboundFacts {
  /** It was written to a group. */
  isGroup: boolean;
  /** Its text was cut at 64 KiB. */
  textTruncated: boolean;
}

/**
 * `data` of `message.inbound`: no status; always the files and the message that it replies to; the chat only of a
 * group.
 */
export function inboundEventData(
  message: Message,
  { isGroup, textTruncated }: InboundFacts,
  link: LinkBuilder,
): InboundEventData {
  const { status: _, externalMessageId: __, metadata: ___, ...data } = messageEventData(message, link);
  return {
    ...data,
    parentMessageId: message.parentMessageId,
    attachments: data.attachments ?? [],
    ...(isGroup && message.chatId !== null ? { chatId: message.chatId } : {}),
    ...(textTruncated ? { textTruncated: true } : {}),
  };
}

/** Response of `POST /v1/messages`. Throws for an inbound message, which no customer sent. */
export function acceptedRecord(message: Message): AcceptedMessage {
  const status = outboundStatus(message);
  if (status === null) throw new Error(`${message.id} is inbound, and was not accepted from a customer`);
  return { ...sharedRecord(message), status };
}

function sharedRecord(message: Message): Omit<AcceptedMessage, "status"> {
  return {
    id: message.id,
    to: message.to,
    from: message.from,
    channel: message.channel,
    scheduledAt: isoOrNull(message.scheduledAt),
    externalMessageId: message.externalMessageId,
    createdAt: iso(message.createdAt),
  };
}

/** Response of `POST /v1/messages/carousel`. */
export function acceptedCarouselRecord(message: Message): AcceptedCarousel {
  return { ...acceptedRecord(message), messageType: message.messageType, imageCount: message.mediaUrls.length };
}

/** The whole record of a message. */
export function messageRecord(message: Message, link: LinkBuilder): WireMessage {
  return {
    ...sharedRecord(message),
    status: message.status,
    direction: message.direction,
    origin: message.direction === "inbound" ? null : (message.origin ?? "api"),
    chatId: message.chatId,
    messageType: message.messageType,
    content: { text: message.text, mediaUrls: message.mediaUrls },
    attachments: message.attachments.map((attachment) => attachmentRecord(attachment, link)),
    attachmentsDropped: message.attachmentsDropped,
    metadata: message.metadata,
    effect: message.effect,
    replyTo: message.replyTo,
    parentMessageId: parentOf(message),
    fallbackTriggered: message.fallbackTriggered,
    providerMessageId: message.providerMessageId,
    errorCode: message.errorCode,
    errorMessage: message.errorMessage,
    providerErrorCode: message.providerErrorCode,
    segments: message.segments,
    encoding: message.encoding,
    sentAt: isoOrNull(message.sentAt),
    deliveredAt: isoOrNull(message.deliveredAt),
    readAt: isoOrNull(message.readAt),
    updatedAt: iso(message.updatedAt),
    retryCount: message.retryCount,
    timeline: timelineRecord(message.timeline),
  };
}
