/** A message as it is stored, and how one begins. Its lifecycle is in `message-lifecycle.ts`. Pure. */

import type {
  Channel,
  Direction,
  Effect,
  Encoding,
  Mention,
  MessageErrorCode,
  MessageStatus,
  MessageType,
  Metadata,
} from "../../sdk/wire.ts";
import type { MessageAttachment } from "./attachment.ts";
import type { ChatId, CustomerId, InstanceId, KeyId, MessageId, PaymentId } from "./id.ts";

export interface TimelineEntry {
  status: MessageStatus;
  at: number;
  channel: Channel;
  reason?: string;
  instanceId?: InstanceId;
}

/** A part of a message that a provider sent by itself, before the rest. */
export interface SentPart {
  /** The provider's name of the part: a receipt with it says nothing about the rest. */
  reference: string;
  /** In words that begin a sentence in lower case: `the text`. */
  what: string;
  /** The provider reported later that the part did not arrive; absent while it has not. */
  hasFailed?: boolean;
}

export interface Message {
  id: MessageId;
  /** Grows with every change; a change is made only to the version it was decided on. */
  version: number;
  customerId: CustomerId;
  keyId: KeyId | null;
  direction: Direction;
  status: MessageStatus;
  from: string;
  to: string;
  /** The channel planned, until one was used; then the last one used. */
  channel: Channel;
  /** Channels still to be tried after `channel`, in order. */
  channelsLeft: Channel[];
  fallback: boolean;
  /** Time without a delivery after which a channel is given up; null: never. */
  fallbackAfterMs: number | null;
  fallbackTriggered: boolean;
  text: string | null;
  messageType: MessageType;
  mediaUrls: string[];
  attachments: MessageAttachment[];
  chatId: ChatId | null;
  effect: Effect | null;
  /** The message it was sent in answer to, as its sender said. */
  replyTo: MessageId | null;
  /** The message that an inbound one answers. */
  parentMessageId: MessageId | null;
  mentions: Mention[];
  /** The payment that it asks for. */
  payment: { id: PaymentId; amountCents: number } | null;
  editedAt: number | null;
  metadata: Metadata | null;
  externalMessageId: string | null;
  callbackUrl: string | null;
  correlationId: string;
  /** The provider instance that hands it over: its lane. */
  instanceId: InstanceId;
  /** Instances of the present channel that refused it, in their order: it is not handed to them again. */
  instancesTried: InstanceId[];
  /** When to look at it again: scheduled, retry, fallback or settle time. Null when claimed or done. */
  dueAt: number | null;
  /** Lease of whoever has it in hand (real time). */
  claimedUntil: number | null;
  /** Waiting in `queued` longer than this fails it. */
  expiresAt: number | null;
  /** Hand-overs on the present channel, transient failures included. */
  sendAttempts: number;
  /** The peer that its last hand-over went to (`Connection.peer`); null before one, and where that is not on record. */
  account: string | null;
  /**
   * The part that went out by itself, by a send attempt at the present instance; null while there is none. From then on
   * the message stays with that instance, its peer and its channel.
   */
  sentPart: SentPart | null;
  /** Since when the outcome of the hand-over is unknown; null when it is not. */
  unknownSince: number | null;
  /** Events so far: the `sequence` of the last one. */
  sequence: number;
  /** Retries asked for by `POST /v1/messages/:id/retry`. */
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

/** Names a sender and a recipient: what goes between the two is handed over in the order of acceptance. */
export function pairOf({ from, to }: Pick<Message, "from" | "to">): string {
  return `${from} ${to}`;
}

/** Two addresses of media or more are a carousel. */
export function messageTypeOf(mediaUrls: readonly unknown[], attachments: readonly unknown[]): MessageType {
  if (mediaUrls.length > 1) return "carousel";
  return mediaUrls.length + attachments.length > 0 ? "media" : "text";
}

/** State of a hand-over that has not happened yet. */
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

/** What is the same for every outbound message that nothing has happened to yet. */
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
  chatId: null,
  effect: null,
  replyTo: null,
  parentMessageId: null,
  mentions: [] as Mention[],
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
