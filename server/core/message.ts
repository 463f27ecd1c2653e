/**
 * The stored form of a message, and the initial state of a new message. Its lifecycle is in `message-lifecycle.ts`.
 * Pure.
 */

import type {
  AttachmentsRule,
  Channel,
  Direction,
  Effect,
  Encoding,
  Mention,
  MessageErrorCode,
  MessageOrigin,
  MessageStatus,
  MessageType,
  Metadata,
} from "../../sdk/wire.ts";
import type { MessageAttachment } from "./attachment.ts";
import type { ChatId, CustomerId, InstanceId, KeyId, MessageId, PaymentId } from "./id.ts";
import { phoneKey } from "./phone-forms.ts";

export interface TimelineEntry {
  status: MessageStatus;
  at: number;
  /** How far the sandbox's clock was ahead of real time, in milliseconds; absent: it showed real time. */
  aheadMs?: number;
  channel: Channel;
  reason?: string;
  instanceId?: InstanceId;
}

/** A part of a message that its provider sent by itself, before the rest. */
export interface SentPart {
  /** The provider's reference of the part: a receipt with it says nothing about the rest. */
  reference: string;
  /** In words, in lower case: `the text`. */
  what: string;
  /** The provider reported later that the part did not arrive; absent while it has not. */
  hasFailed?: boolean;
}

export interface Message {
  id: MessageId;
  /** Incremented by every change. A change is committed only to the version that it was decided on. */
  version: number;
  customerId: CustomerId;
  keyId: KeyId | null;
  direction: Direction;
  status: MessageStatus;
  from: string;
  to: string;
  /** The planned channel until the first send attempt, then the last one used. */
  channel: Channel;
  /** Channels still to be tried after `channel`, in order. */
  channelsLeft: Channel[];
  fallback: boolean;
  /** The channel is given up after this time without a delivery; null: never. */
  fallbackAfterMs: number | null;
  fallbackTriggered: boolean;
  text: string | null;
  messageType: MessageType;
  mediaUrls: string[];
  attachments: MessageAttachment[];
  /** `routing.attachments` of the request; null if it had none. */
  attachmentsRule: AttachmentsRule | null;
  /** Files that its present channel and instance do not carry, and that are not sent there. */
  attachmentsDropped: number;
  chatId: ChatId | null;
  effect: Effect | null;
  /** The message that an outbound message replies to. */
  replyTo: MessageId | null;
  /** The message that an inbound message replies to. */
  parentMessageId: MessageId | null;
  mentions: Mention[];
  /** The payment that it requests. */
  payment: { id: PaymentId; amountCents: number } | null;
  editedAt: number | null;
  metadata: Metadata | null;
  externalMessageId: string | null;
  callbackUrl: string | null;
  /** Who caused an outbound message, if no request did; null for one of a request, and for an inbound one. */
  origin: Exclude<MessageOrigin, "api"> | null;
  correlationId: string;
  /** The provider instance that sends it: its lane. */
  instanceId: InstanceId;
  /** Instances of the present channel that refused it, in order: none of them gets it again. */
  instancesTried: InstanceId[];
  /**
   * When the engine next handles it: its scheduled, retry, fallback or reconciliation time. Null during a send attempt
   * or when done.
   */
  dueAt: number | null;
  /** End of the lease of its send attempt (real time); null if there is none. */
  claimedUntil: number | null;
  /** The message fails if it is still `queued` at this time. */
  expiresAt: number | null;
  /** Send attempts on the present channel, including deferred attempts. */
  sendAttempts: number;
  /** The account of its last send attempt (`Connection.account`); null before the first, and if it was not recorded. */
  account: string | null;
  /**
   * The part that the present instance sent separately; null if it sent none. From then on the message stays with that
   * instance, its account and its channel.
   */
  sentPart: SentPart | null;
  /** Since when the outcome of the send attempt is unknown; null if it is known. */
  unknownSince: number | null;
  /** Events so far: the `sequence` of the last one. */
  sequence: number;
  /** Retries requested by `POST /v1/messages/:id/retry`. */
  retryCount: number;
  providerMessageId: string | null;
  errorCode: MessageErrorCode | null;
  errorMessage: string | null;
  providerErrorCode: string | null;
  segments: number | null;
  encoding: Encoding | null;
  scheduledAt: number | null;
  sentAt: number | null;
  deliveredAt: number | null;
  readAt: number | null;
  createdAt: number;
  updatedAt: number;
  deletedAt: number | null;
  /** When text was erased from its stored events too, after a delete. */
  erasedAt: number | null;
  timeline: TimelineEntry[];
}

/** Key of a sender and a recipient, in whatever form: messages between the two are sent in the order of acceptance. */
export function pairOf({ from, to }: Pick<Message, "from" | "to">): string {
  return `${from} ${phoneKey(to)}`;
}

/** Two or more media make a carousel. */
export function messageTypeOf(mediaUrls: readonly unknown[], attachments: readonly unknown[]): MessageType {
  if (mediaUrls.length > 1) return "carousel";
  return mediaUrls.length + attachments.length > 0 ? "media" : "text";
}

/** State before the first send attempt on a channel. */
export const FRESH = {
  claimedUntil: null,
  sendAttempts: 0,
  unknownSince: null,
  providerMessageId: null,
  errorCode: null,
  errorMessage: null,
  providerErrorCode: null,
  sentAt: null,
  deliveredAt: null,
  readAt: null,
} as const;

/** Initial state of an outbound message. */
export const NEW_MESSAGE = {
  ...FRESH,
  version: 1,
  direction: "outbound",
  status: "queued",
  fallbackTriggered: false,
  sequence: 0,
  retryCount: 0,
  messageType: "text",
  mediaUrls: [] as string[],
  attachments: [] as MessageAttachment[],
  attachmentsRule: null,
  attachmentsDropped: 0,
  chatId: null,
  effect: null,
  replyTo: null,
  parentMessageId: null,
  mentions: [] as Mention[],
  metadata: null,
  externalMessageId: null,
  callbackUrl: null,
  origin: null,
  payment: null,
  editedAt: null,
  segments: null,
  encoding: null,
  deletedAt: null,
  erasedAt: null,
  instancesTried: [] as InstanceId[],
  account: null,
  sentPart: null,
  timeline: [] as TimelineEntry[],
} as const satisfies Partial<Message>;
