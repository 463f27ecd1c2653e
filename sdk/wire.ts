/** Every shape, code and event name of the API. Generated from contract/ by `npm run wire`: change it there. */

/** A JSON object of the caller's own. */
export type Metadata = Record<string, unknown>;

/** Envelope of every success. */
export interface Success<Data> {
  success: true;
  data: Data;
  requestId: string;
}

export const EVENT_TYPES = [
  "message.queued",
  "message.sent",
  "message.delivered",
  "message.read",
  "message.failed",
  "message.fallback",
  "message.inbound",
  "message.scheduled",
  "message.schedule_cancelled",
  "typing.indicator",
  "payment.request.created",
  "payment.request.paid",
  "payment.request.cancelled",
  "payment.request.expired",
  "facetime.incoming",
  "facetime.status_changed",
  "message.reaction",
  "message.edited",
  "message.edit_failed",
  "message.unsent",
  "message.deleted",
  "message.audio_kept",
  "message.attachments_added",
  "chat.participant.added",
  "chat.participant.left",
  "chat.title.changed",
  "chat.photo.changed",
  "contact.opted_out",
  "contact.opted_in",
  "webhook.test",
] as const;

/** An event type, or `*` for every type. */
export type EventFilter =
  | "message.queued"
  | "message.sent"
  | "message.delivered"
  | "message.read"
  | "message.failed"
  | "message.fallback"
  | "message.inbound"
  | "message.scheduled"
  | "message.schedule_cancelled"
  | "typing.indicator"
  | "payment.request.created"
  | "payment.request.paid"
  | "payment.request.cancelled"
  | "payment.request.expired"
  | "facetime.incoming"
  | "facetime.status_changed"
  | "message.reaction"
  | "message.edited"
  | "message.edit_failed"
  | "message.unsent"
  | "message.deleted"
  | "message.audio_kept"
  | "message.attachments_added"
  | "chat.participant.added"
  | "chat.participant.left"
  | "chat.title.changed"
  | "chat.photo.changed"
  | "contact.opted_out"
  | "contact.opted_in"
  | "webhook.test"
  | "*";

/** Type of an event. */
export type EventType = (typeof EVENT_TYPES)[number];

/** Error codes with the HTTP status of each. */
export const ERROR_STATUS = {
  VALIDATION_ERROR: 400,
  INVALID_JSON: 400,
  INVALID_PHONE_NUMBER: 400,
  INVALID_RECIPIENT: 400,
  NO_DEFAULT_ADDRESS: 400,
  CHANNEL_NOT_SUPPORTED: 400,
  NO_CHANNEL_AVAILABLE: 400,
  GROUP_SMS_UNSUPPORTED: 400,
  INVALID_STATUS: 400,
  NOT_SCHEDULED: 400,
  INVALID_SCHEDULED_AT: 400,
  SCHEDULED_IN_PAST: 400,
  SCHEDULED_TOO_FAR: 400,
  UNAUTHORIZED: 401,
  FORBIDDEN: 403,
  ADDRESS_NOT_AUTHORIZED: 403,
  RECIPIENT_OPTED_OUT: 403,
  NOT_FOUND: 404,
  REPLY_NOT_FOUND: 404,
  CONVERSATION_NOT_FOUND: 404,
  WEBHOOK_NOT_FOUND: 404,
  WEBHOOK_NOT_CONFIGURED: 404,
  METHOD_NOT_ALLOWED: 405,
  REQUEST_TIMEOUT: 408,
  IDEMPOTENCY_KEY_REUSED: 409,
  ALREADY_UNSENT: 409,
  ALREADY_DELETED: 409,
  WEBHOOK_DUPLICATE: 409,
  CONTACT_DUPLICATE: 409,
  NUMBER_TAKEN: 409,
  OUTCOME_UNKNOWN: 409,
  CLOCK_LOCKED: 409,
  REPLAY_RUNNING: 409,
  CONVERSATION_NOT_READY: 409,
  PAYLOAD_TOO_LARGE: 413,
  URI_TOO_LONG: 414,
  UNSUPPORTED_MEDIA_TYPE: 415,
  RATE_LIMITED: 429,
  HEADERS_TOO_LARGE: 431,
  INTERNAL_ERROR: 500,
  PROVIDER_ERROR: 502,
  EDIT_FAILED: 502,
  SERVICE_UNAVAILABLE: 503,
  PROVIDER_TIMEOUT: 504,
} as const;

/** Decide by this code: its meaning never changes. */
export type ErrorCode = keyof typeof ERROR_STATUS;

/** One invalid field of a request. */
export interface ErrorDetail {
  /** The field, such as `content.text`. */
  path: string;
  /** The rule that the field breaks. */
  message: string;
}

/** Envelope of every error. */
export interface Failure {
  /** Always false. */
  success: false;
  /** The error. */
  error: {
    /** Decide by this code: its meaning never changes. */
    code: ErrorCode;
    /** Explanation for people; its wording may change. */
    message: string;
    /** Every invalid field, at most 100. */
    details?: ErrorDetail[];
  };
  /** Id of the request in the log of the service. */
  requestId: string;
}

export const CHANNELS = ["imessage", "sms", "rcs"] as const;

/** A channel that carries messages. Contacts write by RCS; no provider sends it. */
export type Channel = (typeof CHANNELS)[number];

/** Response of a deletion. */
export interface Deleted {
  /** Id of the deleted record. */
  id: string;
  /** Always true. */
  deleted: true;
}

/** Body of an action that has no parameters. */
export interface IdempotentRequest {
  /** A repeat of the request with the same key does nothing twice. */
  idempotencyKey?: string;
}

/** Position of a page in its list. */
export interface Pagination {
  /** Whether there is another page. */
  hasMore: boolean;
  /** The `cursor` of the next page; null on the last page. */
  nextCursor: string | null;
}

/** Attachments that one message can have. */
export const ATTACHMENTS_MAX = 20;

export const ATTACHMENT_SOURCES = ["url", "base64"] as const;

/** A file of a message. */
export interface Attachment {
  /** Id of the file. */
  guid: string;
  /** MIME type of the file. */
  mimeType: string | null;
  /** Name of the file. */
  filename: string | null;
  /** Size of the file in bytes. */
  totalBytes: number | null;
  /** Where to download the file, without a key; null if the service does not keep it. */
  downloadUrl: string | null;
  /** The message names the file, which has not come; `message.attachments_added` tells when it comes within a day. */
  missing?: true;
}

/** A file to send (iMessage): its HTTPS URL, or its bytes as base64. */
export interface AttachmentInput {
  /** `url`: the service fetches the file. `base64`: the request holds it. */
  type: "url" | "base64";
  /** HTTPS URL of the file, fetched when the message is sent; required with `url`. */
  url?: string;
  /** The bytes of the file; required with `base64`. */
  data?: string;
  /** MIME type of the file; its content decides if the two differ. */
  mimeType?: string;
  /** Name of the file. */
  filename?: string;
  /** Whether the file is a voice message. */
  isAudioMessage?: boolean;
}

export const ATTACHMENTS_RULES = ["drop", "require"] as const;

/** Response of `POST /v1/messages/carousel`. */
export interface AcceptedCarousel {
  /** Opaque id; ids sort by creation. */
  id: string;
  /** Status of the message. */
  status: OutboundStatus;
  /** Address of the recipient. */
  to: string;
  /** Address of the sender. */
  from: string;
  /** Channel that was used, or the planned one until one is used. */
  channel: Channel;
  /** When the message is, or was, to be sent; null if it was not scheduled. */
  scheduledAt: string | null;
  /** Your own identifier of the message. */
  externalMessageId: string | null;
  /** When the message was accepted. */
  createdAt: string;
  /** Kind of the message. */
  messageType: MessageType;
  /** Number of images. */
  imageCount: number;
}

/** Response of `POST /v1/messages`. */
export interface AcceptedMessage {
  /** Opaque id; ids sort by creation. */
  id: string;
  /** Status of the message. */
  status: OutboundStatus;
  /** Address of the recipient. */
  to: string;
  /** Address of the sender. */
  from: string;
  /** Channel that was used, or the planned one until one is used. */
  channel: Channel;
  /** When the message is, or was, to be sent; null if it was not scheduled. */
  scheduledAt: string | null;
  /** Your own identifier of the message. */
  externalMessageId: string | null;
  /** When the message was accepted. */
  createdAt: string;
}

/** The rule for a message with files on a channel that does not carry them. `drop`: its text goes without them. `require`: the channel is not used. */
export type AttachmentsRule = (typeof ATTACHMENTS_RULES)[number];

/** Response of `POST /v1/messages?dryRun=true`: the plan of the message. Nothing is stored or sent. */
export interface DryRun {
  /** Always true. */
  dryRun: true;
  /** Address of the recipient. */
  to: string;
  /** Address of the sender. */
  from: string;
  /** The channel that would be tried first; null if none can be. */
  channel: Channel | null;
  /** The provider instance that would send it first; null if none can. */
  instanceId: string | null;
  /** Why this channel and this instance. */
  reason: string;
  /** Files that this channel and this instance would not send. */
  attachmentsDropped: number;
  /** Every way considered, in the order in which they would be tried. */
  hops: PlannedHop[];
  /** Number of SMS segments of its text; null if no SMS can be sent, or without a text. */
  segments: number | null;
  /** Encoding of the SMS; null if no SMS can be sent. */
  encoding: Encoding | null;
  /** When the message would be sent, if it is scheduled. */
  scheduledAt: string | null;
  /** When the quiet hours that hold the message end; null if none hold it. */
  quietUntil: string | null;
}

export const EFFECTS = [
  "slam",
  "loud",
  "gentle",
  "invisibleInk",
  "echo",
  "spotlight",
  "balloons",
  "confetti",
  "love",
  "lasers",
  "fireworks",
] as const;

export const ENCODINGS = ["GSM-7", "Latin-1", "UCS-2"] as const;

/** Longest identifier of the caller's own, in characters. */
export const EXTERNAL_ID_LENGTH_MAX = 255;

/** Effect of an iMessage; ignored on SMS. */
export type Effect = (typeof EFFECTS)[number];

/** Encoding of an SMS: seven bits of GSM 03.38, ISO 8859-1, or UTF-16. */
export type Encoding = (typeof ENCODINGS)[number];

/** Media that one message can have. */
export const MEDIA_URLS_MAX = 20;

export const MESSAGE_TYPES = ["text", "media", "carousel"] as const;

/** A part of the text that names somebody in the conversation. */
export interface Mention {
  /** Phone number or e-mail address of the person. */
  address: string;
  /** Start of the part, in UTF-16 units. */
  start: number;
  /** Length of the part, in UTF-16 units. */
  length: number;
}

/** Kind of a message. */
export type MessageType = (typeof MESSAGE_TYPES)[number];

export const OUTBOUND_STATUSES = [
  "scheduled",
  "queued",
  "pending",
  "sent",
  "delivered",
  "read",
  "failed",
  "cancelled",
  "unsent",
] as const;

/** Status of an outbound message. `pending`: a provider was asked to send it and has not answered yet. */
export type OutboundStatus = (typeof OUTBOUND_STATUSES)[number];

/** One channel and instance that routing considers for a message. */
export interface PlannedHop {
  /** The channel. */
  channel: Channel;
  /** The provider instance; null if the channel has none. */
  instanceId: string | null;
  /** Whether the message would be tried this way. */
  usable: boolean;
  /** Files that would not be sent this way. */
  attachmentsDropped: number;
  /** Why, or why not. */
  reason: string;
}

/** Which channels to try, and when to give one up. */
export interface Routing {
  /** Files on a channel without files, such as most SMS: `drop` sends the text without them (default with a text), `require` does not use the channel (default without a text). */
  attachments?: AttachmentsRule;
  /** Channels in the order in which they are tried. */
  preference?: Channel[];
  /** Whether to try the next channel when one is given up. Default: true. */
  fallback?: boolean;
  /** Gives a channel up after this time without a delivery. Default: never, or as configured. */
  fallbackAfterSeconds?: number;
}

/** Body of `POST /v1/messages/carousel`: exactly one of `to` and `chatId`. */
export interface SendCarousel {
  /** The recipient: a phone number, an iMessage e-mail, or a chat id. A phone in either of its two written forms (Mexico, Argentina, Brazil, Benin, Ivory Coast) is one person. */
  to?: string;
  /** The chat to send to, in place of `to`. */
  chatId?: string;
  /** Alias of `chatId`, accepted in requests only. */
  conversationId?: string;
  /** One of your numbers. Default: the number of the newest conversation with the recipient, else your default number. */
  from?: string;
  /** Files to send; `routing.attachments` says what happens on channels without files. */
  attachments?: AttachmentInput[];
  /** Id of the message that this one replies to. */
  replyTo?: string;
  /** Effect on the recipient's iPhone; ignored on SMS. */
  effect?: Effect;
  /** Parts of the text that name people in the conversation. */
  mentions?: Mention[];
  /** Whether to create a contact for the recipient if none exists. */
  createContact?: boolean;
  /** Which channels to try, and when to give one up. */
  routing?: Routing;
  /** When to send the message: ISO 8601 with an offset or `Z`, at most 30 days ahead. */
  scheduledAt?: string;
  /** A repeat of the request with the same key does nothing twice. */
  idempotencyKey?: string;
  /** Your own identifier of the message: in events, and a filter. Need not be unique. */
  externalMessageId?: string;
  /** URL that receives every event of this message, whatever webhooks subscribe to. */
  callbackUrl?: string;
  /** Your own JSON object, returned unchanged: at most 50 keys and 16 KiB. */
  metadata?: Metadata;
  /** HTTPS URLs of 2 to 20 images. */
  mediaUrls: string[];
  /** Text to send with the images. */
  text?: string;
}

/** Body of `POST /v1/messages`: exactly one of `to` and `chatId`, and a text, media or attachments. */
export interface SendMessage {
  /** The recipient: a phone number, an iMessage e-mail, or a chat id. A phone in either of its two written forms (Mexico, Argentina, Brazil, Benin, Ivory Coast) is one person. */
  to?: string;
  /** The chat to send to, in place of `to`. */
  chatId?: string;
  /** Alias of `chatId`, accepted in requests only. */
  conversationId?: string;
  /** One of your numbers. Default: the number of the newest conversation with the recipient, else your default number. */
  from?: string;
  /** Files to send; `routing.attachments` says what happens on channels without files. */
  attachments?: AttachmentInput[];
  /** Id of the message that this one replies to. */
  replyTo?: string;
  /** Effect on the recipient's iPhone; ignored on SMS. */
  effect?: Effect;
  /** Parts of the text that name people in the conversation. */
  mentions?: Mention[];
  /** Whether to create a contact for the recipient if none exists. */
  createContact?: boolean;
  /** Which channels to try, and when to give one up. */
  routing?: Routing;
  /** When to send the message: ISO 8601 with an offset or `Z`, at most 30 days ahead. */
  scheduledAt?: string;
  /** A repeat of the request with the same key does nothing twice. */
  idempotencyKey?: string;
  /** Your own identifier of the message: in events, and a filter. Need not be unique. */
  externalMessageId?: string;
  /** URL that receives every event of this message, whatever webhooks subscribe to. */
  callbackUrl?: string;
  /** Your own JSON object, returned unchanged: at most 50 keys and 16 KiB. */
  metadata?: Metadata;
  /** Text and media. */
  content?: {
    /** 1 to 10,000 characters; optional if the message has media or attachments. */
    text?: string;
    /** HTTPS URLs of images; two or more make a carousel. */
    mediaUrls?: string[];
    /** Alias of `content.mediaUrls`, accepted in requests only. */
    mediaUrl?: string;
  };
}

/** Options of every request that sends a message. */
export interface SendOptions {
  /** One of your numbers. Default: the number of the newest conversation with the recipient, else your default number. */
  from?: string;
  /** Files to send; `routing.attachments` says what happens on channels without files. */
  attachments?: AttachmentInput[];
  /** Id of the message that this one replies to. */
  replyTo?: string;
  /** Effect on the recipient's iPhone; ignored on SMS. */
  effect?: Effect;
  /** Parts of the text that name people in the conversation. */
  mentions?: Mention[];
  /** Whether to create a contact for the recipient if none exists. */
  createContact?: boolean;
  /** Which channels to try, and when to give one up. */
  routing?: Routing;
  /** When to send the message: ISO 8601 with an offset or `Z`, at most 30 days ahead. */
  scheduledAt?: string;
  /** A repeat of the request with the same key does nothing twice. */
  idempotencyKey?: string;
  /** Your own identifier of the message: in events, and a filter. Need not be unique. */
  externalMessageId?: string;
  /** URL that receives every event of this message, whatever webhooks subscribe to. */
  callbackUrl?: string;
  /** Your own JSON object, returned unchanged: at most 50 keys and 16 KiB. */
  metadata?: Metadata;
}

/** Longest text of a message, in characters. */
export const TEXT_LENGTH_MAX = 10000;

export const DIRECTIONS = ["outbound", "inbound"] as const;

/** Direction of a message, as seen from your number. */
export type Direction = (typeof DIRECTIONS)[number];

/** Body of `PUT /v1/messages/:id`. */
export interface EditMessage {
  /** The new text. */
  text?: string;
  /** Alias of `text`, accepted in requests only. */
  content?: {
    /** Alias of `text`, accepted in requests only. */
    text: string;
  };
  /** Text for phones that do not support edits. */
  backwardsCompatibilityMessage?: string;
}

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

export const MESSAGE_ORIGINS = ["api", "device", "service"] as const;

export const MESSAGE_STATUSES = [
  "scheduled",
  "queued",
  "pending",
  "sent",
  "delivered",
  "read",
  "failed",
  "cancelled",
  "unsent",
  "received",
] as const;

/** A message, as `GET /v1/messages/:id` returns it. */
export interface Message {
  /** Opaque id; ids sort by creation. */
  id: string;
  /** Status of the message. */
  status: MessageStatus;
  /** Address of the recipient. */
  to: string;
  /** Address of the sender. */
  from: string;
  /** Channel that was used, or the planned one until one is used. */
  channel: Channel;
  /** When the message is, or was, to be sent; null if it was not scheduled. */
  scheduledAt: string | null;
  /** Your own identifier of the message. */
  externalMessageId: string | null;
  /** When the message was accepted. */
  createdAt: string;
  /** Whether you sent or received the message. */
  direction: Direction;
  /** `api`: a request. `service`: the service itself, as `confirmation` or `help` of opt-outs. `device`: a person wrote it in Messages on the Mac; it is `sent`, and no receipt changes that. Null for an inbound message. */
  origin: MessageOrigin | null;
  /** The chat that the message belongs to. */
  chatId: string | null;
  /** Kind of the message. */
  messageType: MessageType;
  /** Text and media. */
  content: {
    /** The text; null if there is none. */
    text: string | null;
    /** HTTPS URLs of its images. */
    mediaUrls: string[];
  };
  /** Files of the message. */
  attachments: Attachment[];
  /** Files that are not sent: the channel used, or the planned one, does not carry them. */
  attachmentsDropped: number;
  /** Your own JSON object, as you sent it. */
  metadata: Metadata | null;
  /** Effect on the recipient's iPhone. */
  effect: Effect | null;
  /** `replyTo` of the request; null for an inbound message. */
  replyTo: string | null;
  /** Id of the message that this one replies to, in both directions, if it is known here. */
  parentMessageId: string | null;
  /** Whether a channel was given up. */
  fallbackTriggered: boolean;
  /** The provider's id of the message. */
  providerMessageId: string | null;
  /** Why the message failed, or was sent without its files. */
  errorCode: MessageErrorCode | null;
  /** The same as `errorCode`, in words. */
  errorMessage: string | null;
  /** The provider's own error code. */
  providerErrorCode: string | null;
  /** Number of SMS segments; null on other channels. */
  segments: number | null;
  /** Encoding of the SMS; null on other channels. */
  encoding: Encoding | null;
  /** When a provider accepted the message. */
  sentAt: string | null;
  /** When the message reached the recipient's device. */
  deliveredAt: string | null;
  /** When the recipient opened the message. */
  readAt: string | null;
  /** When the record was last changed. */
  updatedAt: string;
  /** How often the message was retried by hand. */
  retryCount: number;
  /** Every status and channel that the message has had. */
  timeline: TimelineEntry[];
}

/** Why a message failed. `ATTACHMENT_FAILED` also occurs on a message that was sent without its files. */
export type MessageErrorCode = (typeof MESSAGE_ERROR_CODES)[number];

/** A page of messages. */
export interface MessageList {
  /** The messages of this page. */
  messages: Message[];
  /** With `updatedAfter` only: ids of changed messages that are deleted. */
  deleted?: string[];
  /** Where the list continues. */
  pagination: Pagination;
}

/** Who caused an outbound message. */
export type MessageOrigin = (typeof MESSAGE_ORIGINS)[number];

/** Status of a message. An inbound message is `received`, and `unsent` once its sender unsent it. */
export type MessageStatus = (typeof MESSAGE_STATUSES)[number];

export const REACTIONS = ["love", "like", "dislike", "laugh", "emphasize", "question"] as const;

export const REACTION_COMMANDS = [
  "love",
  "like",
  "dislike",
  "laugh",
  "emphasize",
  "question",
  "-love",
  "-like",
  "-dislike",
  "-laugh",
  "-emphasize",
  "-question",
] as const;

/** Body of `POST /v1/messages/:id/reactions`. */
export interface React {
  /** One of the six reactions or one emoji; with a minus it removes the reaction. */
  type?: ReactionCommand;
  /** Alias of `type`, accepted in requests only. */
  reaction?: ReactionCommand;
  /** A repeat of the request with the same key does nothing twice. */
  idempotencyKey?: string;
}

/** Response of `POST /v1/messages/:id/reactions`. */
export interface Reacted {
  /** The message. */
  messageId: string;
  /** The reaction as requested; an emoji in its full form. */
  reaction: ReactionCommand;
}

/** A reaction of iMessage. */
export type Reaction = (typeof REACTIONS)[number];

/** One of the six reactions or one emoji; with a minus it removes the reaction. */
export type ReactionCommand = (typeof REACTION_COMMANDS)[number] | (string & Record<never, never>);

/** Body of `POST /v1/messages/:id/retry`. */
export interface RetryMessage {
  /** Accepts that the message may be sent twice; required after `OUTCOME_UNKNOWN`. */
  mayDuplicate?: boolean;
  /** A repeat of the request with the same key does nothing twice. */
  idempotencyKey?: string;
}

/** One step in the life of a message. */
export interface TimelineEntry {
  /** Status that the message reached. */
  status: MessageStatus;
  /** When the message reached it. */
  at: string;
  /** When it did in real time, if the sandbox's clock was ahead. */
  realAt?: string;
  /** Channel that was used or planned. */
  channel: Channel;
  /** Why, if there is a reason. */
  reason?: string;
  /** The provider instance. */
  instanceId?: string;
}

/** Body of `PATCH /v1/messages/:id`, for a scheduled message: an absent field stays as it is. */
export interface UpdateMessage {
  /** Text and media. `mediaUrls: []` removes the media. */
  content?: {
    /** 1 to 10,000 characters; optional if the message has media or attachments. */
    text?: string;
    /** HTTPS URLs of images; two or more make a carousel. */
    mediaUrls?: string[];
    /** Alias of `content.mediaUrls`, accepted in requests only. */
    mediaUrl?: string;
  };
  /** When to send the message: ISO 8601 with an offset or `Z`, at most 30 days ahead. */
  scheduledAt?: string;
  /** Your own JSON object, which replaces the present one; null removes it. */
  metadata?: Metadata | null;
}

/** `data` of `message.attachments_added`. */
export type AttachmentsAddedEventData = {
  /** The message, whose record holds all of its files. */
  messageId: string;
  /** Address of the sender. */
  from: string;
  /** Address of the recipient. */
  to: string;
  /** Channel that was used, or the planned one until one is used. */
  channel: Channel;
  /** The chat that received the message. */
  chatId: string | null;
  /** The files that came, and no others. */
  attachments: Attachment[];
  /** Number of the event within its message, from 1: order events by it. */
  sequence: number;
  /** Correlation id of the request that led to the event. */
  correlationId: string;
};

export const FALLBACK_REASONS = ["NOT_REACHABLE", "REJECTED", "NO_DELIVERY"] as const;

/** Why a channel was given up. */
export type FallbackReason = (typeof FALLBACK_REASONS)[number];

/** `data` of `message.inbound`. */
export type InboundEventData = {
  /** The message. */
  messageId: string;
  /** Address of the sender. */
  from: string;
  /** Address of the recipient. */
  to: string;
  /** The text; null if there is none. */
  text: string | null;
  /** Channel that was used, or the planned one until one is used. */
  channel: Channel;
  /** Number of the event within its message, from 1: order events by it. */
  sequence: number;
  /** Correlation id of the request that led to the event. */
  correlationId: string;
  /** When the message is, or was, to be sent. */
  scheduledAt?: string;
  /** When the message reached the recipient's device. */
  deliveredAt?: string;
  /** When the recipient opened the message. */
  readAt?: string;
  /** Why the message failed, or was sent without its files. */
  errorCode?: MessageErrorCode;
  /** Why the message failed, with a sentence for people. */
  error?: {
    /** The same as `errorCode`. */
    code: MessageErrorCode;
    /** Explanation for people; its wording may change. */
    message: string;
  };
  /** Whether the message may have been sent although it failed. */
  mayHaveBeenSent?: boolean;
  /** The channel that was given up. */
  fallbackFrom?: Channel;
  /** Why. */
  reason?: string;
  /** When the message was last edited. */
  editedAt?: string;
  /** Id of the message that this one replies to. */
  parentMessageId: string | null;
  /** Files of the message. */
  attachments: Attachment[];
  /** The group that received the message; absent for a one-to-one thread. */
  chatId?: string;
  /** The text was longer than 64 KiB, and was cut there at a character. */
  textTruncated?: true;
};

/** `data` of every `message.*` event of an outbound message. */
export type MessageEventData = {
  /** The message. */
  messageId: string;
  /** Address of the sender. */
  from: string;
  /** Address of the recipient. */
  to: string;
  /** The text; null if there is none. */
  text: string | null;
  /** Channel that was used, or the planned one until one is used. */
  channel: Channel;
  /** Number of the event within its message, from 1: order events by it. */
  sequence: number;
  /** Correlation id of the request that led to the event. */
  correlationId: string;
  /** When the message is, or was, to be sent. */
  scheduledAt?: string;
  /** When the message reached the recipient's device. */
  deliveredAt?: string;
  /** When the recipient opened the message. */
  readAt?: string;
  /** Why the message failed, or was sent without its files. */
  errorCode?: MessageErrorCode;
  /** Why the message failed, with a sentence for people. */
  error?: {
    /** The same as `errorCode`. */
    code: MessageErrorCode;
    /** Explanation for people; its wording may change. */
    message: string;
  };
  /** Whether the message may have been sent although it failed. */
  mayHaveBeenSent?: boolean;
  /** The channel that was given up. */
  fallbackFrom?: Channel;
  /** Why. */
  reason?: string;
  /** When the message was last edited. */
  editedAt?: string;
  /** Id of the message that this one replies to. */
  parentMessageId?: string;
  /** Files of the message. */
  attachments?: Attachment[];
  /** Files that are not sent, as the channel does not carry them; absent if there are none. */
  attachmentsDropped?: number;
  /** Your own identifier of the message. */
  externalMessageId?: string;
  /** Who caused an outbound message, if that was no request of yours. */
  origin?: MessageOrigin;
  /** The provider's id; absent until the provider has accepted the message. */
  providerMessageId?: string;
  /** Your own JSON object, as you sent it. */
  metadata?: Metadata;
  /** Status of the message. */
  status: OutboundStatus;
};

/** `data` of `message.reaction`. */
export type ReactionEventData = {
  /** The message that was reacted to; null if it is not known here. */
  messageId: string | null;
  /** The reaction. */
  reaction: {
    /** One of the six; `emoji` for any other; `remove` when the contact removed it. */
    type: "love" | "like" | "dislike" | "laugh" | "emphasize" | "question" | "emoji" | "remove";
    /** With the type `emoji`: the emoji; absent if the provider does not say which. */
    emoji?: string;
    /** The same as `messageId`. */
    targetMessageId: string | null;
    /** The line that phones without support for reactions show. */
    content: string;
  };
  /** Address of the sender. */
  from: string;
  /** Address of the recipient. */
  to: string;
  /** Channel that was used, or the planned one until one is used. */
  channel: Channel;
  /** Number of the event within its message, from 1: order events by it. */
  sequence: number;
  /** Correlation id of the request that led to the event. */
  correlationId: string;
  /** Your own identifier of the message. */
  externalMessageId?: string;
  /** The provider's id of the message, if the message is outbound. */
  providerMessageId?: string;
  /** Your own JSON object, as you sent it. */
  metadata?: Metadata;
};

/** `data` of `message.edited`, `message.unsent` and `message.deleted`. */
export type RevisionEventData = {
  /** The message. */
  messageId: string;
  /** Address of the sender. */
  from: string;
  /** Address of the recipient. */
  to: string;
  /** The text; null if there is none. */
  text: string | null;
  /** Channel that was used, or the planned one until one is used. */
  channel: Channel;
  /** Number of the event within its message, from 1: order events by it. */
  sequence: number;
  /** Correlation id of the request that led to the event. */
  correlationId: string;
  /** When the message is, or was, to be sent. */
  scheduledAt?: string;
  /** When the message reached the recipient's device. */
  deliveredAt?: string;
  /** When the recipient opened the message. */
  readAt?: string;
  /** Why the message failed, or was sent without its files. */
  errorCode?: MessageErrorCode;
  /** Why the message failed, with a sentence for people. */
  error?: {
    /** The same as `errorCode`. */
    code: MessageErrorCode;
    /** Explanation for people; its wording may change. */
    message: string;
  };
  /** Whether the message may have been sent although it failed. */
  mayHaveBeenSent?: boolean;
  /** The channel that was given up. */
  fallbackFrom?: Channel;
  /** Why. */
  reason?: string;
  /** When the message was last edited. */
  editedAt?: string;
  /** Id of the message that this one replies to. */
  parentMessageId?: string;
  /** Files of the message. */
  attachments?: Attachment[];
  /** Files that are not sent, as the channel does not carry them; absent if there are none. */
  attachmentsDropped?: number;
  /** Your own identifier of the message. */
  externalMessageId?: string;
  /** Who caused an outbound message, if that was no request of yours. */
  origin?: MessageOrigin;
  /** The provider's id; absent until the provider has accepted the message. */
  providerMessageId?: string;
  /** Your own JSON object, as you sent it. */
  metadata?: Metadata;
  /** Status of an outbound message; absent for an inbound one. */
  status?: OutboundStatus;
  /** The text was longer than 64 KiB, and was cut there at a character. */
  textTruncated?: true;
};

/** Body of `POST /v1/chats/:id/participants`. */
export interface AddParticipant {
  /** Phone number or iMessage e-mail of the participant. */
  participant?: string;
  /** Alias of `participant`, accepted in requests only. */
  phoneNumber?: string;
  /** A repeat of the request with the same key does nothing twice. */
  idempotencyKey?: string;
}

/** A conversation. `guid`, `chatId` and `conversationId` equal `id`. */
export interface Chat {
  /** Opaque id; ids sort by creation. */
  id: string;
  /** The same as `id`. */
  guid: string;
  /** The same as `id`. */
  chatId: string;
  /** The same as `id`. */
  conversationId: string;
  /** Name of the group; null for a one-to-one thread. */
  name: string | null;
  /** Addresses of everybody in the chat except you. */
  participants: string[];
  /** Whether the chat is a group. */
  isGroup: boolean;
  /** Your number in the chat. */
  from: string;
  /** Channel of the chat. */
  channel: Channel;
  /** When the last message was sent or received. */
  lastMessageAt: string | null;
  /** When the record was created. */
  createdAt: string;
  /** When the record was last changed. */
  updatedAt: string;
}

/** `data` of `chat.*` events. */
export type ChatEventData = {
  /** The group. */
  chatId: string;
  /** Address of the participant who was added, left or was removed. */
  participant?: string;
  /** The new name; null when the name was removed. */
  title?: string | null;
  /** Address of the person who made the change; null if it is not known. */
  actor: string | null;
  /** Your number in the group. */
  to: string;
  /** Channel of the group. */
  channel: Channel;
};

/** A page of chats. */
export interface ChatList {
  /** The chats of this page. */
  chats: Chat[];
  /** Where the list continues. */
  pagination: Pagination;
}

/** Body of `POST /v1/chats/groups`. */
export interface CreateGroup {
  /** Name of the group. */
  name?: string;
  /** 2 to 32 phone numbers or iMessage e-mails. */
  participants: string[];
  /** One of your numbers. Default: your default number. */
  from?: string;
  /** A repeat of the request with the same key does nothing twice. */
  idempotencyKey?: string;
}

/** Most participants of a group beside your own number. */
export const GROUP_MAX = 32;

/** Fewest participants of a group beside your own number. */
export const GROUP_MIN = 2;

/** Longest name of a group, in characters. */
export const GROUP_NAME_LENGTH_MAX = 200;

/** Body of `PUT /v1/chats/:id/name`. */
export interface RenameChat {
  /** The new name. */
  name: string;
}

/** Body of `POST /v1/chats/:id/typing`; without a body: `start`. */
export interface SetTyping {
  /** Whether you start or stop typing. Default: `start`. */
  status?: TypingStatus;
  /** A repeat of the request with the same key does nothing twice. */
  idempotencyKey?: string;
}

export const TYPING_STATUSES = ["start", "stop"] as const;

/** Response of `POST /v1/chats/:id/typing`. */
export interface Typing {
  /** The chat. */
  chatId: string;
  /** Whether you are typing. */
  status: TypingStatus;
}

/** `data` of `typing.indicator`. */
export type TypingEventData = {
  /** The chat. */
  chatId: string;
  /** The same as `chatId`. */
  chatGuid: string;
  /** Address of the contact who types. */
  from: string;
  /** Your number. */
  to: string;
  /** Channel of the chat. */
  channel: Channel;
  /** Whether the contact is typing. */
  typing: boolean;
};

/** Whether typing starts or stops. */
export type TypingStatus = (typeof TYPING_STATUSES)[number];

/** A contact. */
export interface Contact {
  /** Opaque id; ids sort by creation. */
  id: string;
  /** Given name. */
  firstName: string | null;
  /** Family name. */
  lastName: string | null;
  /** Phone number in E.164 form. */
  phoneNumber: string | null;
  /** E-mail address that iMessage knows. */
  email: string | null;
  /** Company. */
  company: string | null;
  /** Your own words to find the contact by. */
  tags: string[];
  /** Your own JSON object, as you sent it. */
  metadata: Metadata | null;
  /** When a message was last sent to or received from one of its addresses. */
  lastContactedAt: string | null;
  /** When the record was created. */
  createdAt: string;
  /** When the record was last changed. */
  updatedAt: string;
}

/** A page of contacts. */
export interface ContactList {
  /** The contacts of this page. */
  contacts: Contact[];
  /** Position of the page in the list. */
  pagination: {
    /** Number of contacts that match. */
    total: number;
    /** The most contacts on a page. */
    limit: number;
    /** Number of contacts that were skipped. */
    offset: number;
    /** Whether there is another page. */
    hasMore: boolean;
  };
}

/** Body of `POST /v1/contacts`: at least one of `phoneNumber` and `email`. */
export interface CreateContact {
  /** Given name. */
  firstName?: string | null;
  /** Family name. */
  lastName?: string | null;
  /** Phone number in E.164 form, such as `+15005550100`. */
  phoneNumber?: string | null;
  /** E-mail address that iMessage knows. */
  email?: string | null;
  /** Company. */
  company?: string | null;
  /** Your own words to find the contact by. */
  tags?: string[];
  /** Your own JSON object, returned unchanged: at most 50 keys and 16 KiB. */
  metadata?: Metadata | null;
  /** A repeat of the request with the same key does nothing twice. */
  idempotencyKey?: string;
}

/** Body of `POST /v1/contacts/bulk`. */
export interface CreateContacts {
  /** 1 to 100 contacts, without an `idempotencyKey` of their own. */
  contacts: UpdateContact[];
  /** A repeat of the request with the same key does nothing twice. */
  idempotencyKey?: string;
}

/** Response of `POST /v1/contacts/bulk`. */
export interface CreatedContacts {
  /** Number of contacts that were created. */
  created: number;
  /** Number of contacts that were not. */
  failed: number;
  /** The contacts that were not created, and why. */
  errors: {
    /** Position of the contact in the request, from 0. */
    index: number;
    /** The problem. */
    error: string;
  }[];
}

/** Body of `DELETE /v1/contacts/bulk`. */
export interface DeleteContacts {
  /** 1 to 100 ids of contacts. */
  ids: string[];
}

/** Response of `DELETE /v1/contacts/:id`. */
export interface DeletedContact {
  /** Id of the deleted record. */
  id: string;
  /** Always true. */
  deleted: true;
  /** With `erase=true` only: when everything was erased; null until then. */
  erasedAt?: string | null;
}

/** Response of `DELETE /v1/contacts/bulk`. */
export interface DeletedContacts {
  /** Number of contacts that were deleted. */
  deleted: number;
}

/** Response of `GET /v1/contacts/:phone/facetime`. */
export interface FacetimeAvailability {
  /** The address, as requested. */
  phoneNumber: string;
  /** Whether the contact can be called by FaceTime. */
  available: boolean;
  /** Whether the response comes from a cache. */
  cached: boolean;
}

/** Response of `GET /v1/contacts/:phone/focus`. */
export interface Focus {
  /** The address, as requested. */
  phoneNumber: string;
  /** Whether the contact silences notifications; false if that is not known. */
  focused: boolean;
  /** The same as `focused`. */
  focusActive: boolean;
  /** Name of the focus mode, if it is known. */
  focusMode?: string;
  /** Whether the response comes from a cache. */
  cached: boolean;
}

/** Response of `GET /v1/capabilities/:phone`. */
export interface PhoneCapabilities {
  /** The address, as requested. */
  phoneNumber: string;
  /** Which services reach the address. */
  capabilities: {
    /** Whether iMessage reaches the address. */
    imessage: boolean;
    /** Whether SMS reaches the address. */
    sms: boolean;
    /** Whether FaceTime reaches the address. */
    facetime: boolean;
  };
  /** The same as `capabilities.imessage`. */
  iMessage: boolean;
  /** The channel to send by; null if no channel reaches the address. */
  recommendedChannel: Channel | null;
  /** When a provider was last asked. */
  lastChecked: string;
  /** Whether the response comes from a cache. */
  cached: boolean;
  /** Whether the contact silences notifications; false if that is not known. */
  focused: boolean;
  /** Name of the focus mode, if it is known. */
  focusMode?: string;
}

/** Body of `PUT /v1/contacts/:id`: an absent field stays as it is, null removes the value. */
export interface UpdateContact {
  /** Given name. */
  firstName?: string | null;
  /** Family name. */
  lastName?: string | null;
  /** Phone number in E.164 form, such as `+15005550100`. */
  phoneNumber?: string | null;
  /** E-mail address that iMessage knows. */
  email?: string | null;
  /** Company. */
  company?: string | null;
  /** Your own words to find the contact by. */
  tags?: string[];
  /** Your own JSON object, returned unchanged: at most 50 keys and 16 KiB. */
  metadata?: Metadata | null;
}

export const OPT_OUT_SCOPES = ["customer", "number"] as const;

export const OPT_OUT_SOURCES = ["keyword", "provider", "api"] as const;

/** A contact that has opted out of messages, on every channel. */
export interface OptOut {
  /** The customer's number that the contact wrote to, or that the request named. */
  number: string;
  /** Address of the contact. */
  contact: string;
  /** `customer`: all numbers of the customer, present and future. `number`: this number. */
  scope: "customer" | "number";
  /** `keyword`: the contact wrote it. `provider`: the provider reported it. `api`: a request. */
  source: "keyword" | "provider" | "api";
  /** The word that the contact wrote; null if none is known. */
  keyword: string | null;
  /** When the record was created. */
  createdAt: string;
}

/** `data` of `contact.opted_out` and `contact.opted_in`. */
export type OptOutEventData = {
  /** Address of the contact. */
  contact: string;
  /** The number of the opt-out. */
  number: string;
  /** `customer`: all numbers of the customer, present and future. `number`: this number. */
  scope: "customer" | "number";
  /** The word that the contact wrote; null if none is known. */
  keyword: string | null;
  /** `keyword`: the contact wrote it. `provider`: the provider reported it. `api`: a request. */
  source: "keyword" | "provider" | "api";
  /** The reason that the request gave; null if there is none. */
  reason: string | null;
  /** Channel on which the contact wrote; null if the contact did not. */
  channel: Channel | null;
};

/** A page of opt-outs. */
export interface OptOutList {
  /** The opt-outs of this page. */
  optOuts: OptOut[];
  /** Where the list continues. */
  pagination: Pagination;
}

/** How a customer's contacts opt out and in again. */
export interface OptOutSettings {
  /** Scope of new opt-outs. Those that exist keep theirs. */
  scope: "customer" | "number";
  /** Words that opt a contact out, beside the fixed ones. */
  keywords: string[];
  /** All words that end an opt-out. */
  resume: string[];
  /** Text that confirms an opt-out by a word, once; null: none. */
  confirmation: string | null;
  /** Text that answers `HELP`, `INFO` and `AIDE`, at most once per contact and hour; null: none. */
  help: string | null;
}

/** Body of `PUT /v1/opt-outs/settings`: an absent field stays as it is. */
export interface SetOptOutSettings {
  /** Scope of new opt-outs. Those that exist keep theirs. */
  scope?: "customer" | "number";
  /** Words that opt a contact out, beside the fixed ones. */
  keywords?: string[];
  /** All words that end an opt-out. */
  resume?: string[];
  /** Text that confirms an opt-out by a word, once; null: none. */
  confirmation?: string | null;
  /** Text that answers `HELP`, `INFO` and `AIDE`, at most once per contact and hour; null: none. */
  help?: string | null;
}

/** Largest amount, in dollars. */
export const AMOUNT_MAX = 999999.99;

/** Smallest amount, in dollars. */
export const AMOUNT_MIN = 0.01;

export const PAYMENT_EVIDENCE = ["apple_cash", "text"] as const;

export const PAYMENT_STATUSES = ["pending", "paid", "cancelled", "expired"] as const;

/** Proof of a payment: a payment that the phone saw, or a sentence about one. */
export type PaymentEvidence = (typeof PAYMENT_EVIDENCE)[number];

/** A request for a payment. */
export type PaymentRequest = {
  /** Opaque id; ids sort by creation. */
  id: string;
  /** The message that asks for the payment. */
  messageId: string;
  /** Address of the contact who is to pay. */
  to: string;
  /** Your number. */
  from: string;
  /** Dollars with two decimals. */
  amount: string;
  /** US dollars. */
  currency: "USD";
  /** Purpose of the payment. */
  note: string | null;
  /** Status of the payment request. */
  status: PaymentStatus;
  /** Your own JSON object, as you sent it. */
  metadata: Metadata | null;
  /** The message that paid the request, and the kind of proof; null until then. */
  paidBy: {
    /** The message that carries the payment. */
    messageId: string;
    /** Kind of proof. */
    evidence: PaymentEvidence;
  } | null;
  /** Why the request was cancelled, if there is a reason. */
  reason: string | null;
  /** When the request expires. */
  expiresAt: string;
  /** When the request was paid. */
  paidAt: string | null;
  /** When the request was cancelled. */
  cancelledAt: string | null;
  /** When the record was created. */
  createdAt: string;
  /** When the record was last changed. */
  updatedAt: string;
};

/** A page of payment requests. */
export interface PaymentRequestList {
  /** The payment requests of this page. */
  requests: PaymentRequest[];
  /** Where the list continues. */
  pagination: Pagination;
}

/** Status of a payment request. */
export type PaymentStatus = (typeof PAYMENT_STATUSES)[number];

/** Body of `POST /v1/payments/request`. */
export interface RequestPayment {
  /** The contact who is to pay: a phone number or iMessage e-mail. A phone in either of its two written forms (Mexico, Argentina, Brazil, Benin, Ivory Coast) is one person. */
  to: string;
  /** One of your numbers. Default: the number of the newest conversation with the recipient, else your default number. */
  from?: string;
  /** Dollars, 0.01 to 999,999.99, with at most two decimals: a number or a decimal string. */
  amount: number | string;
  /** US dollars. */
  currency?: "USD";
  /** Purpose of the payment. */
  note?: string;
  /** URL that receives every event of this payment request, whatever webhooks subscribe to. */
  callbackUrl?: string;
  /** Your own JSON object, returned unchanged: at most 50 keys and 16 KiB. */
  metadata?: Metadata;
  /** A repeat of the request with the same key does nothing twice. */
  idempotencyKey?: string;
  /** How long the request stays open. Default: 30 days. */
  expiresInSeconds?: number;
}

export const CALL_STATUSES = ["incoming", "answered", "disconnected", "missed", "rejected", "failed"] as const;

/** A FaceTime call that was detected on one of your numbers. */
export interface Call {
  /** Opaque id; ids sort by creation. */
  id: string;
  /** The phone's own id of the call. */
  callUuid: string;
  /** Address of the person who calls. */
  from: string;
  /** Address of the other end. */
  caller: string;
  /** Address of the other end. */
  address: string;
  /** Your number. */
  to: string;
  /** Whether the call is without video. */
  isAudio: boolean;
  /** Whether the call is with video. */
  isVideo: boolean;
  /** Whether you are calling. */
  isOutgoing: boolean;
  /** Status of the call. */
  status: CallStatus;
  /** Every status that the call has had. */
  history: {
    /** Status that the call reached. */
    status: CallStatus;
    /** When it reached it. */
    at: string;
  }[];
  /** When the record was created. */
  createdAt: string;
  /** When the record was last changed. */
  updatedAt: string;
}

/** `data` of `facetime.*` events. */
export type CallEventData = {
  /** The call. */
  callId: string;
  /** The phone's own id of the call. */
  callUuid: string;
  /** Address of the person who calls. */
  from: string;
  /** Address of the other end. */
  caller: string;
  /** Address of the other end. */
  address: string;
  /** Your number. */
  to: string;
  /** Whether the call is without video. */
  isAudio: boolean;
  /** Whether the call is with video. */
  isVideo: boolean;
  /** Whether you are calling. */
  isOutgoing: boolean;
  /** Status of the call. */
  status: CallStatus;
};

/** A page of calls. */
export interface CallList {
  /** The calls of this page. */
  calls: Call[];
  /** Where the list continues. */
  pagination: Pagination;
}

/** Status of a FaceTime call. */
export type CallStatus = (typeof CALL_STATUSES)[number];

/** One attempt to deliver an event. */
export interface Attempt {
  /** When the attempt was made. */
  at: string;
  /** When it was made in real time, if the sandbox's clock was ahead. */
  realAt?: string;
  /** HTTP status of the receiver's response; null without a response. */
  status: number | null;
  /** Duration of the attempt in milliseconds. */
  durationMs: number;
  /** First 1 KiB of the receiver's response body. */
  response: string | null;
  /** Why there was no response; null if there was one. */
  error: string | null;
  /** Seconds that a 429 or 503 asked to wait by `Retry-After`, at most a day; null if it did not, or not in one of its forms. */
  retryAfterSeconds: number | null;
  /** Headers of the request by name, as they were sent, signatures included, without `Host`, `Content-Length` and `Connection`; null if there was no connection, or if the event is no longer stored. */
  requestHeaders: Record<string, string> | null;
}

/** Body of `POST /v1/webhooks`. */
export interface CreateWebhook {
  /** URL that receives the events: HTTPS, and a public address. */
  url: string;
  /** Event types to deliver, or `*` for every type. */
  events: EventFilter[];
  /** Signing secret, 1 to 256 characters of printable ASCII. Default: a generated one. */
  secret?: string;
  /** Display name. */
  name?: string;
  /** Most attempts in flight at once, 1 to 256. Default: `TB_WEBHOOK_CONCURRENCY` (64). */
  maxInFlight?: number;
  /** A repeat of the request with the same key does nothing twice. */
  idempotencyKey?: string;
}

export const DELIVERY_STATUSES = ["pending", "succeeded", "exhausted", "cancelled"] as const;

/** The delivery of one event to one URL. */
export interface Delivery {
  /** Opaque id; ids sort by creation. */
  id: string;
  /** The event. */
  eventId: string;
  /** Type of the event. */
  eventType: EventType;
  /** The message that the event is about; null if it is about none. */
  messageId: string | null;
  /** The endpoint; null for a `callbackUrl`. */
  webhookId: string | null;
  /** URL that receives the event. */
  url: string;
  /** Status of the delivery. */
  status: DeliveryStatus;
  /** The attempts so far, at most the newest 50. */
  attempts: Attempt[];
  /** When the next attempt is due; null if there will be none. */
  nextAttemptAt: string | null;
  /** When the record was created. */
  createdAt: string;
}

/** A page of deliveries. */
export interface DeliveryList {
  /** The deliveries of this page. */
  deliveries: Delivery[];
  /** Where the list continues. */
  pagination: Pagination;
}

/** Status of a delivery. */
export type DeliveryStatus = (typeof DELIVERY_STATUSES)[number];

export const REPLAY_STATUSES = ["running", "done", "stopped"] as const;

/** The last replay of an endpoint. */
export interface Replay {
  /** Opaque id; ids sort by creation. */
  id: string;
  /** `running` until all its deliveries are made: then `done`. `stopped` if you ended it. */
  status: ReplayStatus;
  /** Number of deliveries that it makes: exact for `only: failed`, else an estimate; null if an estimate takes too long. */
  deliveries: number | null;
  /** Start of the period. */
  since: string;
  /** End of the period, exclusive; null: the start of the replay. */
  until: string | null;
  /** Only events of these types; null: of every type. */
  types: EventType[] | null;
  /** `failed`: only events that the endpoint had not answered with 2xx; null: every event. */
  only: ReplayOnly | null;
  /** Number of deliveries that were made or taken up again so far. */
  made: number;
  /** Number of those that the endpoint answered with 2xx. */
  succeeded: number;
  /** Number of those that were given up or cancelled. */
  failed: number;
  /** When the replay began. */
  startedAt: string;
  /** When all deliveries were made, or the replay was stopped; null while it runs. */
  endedAt: string | null;
}

/** Body of `POST /v1/webhooks/:id/replay`. */
export interface ReplayEvents {
  /** Start of the period. */
  since: string;
  /** End of the period, exclusive. Default: now. */
  until?: string;
  /** Only events of these types. Default: every type. */
  types?: EventType[];
  /** `failed`: only events that the endpoint has not answered with 2xx, those it missed while it was paused included. Default: every event. */
  only?: ReplayOnly;
  /** A repeat of the request with the same key does nothing twice. */
  idempotencyKey?: string;
}

/** Restricts a replay. */
export type ReplayOnly = "failed";

/** Status of a replay. */
export type ReplayStatus = (typeof REPLAY_STATUSES)[number];

/** Body of the routes that rotate a signing secret. */
export interface RotateSecret {
  /** How long the old secret keeps signing. Default: 0; at most 7 days. */
  gracePeriodSeconds?: number;
  /** A repeat of the request with the same key does nothing twice. */
  idempotencyKey?: string;
}

/** Body of `PUT /v1/webhooks`. */
export interface SetWebhook {
  /** URL that receives the events: HTTPS, and a public address. */
  url: string;
  /** Event types to deliver, or `*` for every type. */
  events: EventFilter[];
  /** Signing secret, 1 to 256 characters of printable ASCII. Default: the present one, or a generated one. */
  secret?: string;
  /** Most attempts in flight at once, 1 to 256. Default: unchanged, or `TB_WEBHOOK_CONCURRENCY` (64) for a new endpoint. */
  maxInFlight?: number;
}

/** The customer's signing secret, in the fields of an endpoint: of one who has no primary endpoint, and gets events at a `callbackUrl`. */
export interface SigningSecret {
  /** Null: there is no primary endpoint. */
  id: null;
  /** Null: there is no primary endpoint. */
  name: null;
  /** Null: there is no primary endpoint. */
  url: null;
  /** Null: there is no primary endpoint. */
  events: null;
  /** Null: there is no primary endpoint. */
  active: null;
  /** Null: there is no primary endpoint. */
  primary: null;
  /** Null: there is no primary endpoint. */
  maxInFlight: null;
  /** Null: there is no primary endpoint. */
  standardWebhooks: null;
  /** Null: there is no primary endpoint. */
  isGone: null;
  /** Null: there is no primary endpoint. */
  createdAt: null;
  /** Null: there is no primary endpoint. */
  updatedAt: null;
  /** Until when the secret before the last rotation signs too, in real time; null without a grace period. */
  previousSecretExpiresAt: string | null;
  /** Signing secret; only in the response that generated it. */
  secret?: string;
}

/** Response of `POST /v1/webhooks/:id/replay`. */
export interface StartedReplay {
  /** Opaque id; ids sort by creation. */
  id: string;
  /** `running` until all its deliveries are made: then `done`. `stopped` if you ended it. */
  status: ReplayStatus;
  /** Number of deliveries that it makes: exact for `only: failed`, else an estimate; null if an estimate takes too long. */
  deliveries: number | null;
}

/** Response of a webhook test: the delivery after its first attempt, or after 5 s without one. */
export interface TestedDelivery {
  /** Opaque id; ids sort by creation. */
  id: string;
  /** The event. */
  eventId: string;
  /** Type of the event. */
  eventType: EventType;
  /** The message that the event is about; null if it is about none. */
  messageId: string | null;
  /** The endpoint; null for a `callbackUrl`. */
  webhookId: string | null;
  /** URL that receives the event. */
  url: string;
  /** Status of the delivery. */
  status: DeliveryStatus;
  /** The attempts so far, at most the newest 50. */
  attempts: Attempt[];
  /** When the next attempt is due; null if there will be none. */
  nextAttemptAt: string | null;
  /** When the record was created. */
  createdAt: string;
  /** Whether the receiver responded with a 2xx status. */
  delivered: boolean;
  /** HTTP status of the receiver's response; null if there is none yet. */
  responseStatus: number | null;
}

/** Body of `PATCH /v1/webhooks/:id`: an absent field stays as it is. */
export interface UpdateWebhook {
  /** URL that receives the events: HTTPS, and a public address. */
  url?: string;
  /** Event types to deliver, or `*` for every type. */
  events?: EventFilter[];
  /** Display name; null removes it. */
  name?: string | null;
  /** New signing secret, from the next attempt on. */
  secret?: string;
  /** Whether events are delivered; false pauses the endpoint. */
  active?: boolean;
  /** Most attempts in flight at once, 1 to 256, from the next attempt on. */
  maxInFlight?: number;
}

/** An endpoint that receives events. */
export interface Webhook {
  /** Opaque id; ids sort by creation. */
  id: string;
  /** Display name. */
  name: string | null;
  /** URL that receives the events. */
  url: string;
  /** Event types that are delivered, or `*` for every type. */
  events: EventFilter[];
  /** Whether events are delivered. */
  active: boolean;
  /** Whether this is the primary endpoint, the one of `PUT /v1/webhooks`. */
  primary: boolean;
  /** Most attempts in flight at once. Delivery starts with 4 and adds more while the endpoint responds within 5 s. */
  maxInFlight: number;
  /** Whether its secret also makes the signature headers of Standard Webhooks. If not, `X-Signature` alone signs: the secret is not `whsec_` and base64 of 24 to 64 bytes. */
  standardWebhooks: boolean;
  /** Whether its receiver is gone: ten answers in a row within a day were 410. Ends with the next 2xx, and with another URL. Nothing is paused or cancelled. */
  isGone: boolean;
  /** When the record was created. */
  createdAt: string;
  /** When the record was last changed. */
  updatedAt: string;
  /** Until when the secret before the last rotation signs too, in real time; null without a grace period. */
  previousSecretExpiresAt: string | null;
  /** Signing secret; only in the response that generated it. */
  secret?: string;
}

/** `data` of `webhook.test`. */
export type WebhookTestData = {
  /** A sentence that says that this is a test. */
  message: string;
  /** The endpoint. */
  webhookId: string;
  /** The customer. */
  customerId: string;
};

/** Body of `POST /v1/admin/customers/:id/numbers`: exactly one of `phoneNumber` and `email`. */
export interface AddNumber {
  /** Phone number in E.164 form, such as `+15005550100`. */
  phoneNumber?: string;
  /** E-mail address that iMessage knows. */
  email?: string;
  /** Provider that carries the number. */
  provider: ProviderName;
  /** The provider instance. Default: the oldest one of the provider. */
  instanceId?: string;
  /** A repeat of the request with the same key does nothing twice. */
  idempotencyKey?: string;
}

/** Body of `POST /v1/admin/customers`. */
export interface CreateCustomer {
  /** Display name. */
  name: string;
  /** E-mail address of the customer. */
  email?: string;
  /** Company. */
  company?: string;
  /** A repeat of the request with the same key does nothing twice. */
  idempotencyKey?: string;
}

/** A customer. */
export interface Customer {
  /** Opaque id; ids sort by creation. */
  id: string;
  /** Display name. */
  name: string;
  /** E-mail address of the customer. */
  email: string | null;
  /** Company. */
  company: string | null;
  /** When the record was created. */
  createdAt: string;
}

/** A page of customers. */
export interface CustomerList {
  /** The customers of this page. */
  customers: Customer[];
  /** Where the list continues. */
  pagination: Pagination;
}

/** A number of a customer, as admin routes return it. */
export interface CustomerNumber {
  /** Opaque id; ids sort by creation. */
  id: string;
  /** Phone number in E.164 form. */
  phoneNumber: string | null;
  /** E-mail address that iMessage knows. */
  email: string | null;
  /** Provider that carries the number. */
  provider: ProviderName;
  /** The provider instance. */
  instanceId: string;
  /** Channels of the number. */
  capabilities: {
    /** Whether the number sends iMessages. */
    imessage: boolean;
    /** Whether the number sends SMS. */
    sms: boolean;
  };
  /** Whether the number is used when a request has no `from`. */
  isDefault: boolean;
  /** When the record was created. */
  createdAt: string;
}

/** A customer with its numbers. */
export interface CustomerWithNumbers {
  /** Opaque id; ids sort by creation. */
  id: string;
  /** Display name. */
  name: string;
  /** E-mail address of the customer. */
  email: string | null;
  /** Company. */
  company: string | null;
  /** When the record was created. */
  createdAt: string;
  /** The customer's numbers. */
  numbers: CustomerNumber[];
  /** Problems for the operator to fix, such as a signing secret under 16 characters, or one that begins with `whsec_` and is not base64. */
  warnings: string[];
}

/** A number, as its customer sees it. */
export interface OwnNumber {
  /** Phone number in E.164 form. */
  phoneNumber: string | null;
  /** E-mail address that iMessage knows. */
  email: string | null;
  /** Name of the provider instance. */
  instanceName: string;
  /** Whether the number is used when a request has no `from`. */
  isDefault: boolean;
  /** Health of the provider instance. */
  healthStatus: HealthStatus;
}

/** When a customer's messages wait, by the clock of each recipient. */
export interface QuietHours {
  /** When the quiet hours start, as `HH:MM`. */
  start: string;
  /** When the quiet hours end; before `start` it is on the next day. */
  end: string;
  /** Time zone of recipients whose number does not tell theirs; null is UTC. */
  timeZone: string | null;
}

/** The instance that carries SMS to numbers with a prefix. */
export interface Route {
  /** Start of the recipient's number; `+` is every number. */
  prefix: string;
  /** The provider instance that carries the SMS. */
  instanceId: string;
}

/** Body of `PUT /v1/admin/customers/:id/quiet-hours`. */
export interface SetQuietHours {
  /** When the quiet hours start, as `HH:MM`. */
  start: string;
  /** When the quiet hours end, as `HH:MM`; before `start` it is on the next day. */
  end: string;
  /** IANA time zone of recipients whose number does not tell theirs. Default: UTC. If a country has several zones and this is none of them, messages wait while it is quiet in any. */
  timeZone?: string;
}

/** Body of `POST /v1/admin/keys`. A `messages` key needs `customerId` or `customerEmail`. */
export interface CreateKey {
  /** Display name. */
  name: string;
  /** The customer; or give `customerEmail`. */
  customerId?: string;
  /** The customer, by e-mail address. */
  customerEmail?: string;
  /** Scope of the key: `messages` for one customer, or `admin`. Default: `messages`. */
  scope?: KeyScope;
  /** Permissions of a `messages` key. Default: all of them. */
  permissions?: KeyPermission[];
  /** Rate limit of the key. Default: that of the service. */
  rateLimit?: RateLimit;
  /** When the key expires. Default: never. */
  expiresAt?: string;
  /** A repeat of the request with the same key does nothing twice. */
  idempotencyKey?: string;
}

export const KEY_PERMISSIONS = ["read", "send", "webhooks"] as const;

export const KEY_SCOPES = ["messages", "admin"] as const;

/** An API key. */
export interface Key {
  /** Opaque id; ids sort by creation. */
  id: string;
  /** Display name. */
  name: string;
  /** The customer; null for an admin key. */
  customerId: string | null;
  /** `messages` for a customer, or `admin`. */
  scope: KeyScope;
  /** Permissions of the key; empty for an admin key. */
  permissions: KeyPermission[];
  /** Last four characters of the key. */
  last4: string;
  /** Rate limit of the key; null if it has that of the service. */
  rateLimit: RateLimit | null;
  /** When the record was created. */
  createdAt: string;
  /** When the key was last used; null if it never was. */
  lastUsedAt: string | null;
  /** When the key expires; null if it never does. */
  expiresAt: string | null;
  /** When the key was revoked; null while it is not. */
  revokedAt: string | null;
  /** Id of the key that replaces this one. */
  replacedBy: string | null;
  /** The key itself; only in the response that created it. */
  key?: string;
}

/** A page of keys. */
export interface KeyList {
  /** The keys of this page. */
  keys: Key[];
  /** Where the list continues. */
  pagination: Pagination;
}

/** Permission of a customer's key: read, change messages and records, configure webhooks. */
export type KeyPermission = (typeof KEY_PERMISSIONS)[number];

/** Scope of a key: a customer's routes, or `/v1/admin`. */
export type KeyScope = (typeof KEY_SCOPES)[number];

/** A rate limit: so many requests in each window. */
export interface RateLimit {
  /** Requests in one window. */
  limit: number;
  /** Length of a window in seconds. */
  windowSeconds: number;
}

/** Body of `POST /v1/admin/keys/:id/rotate`. */
export interface RotateKey {
  /** How long the old key keeps working. Default: one day. */
  gracePeriodSeconds?: number;
  /** A repeat of the request with the same key does nothing twice. */
  idempotencyKey?: string;
}

/** A session, as the browser that has it sees it. */
export interface Session {
  /** Opaque id; ids sort by creation. */
  id: string;
  /** The key that signed in. */
  keyId: string;
  /** Display name of the key. */
  keyName: string;
  /** Scope of the key: one customer's records, or all. */
  scope: "customer" | "admin";
  /** The customer; null for the session of an admin key. */
  customerId: string | null;
  /** Value of `X-CSRF-Token` of each request that changes something. */
  csrfToken: string;
  /** Whether all numbers are on the sandbox. */
  isSandbox: boolean;
  /** Whether the sandbox's clock is ahead of the time. */
  isClockMoved: boolean;
  /** Whether the sandbox has its inbox: `TB_SANDBOX_INBOX`. */
  isInboxOn: boolean;
  /** When the session ends unless it is used. */
  expiresAt: string;
  /** Version of the service. */
  version: string;
}

/** A link that opens the console, once. */
export interface SessionLink {
  /** The address. Its token is behind the #, so that no server and no log sees it. */
  url: string;
  /** When the link can no longer be used: five minutes after its creation. */
  expiresAt: string;
}

/** A page of sessions. */
export interface SessionList {
  /** The sessions of this page. */
  sessions: SessionSummary[];
  /** Where the list continues. */
  pagination: Pagination;
}

/** A session, as operators see it. */
export interface SessionSummary {
  /** Opaque id; ids sort by creation. */
  id: string;
  /** The key that signed in. */
  keyId: string;
  /** When the record was created. */
  createdAt: string;
  /** When the session was last used, to ten minutes. */
  lastUsedAt: string;
  /** When the session ends unless it is used. */
  expiresAt: string;
}

/** Body of `POST /session`: an API key, or the token of a one-time link. */
export interface SignIn {
  /** An API key; or give `link`. */
  key?: string;
  /** The token behind `#link=` of a one-time link. */
  link?: string;
}

/** Body of `POST /v1/admin/instances`. */
export interface CreateInstance {
  /** Display name. */
  name: string;
  /** Provider of the instance. */
  provider: ProviderName;
  /** Settings of the provider. */
  config: Record<string, unknown>;
  /** A repeat of the request with the same key does nothing twice. */
  idempotencyKey?: string;
}

export const HEALTH_STATUSES = ["healthy", "degraded", "unhealthy", "unknown"] as const;

/** Health of a provider instance. */
export type HealthStatus = (typeof HEALTH_STATUSES)[number];

/** A provider instance. `config` is without its secrets. */
export interface Instance {
  /** Opaque id; ids sort by creation. */
  id: string;
  /** Display name. */
  name: string;
  /** Provider of the instance. */
  provider: ProviderName;
  /** Settings of the provider, without its secrets. */
  config: Record<string, unknown>;
  /** Health of the instance. */
  health: HealthStatus;
  /** Problems for the operator to fix, in words. */
  warnings: string[];
  /** When the peer last sent an event, such as a receipt or a message; null if it sent none yet. What the service found by asking does not count. */
  lastEventAt: string | null;
  /** URL to configure at the provider, which calls it with what happens; null if it needs none. */
  hookUrl: string | null;
  /** When the record was created. */
  createdAt: string;
  /** When the record was last changed. */
  updatedAt: string;
}

/** A page of instances. */
export interface InstanceList {
  /** The instances of this page. */
  instances: Instance[];
  /** Where the list continues. */
  pagination: Pagination;
}

export const PROVIDERS = ["sandbox", "bluebubbles", "smpp", "twilio"] as const;

/** A provider. */
export type ProviderName = (typeof PROVIDERS)[number];

/** Body of `PATCH /v1/admin/instances/:id`: what `config` names is changed, the rest stays. */
export interface UpdateInstance {
  /** Display name. */
  name?: string;
  /** Settings of the provider. */
  config?: Record<string, unknown>;
}

/** Body of `POST /v1/admin/held/release` and `POST /v1/admin/held/discard`. */
export interface DecideHeld {
  /** The messages; or give `all`. */
  ids?: string[];
  /** All held messages, the oldest first, up to 1,000 a request. */
  all?: true;
  /** A repeat of the request with the same key does nothing twice. */
  idempotencyKey?: string;
}

/** The result of a decision about held messages. */
export interface HeldDecision {
  /** How many messages the request decided about. */
  count: number;
  /** Ids of the request that name no held message. */
  notHeld: string[];
  /** Whether the request was for all and others are left: repeat it. */
  hasMore: boolean;
}

/** A message that a restore holds, without its content. */
export interface HeldMessage {
  /** Opaque id; ids sort by creation. */
  id: string;
  /** The customer. */
  customerId: string;
  /** The instance that may have sent it. */
  instanceId: string;
  /** Sender. */
  from: string;
  /** Recipient; for a group, the id of its chat. */
  to: string;
  /** Channel on which it may have been sent. */
  channel: Channel;
  /** Why its outcome is still unknown. */
  reason: string;
  /** Its scheduled time; null if it had none. */
  scheduledAt: string | null;
  /** When it was held. */
  heldAt: string;
  /** When the record was created. */
  createdAt: string;
}

/** A page of held messages. */
export interface HeldMessageList {
  /** The messages of this page. */
  messages: HeldMessage[];
  /** Where the list continues. */
  pagination: Pagination;
}

export const GRANULARITIES = ["day", "hour"] as const;

/** Length of one point of usage. */
export type Granularity = (typeof GRANULARITIES)[number];

/** Response of `GET /v1/admin/usage`. */
export interface Usage {
  /** The key that the usage is of; null if it is of several. */
  key: {
    /** Id of the key. */
    id: string;
    /** Display name. */
    name: string;
  } | null;
  /** Start and end. */
  period: {
    /** Start of the period. */
    from: string;
    /** End of the period, exclusive. */
    to: string;
  };
  /** Usage of the whole period. */
  totals: UsageCounts;
  /** Usage by day or hour, including those without any. */
  series: UsagePoint[];
}

/** Counts of usage. */
export interface UsageCounts {
  /** Requests that got a response. */
  requests: number;
  /** Requests that were refused by the rate limit. */
  rateLimited: number;
  /** Messages that a provider accepted. */
  messagesSent: number;
  /** SMS segments that were sent. */
  segments: number;
  /** Messages that were received. */
  messagesReceived: number;
  /** Webhook attempts that succeeded. */
  webhooksDelivered: number;
  /** Webhook attempts that failed. */
  webhooksFailed: number;
}

/** Usage of one day or hour. */
export interface UsagePoint {
  /** Start of the day or hour. */
  at: string;
  /** Requests that got a response. */
  requests: number;
  /** Requests that were refused by the rate limit. */
  rateLimited: number;
  /** Messages that a provider accepted. */
  messagesSent: number;
  /** SMS segments that were sent. */
  segments: number;
  /** Messages that were received. */
  messagesReceived: number;
  /** Webhook attempts that succeeded. */
  webhooksDelivered: number;
  /** Webhook attempts that failed. */
  webhooksFailed: number;
}

export const CALL_ACTIONS = ["ring", "answer", "hangup", "miss"] as const;

/** An action of a phone in a FaceTime call. */
export type CallAction = (typeof CALL_ACTIONS)[number];

/** The inbox: the built-in receiver of webhooks. */
export interface Inbox {
  /** URL of the inbox. */
  url: string;
  /** Signing secret of the inbox, to try signature verification with; null for a key without the permission `webhooks`. */
  secret: string | null;
  /** How the inbox responds. */
  behaviour: InboxBehaviour;
  /** The last 500 requests, newest first. */
  requests: InboxRequest[];
}

/** How the inbox responds. */
export interface InboxBehaviour {
  /** HTTP status of the response. */
  status: number;
  /** Delay of the response in milliseconds. */
  delayMs: number;
  /** Number of requests that get 503 first. */
  failFirst: number;
}

/** A request that the inbox received. */
export interface InboxRequest {
  /** When the request was received. */
  receivedAt: string;
  /** When it was received in real time, if the sandbox's clock was ahead. */
  realAt?: string;
  /** Whether its signature was valid; if not, the inbox responded with 401. */
  verified: boolean;
  /** HTTP status of the response. */
  status: number;
  /** Headers of the request. */
  headers: Record<string, string>;
  /** Raw body of the request. Once the text of its event is erased: the present envelope of the event. */
  body: string;
}

/** Body of `POST /v1/sandbox/phones/:number/calls`. */
export interface PhoneCall {
  /** Action of the contact. */
  action: CallAction;
  /** Whether to call with video. */
  video?: boolean;
  /** One of your numbers. Default: your default number. */
  to?: string;
  /** A repeat of the request with the same key does nothing twice. */
  idempotencyKey?: string;
}

/** Body of `POST /v1/sandbox/phones/:number/group-photo`. */
export interface PhoneGroupPhoto {
  /** Id of a group that the contact is in. */
  chatId: string;
  /** A repeat of the request with the same key does nothing twice. */
  idempotencyKey?: string;
}

/** Body of `POST /v1/sandbox/phones/:number/audio-kept`. */
export interface PhoneKeptAudio {
  /** Id of an audio message on this phone. */
  messageId: string;
  /** A repeat of the request with the same key does nothing twice. */
  idempotencyKey?: string;
}

/** Body of `POST /v1/sandbox/phones/:number/messages`. */
export interface PhoneMessage {
  /** Text of the message. */
  text?: string;
  /** Files of the message. */
  attachments?: AttachmentInput[];
  /** How long after the message its files come, in milliseconds. It waits ten seconds for them at most. Default: 0. */
  attachmentsAfterMs?: number;
  /** Id of the message that this one replies to. */
  replyTo?: string;
  /** One of your numbers. Default: your default number. */
  to?: string;
  /** Id of a group that the contact is in, to write there. */
  chatId?: string;
  /** Channel of the message. Default: iMessage if the phone has it. */
  channel?: Channel;
  /** A repeat of the request with the same key does nothing twice. */
  idempotencyKey?: string;
}

/** Body of `POST /v1/sandbox/phones/:number/payments`. */
export interface PhonePayment {
  /** Dollars. Default: the amount of the request. */
  amount?: number | string;
  /** Id of the payment request to pay. */
  requestId?: string;
  /** One of your numbers. Default: your default number. */
  to?: string;
  /** A repeat of the request with the same key does nothing twice. */
  idempotencyKey?: string;
}

/** Body of `POST /v1/sandbox/phones/:number/reactions`. */
export interface PhoneReaction {
  /** Id of a message on this phone. */
  messageId: string;
  /** One of the six reactions or one emoji; with a minus it removes the reaction. */
  type: ReactionCommand;
  /** A repeat of the request with the same key does nothing twice. */
  idempotencyKey?: string;
}

/** How a phone of the sandbox behaves, for one customer. */
export interface PhoneSettings {
  /** Whether the phone receives messages now; if not, they are delivered when it is online again. */
  online: boolean;
  /** Whether the phone has iMessage. */
  imessage: boolean;
  /** Whether the phone sends read receipts. */
  readReceipts: boolean;
  /** Whether messages on the phone can be edited; if not, an edit fails. */
  edits: boolean;
  /** Delay of each receipt in milliseconds. */
  latencyMs: number;
  /** Share of messages that are lost, 0 to 100. */
  lossPercent: number;
}

/** Body of `POST /v1/sandbox/phones/:number/typing`. */
export interface PhoneTyping {
  /** Whether the contact starts or stops typing. */
  typing: boolean;
  /** One of your numbers. Default: your default number. */
  to?: string;
  /** A repeat of the request with the same key does nothing twice. */
  idempotencyKey?: string;
}

/** The clock of a sandbox. */
export interface SandboxClock {
  /** Time of the service. */
  now: string;
  /** How far the clock is ahead of real time, in milliseconds. */
  offsetMs: number;
}

/** Response of `POST /v1/sandbox/reset`. */
export interface SandboxReset {
  /** Always true. */
  reset: true;
}

/** Body of `POST /v1/sandbox/clock`: one of the two. */
export interface SetClock {
  /** A duration to move the clock forward by, such as `30s`, `5m`, `2h` or `1d`. */
  advance?: string;
  /** Returns to real time; must be true. */
  reset?: boolean;
  /** A repeat of the request with the same key does nothing twice. */
  idempotencyKey?: string;
}

/** Body of `PUT /v1/sandbox/inbox/behaviour`: an absent field is reset. */
export interface SetInboxBehaviour {
  /** HTTP status of the response. Default: 200. */
  status?: number;
  /** Delay of the response in milliseconds. Default: 0. */
  delayMs?: number;
  /** Number of requests that get 503 first. Default: 0. */
  failFirst?: number;
}

/** Body of `PUT /v1/sandbox/phones/:number/settings`: an absent field stays as it is. */
export interface SetPhoneSettings {
  /** Whether the phone receives messages now; if not, they are delivered when it is online again. */
  online?: boolean;
  /** Whether the phone has iMessage. */
  imessage?: boolean;
  /** Whether the phone sends read receipts. */
  readReceipts?: boolean;
  /** Whether messages on the phone can be edited; if not, an edit fails. */
  edits?: boolean;
  /** Delay of each receipt in milliseconds. */
  latencyMs?: number;
  /** Share of messages that are lost, 0 to 100. */
  lossPercent?: number;
}

/** Kind of a database: the embedded one, or PostgreSQL. */
export type DatabaseEngine = "sqlite" | "postgres";

/** The database and its size on disk. */
export interface DatabaseSize {
  /** The embedded database, or PostgreSQL. */
  engine: DatabaseEngine;
  /** Bytes of the database. */
  bytes: number;
  /** Bytes of the write-ahead log beside the embedded database; null for PostgreSQL. */
  walBytes: number | null;
}

/** Response of `GET /health`. */
export interface Health {
  /** Health of the service. */
  status: ServiceStatus;
  /** Time of the service. */
  timestamp: string;
  /** Health of each part, by name. */
  checks: Record<
    string,
    {
      /** Health of the part. */
      status: ServiceStatus;
      /** The problem. */
      message?: string;
    }
  >;
}

/** Response of `GET /v1/admin/service`. */
export interface ServiceDetails {
  /** Version of the service. */
  version: string;
  /** Health of the service, with each instance by its id. */
  health: Health;
  /** The database. */
  database: DatabaseSize;
  /** The clock. */
  clock: SandboxClock;
  /** Every setting of the process that responds. */
  settings: ServiceSetting[];
}

/** A setting of a process of the service. */
export interface ServiceSetting {
  /** Name of its environment variable. */
  name: string;
  /** The value as it was given, or the default that is in force; null if there is none, and for every secret. */
  value: string | null;
  /** Where the value comes from; `default` if the setting was not given. */
  source: SettingSource;
  /** Whether the value is never told. */
  isSecret: boolean;
}

/** Health of the service or of a part. */
export type ServiceStatus = "ok" | "degraded";

/** Where the value of a setting comes from. */
export type SettingSource = "flag" | "environment" | "default";

/** A page of events. */
export interface EventList {
  /** The events of this page. */
  events: Event[];
  /** Where the list continues. */
  pagination: Pagination;
}

/** A body in the log. */
export interface LoggedBody {
  /** The JSON text, secrets masked and files shortened: at most 4 KiB. `"erased"` if a contact was erased whom the request named. */
  text: string;
  /** Whether the text ends before the body did. */
  truncated: boolean;
}

/** A request in the log, with its bodies. */
export interface LoggedExchange {
  /** Id of the request: the `requestId` and `X-Request-Id` of its response. */
  id: string;
  /** Method, in capitals. */
  method: string;
  /** Path and query as they came, secrets and erased contacts masked. */
  path: string;
  /** Pattern of the path, such as `/v1/messages/:id`; null if no route matched. */
  route: string | null;
  /** Status of the response; 499 if the client had gone before. */
  status: number;
  /** Time from the request's headers to its response, in milliseconds. */
  durationMs: number;
  /** Id of the key. */
  keyId: string;
  /** Id of the customer; null for an admin key. */
  customerId: string | null;
  /** Correlation id of everything that the request led to. */
  correlationId: string;
  /** Code of the error; null for a success. */
  errorCode: ErrorCode | null;
  /** When the request came. */
  createdAt: string;
  /** When it came in real time, if the sandbox's clock was ahead. */
  realAt?: string;
  /** The request's body; null if there was none, bodies are not logged, or another key sent it. */
  request: LoggedBody | null;
  /** The response's body; null for a stream, if bodies are not logged, or if another key sent the request. */
  response: LoggedBody | null;
}

/** A request in the log, without bodies. */
export interface LoggedRequest {
  /** Id of the request: the `requestId` and `X-Request-Id` of its response. */
  id: string;
  /** Method, in capitals. */
  method: string;
  /** Path and query as they came, secrets and erased contacts masked. */
  path: string;
  /** Pattern of the path, such as `/v1/messages/:id`; null if no route matched. */
  route: string | null;
  /** Status of the response; 499 if the client had gone before. */
  status: number;
  /** Time from the request's headers to its response, in milliseconds. */
  durationMs: number;
  /** Id of the key. */
  keyId: string;
  /** Id of the customer; null for an admin key. */
  customerId: string | null;
  /** Correlation id of everything that the request led to. */
  correlationId: string;
  /** Code of the error; null for a success. */
  errorCode: ErrorCode | null;
  /** When the request came. */
  createdAt: string;
  /** When it came in real time, if the sandbox's clock was ahead. */
  realAt?: string;
}

/** A page of the request log. */
export interface LoggedRequestList {
  /** The requests of this page. */
  requests: LoggedRequest[];
  /** Where the list continues. */
  pagination: Pagination;
}

/** Methods that a request in the log may have. */
export const REQUEST_METHODS = ["GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS"] as const;

/** Refused requests with one code on one route. */
export interface RequestErrorGroup {
  /** Decide by this code: its meaning never changes. */
  code: ErrorCode;
  /** Method, in capitals. */
  method: string;
  /** Pattern of the path; null if no route matched. */
  route: string | null;
  /** Status of the responses. */
  status: number;
  /** How many there are. */
  count: number;
  /** When the newest one came. */
  lastAt: string;
  /** Id of the newest one. */
  lastId: string;
}

/** The errors of the request log, in groups. */
export interface RequestErrors {
  /** The groups, the largest first: at most 100. */
  errors: RequestErrorGroup[];
}

/** A method of HTTP. */
export type RequestMethod = (typeof REQUEST_METHODS)[number];

/** A message whose timeline has grown. */
export interface WireMessage {
  /** Id of the message. */
  id: string;
  /** Its status now. */
  status: MessageStatus;
  /** Correlation id of the request that created it. */
  correlationId: string;
  /** Its whole timeline. */
  timeline: TimelineEntry[];
}

/** The data of each event, by its type. */
export interface EventData {
  /** A message was accepted, became due, or is being retried by hand. */
  "message.queued": MessageEventData;
  /** A provider has accepted the message. */
  "message.sent": MessageEventData;
  /** The message has reached the recipient's device. */
  "message.delivered": MessageEventData;
  /** The recipient has opened the message (iMessage only). */
  "message.read": MessageEventData;
  /** The message will not be delivered; `errorCode` says why. */
  "message.failed": MessageEventData;
  /** A channel was given up, and the next one is tried. */
  "message.fallback": MessageEventData;
  /** A contact has sent a message. */
  "message.inbound": InboundEventData;
  /** A message was scheduled, or changed before its time. */
  "message.scheduled": MessageEventData;
  /** A scheduled message was cancelled. */
  "message.schedule_cancelled": MessageEventData;
  /** A contact has started or stopped typing. */
  "typing.indicator": TypingEventData;
  /** A payment request was accepted. */
  "payment.request.created": PaymentRequest;
  /** A payment request was paid. */
  "payment.request.paid": PaymentRequest;
  /** A payment request was cancelled, or its message could not be sent. */
  "payment.request.cancelled": PaymentRequest;
  /** A payment request was not paid in time. */
  "payment.request.expired": PaymentRequest;
  /** A FaceTime call is coming in. */
  "facetime.incoming": CallEventData;
  /** A FaceTime call was answered, ended, missed or rejected. */
  "facetime.status_changed": CallEventData;
  /** A contact has reacted to a message, or removed a reaction. */
  "message.reaction": ReactionEventData;
  /** The text of a message was edited on the recipient's phone. */
  "message.edited": RevisionEventData;
  /** A message could not be edited and is unchanged. */
  "message.edit_failed": MessageEventData;
  /** A message was unsent: removed from the recipient's phone. */
  "message.unsent": RevisionEventData;
  /** A message and its text were deleted in the service. */
  "message.deleted": RevisionEventData;
  /** The recipient has kept an audio message. */
  "message.audio_kept": MessageEventData;
  /** Files of a contact's message came after the message, within a day. */
  "message.attachments_added": AttachmentsAddedEventData;
  /** A participant was added to a group. */
  "chat.participant.added": ChatEventData;
  /** A participant has left a group, or was removed from it. */
  "chat.participant.left": ChatEventData;
  /** A group was renamed. */
  "chat.title.changed": ChatEventData;
  /** The photo of a group was changed. */
  "chat.photo.changed": ChatEventData;
  /** A contact wants no more messages. */
  "contact.opted_out": OptOutEventData;
  /** A contact may be written to again. */
  "contact.opted_in": OptOutEventData;
  /** You requested a test; sent whatever the endpoint subscribes to. */
  "webhook.test": WebhookTestData;
}

/** The event of one type. */
export interface EventOf<Type extends EventType> {
  /** Id of the event: deduplicate by it. */
  id: string;
  /** Type of the event. */
  type: Type;
  /** When the event occurred. */
  timestamp: string;
  /** Data of the event. */
  data: EventData[Type];
}

/** An event whose data is not narrowed by its type: any field may be read. */
export interface AnyEvent<Data = Record<string, unknown>> {
  id: string;
  type: EventType;
  timestamp: string;
  data: Data;
}

/** An event of one of these types, of any type unless given: what a webhook, the stream and the event list carry. */
export type Event<Type extends EventType = EventType> = { [Each in Type]: EventOf<Each> }[Type];
