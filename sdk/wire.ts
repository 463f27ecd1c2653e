/** Every shape, code and event name that crosses the wire, once. Imports nothing; server, CLI and console read it. */

/** Event types a customer may subscribe to. */
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
  "chat.participant.added",
  "chat.participant.left",
  "chat.title.changed",
  "chat.photo.changed",
  "webhook.test",
] as const;
export type EventType = (typeof EVENT_TYPES)[number];

/** Error codes with the HTTP status each answers. */
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
export type ErrorCode = keyof typeof ERROR_STATUS;

/** One bad field of a request: where it is, and what to do about it. */
export interface ErrorDetail {
  path: string;
  message: string;
}

export interface Success<Data> {
  success: true;
  data: Data;
  requestId: string;
}

export interface Failure {
  success: false;
  error: { code: ErrorCode; message: string; details?: ErrorDetail[] };
  requestId: string;
}

export interface Pagination {
  hasMore: boolean;
  nextCursor: string | null;
}

export const CHANNELS = ["imessage", "sms"] as const;
export type Channel = (typeof CHANNELS)[number];

/** Statuses of an outbound message. `pending`: handed to a provider, answer not known. */
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
export type OutboundStatus = (typeof OUTBOUND_STATUSES)[number];

/** Statuses of all messages: an inbound message is `received`, and `unsent` once its contact took it back. */
export const MESSAGE_STATUSES = [...OUTBOUND_STATUSES, "received"] as const;
export type MessageStatus = (typeof MESSAGE_STATUSES)[number];

export const DIRECTIONS = ["outbound", "inbound"] as const;
export type Direction = (typeof DIRECTIONS)[number];

/** `errorCode` of a failed message; `ATTACHMENT_FAILED` also of one that was sent without its files. */
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
export type MessageErrorCode = (typeof MESSAGE_ERROR_CODES)[number];

/** Why a channel was given up. */
export const FALLBACK_REASONS = ["NOT_REACHABLE", "REJECTED", "NO_DELIVERY"] as const;
export type FallbackReason = (typeof FALLBACK_REASONS)[number];

/** JSON objects of the caller's own: kept and given back as they came. */
export type Metadata = Record<string, unknown>;

/** Effects of iMessage that a message can be sent with; ignored on SMS. */
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
export type Effect = (typeof EFFECTS)[number];

/** Reactions of iMessage. */
export const REACTIONS = ["love", "like", "dislike", "laugh", "emphasize", "question"] as const;
export type Reaction = (typeof REACTIONS)[number];

/** The six reactions, and with a minus the removal of each. */
export const REACTION_COMMANDS = [
  ...REACTIONS,
  "-love",
  "-like",
  "-dislike",
  "-laugh",
  "-emphasize",
  "-question",
] as const;
/** A reaction as `POST /v1/messages/:id/reactions` accepts it: one of the six or one emoji, with a minus to take it back. */
export type ReactionCommand = (typeof REACTION_COMMANDS)[number] | (string & Record<never, never>);

export const ATTACHMENT_SOURCES = ["url", "base64"] as const;

/** A file to send (iMessage): by its HTTPS address, or its bytes as base64. */
export interface AttachmentInput {
  type: (typeof ATTACHMENT_SOURCES)[number];
  url?: string;
  data?: string;
  mimeType?: string;
  filename?: string;
  isAudioMessage?: boolean;
}

/** A file of a message. `downloadUrl` needs no key; null where the file is not, or no longer, kept here. */
export interface Attachment {
  guid: string;
  mimeType: string | null;
  filename: string | null;
  totalBytes: number | null;
  downloadUrl: string | null;
}

/** A part of the text, in UTF-16 units, that names somebody in the conversation. */
export interface Mention {
  address: string;
  start: number;
  length: number;
}

/** What every request to send may say beside what it sends and to whom. */
export interface SendOptions {
  from?: string;
  routing?: { preference?: Channel[]; fallback?: boolean; fallbackAfterSeconds?: number };
  attachments?: AttachmentInput[];
  /** The message that this one answers. */
  replyTo?: string;
  effect?: Effect;
  mentions?: Mention[];
  /** Makes a contact of the recipient, unless there is one. */
  createContact?: boolean;
  scheduledAt?: string;
  idempotencyKey?: string;
  externalMessageId?: string;
  callbackUrl?: string;
  metadata?: Metadata;
}

/** Body of `POST /v1/messages`: exactly one of `to` and `chatId`. `conversationId` and `mediaUrl` are synonyms. */
export interface SendMessage extends SendOptions {
  to?: string;
  chatId?: string;
  conversationId?: string;
  content?: { text?: string; mediaUrls?: string[]; mediaUrl?: string };
}

/** Body of `POST /v1/messages/carousel`. */
export interface SendCarousel extends SendOptions {
  to?: string;
  chatId?: string;
  conversationId?: string;
  mediaUrls: string[];
  text?: string;
}

/** Body of `PUT /v1/messages/:id`. `content.text` is a synonym of `text`. */
export interface EditMessage {
  text?: string;
  content?: { text: string };
  backwardsCompatibilityMessage?: string;
}

/** Body of `PATCH /v1/messages/:id`, of a scheduled one: what is left out stays. `mediaUrls: []` takes the media out. */
export interface UpdateMessage {
  content?: { text?: string; mediaUrls?: string[]; mediaUrl?: string };
  scheduledAt?: string;
  metadata?: Metadata | null;
}

/** Body of `POST /v1/messages/:id/reactions`. `reaction` is a synonym of `type`. */
export interface React {
  type?: ReactionCommand;
  reaction?: ReactionCommand;
  idempotencyKey?: string;
}

export interface Reacted {
  messageId: string;
  reaction: ReactionCommand;
}

/** Body of `POST /v1/messages/:id/retry`. `mayDuplicate` is asked for where the first hand-over may have worked. */
export interface RetryMessage {
  mayDuplicate?: boolean;
  idempotencyKey?: string;
}

/** Answer of `POST /v1/messages`. */
export interface AcceptedMessage {
  id: string;
  status: OutboundStatus;
  to: string;
  from: string;
  channel: Channel;
  scheduledAt: string | null;
  externalMessageId: string | null;
  createdAt: string;
}

/** How the text of an SMS is encoded: GSM 03.38's seven bits, ISO 8859-1, or UTF-16 (what SMS calls UCS-2). */
export const ENCODINGS = ["GSM-7", "Latin-1", "UCS-2"] as const;
export type Encoding = (typeof ENCODINGS)[number];

/** One way that a message could take, as routing sees it: `usable` tells whether it would be tried, `reason` why. */
export interface PlannedHop {
  channel: Channel;
  instanceId: string | null;
  usable: boolean;
  reason: string;
}

/** Answer of `POST /v1/messages?dryRun=true`: what would become of the message. Nothing is kept, and nothing sent. */
export interface DryRun {
  dryRun: true;
  to: string;
  from: string;
  /** The channel that would be tried first; null where none can be. */
  channel: Channel | null;
  instanceId: string | null;
  /** Why that channel and that instance. */
  reason: string;
  /** Every way considered, in the order they would be tried. */
  hops: PlannedHop[];
  /** Of the text as an SMS; null where no SMS could be sent. */
  segments: number | null;
  encoding: Encoding | null;
  scheduledAt: string | null;
  /** Until when quiet hours hold it back; null where they do not. */
  quietUntil: string | null;
}

export const MESSAGE_TYPES = ["text", "media", "carousel"] as const;
export type MessageType = (typeof MESSAGE_TYPES)[number];

/** Answer of `POST /v1/messages/carousel`. */
export interface AcceptedCarousel extends AcceptedMessage {
  messageType: MessageType;
  imageCount: number;
}

export interface TimelineEntry {
  status: MessageStatus;
  at: string;
  channel: Channel;
  reason?: string;
  instanceId?: string;
}

export interface Message extends Omit<AcceptedMessage, "status"> {
  direction: Direction;
  /** An inbound message is `received`, which an outbound one never is. */
  status: MessageStatus;
  chatId: string | null;
  messageType: MessageType;
  content: { text: string | null; mediaUrls: string[] };
  attachments: Attachment[];
  metadata: Metadata | null;
  effect: Effect | null;
  replyTo: string | null;
  parentMessageId: string | null;
  fallbackTriggered: boolean;
  providerMessageId: string | null;
  errorCode: MessageErrorCode | null;
  errorMessage: string | null;
  providerErrorCode: string | null;
  /** Segments and encoding of what went, or will go, out as an SMS; null on other channels. */
  segments: number | null;
  encoding: Encoding | null;
  sentAt: string | null;
  deliveredAt: string | null;
  readAt: string | null;
  updatedAt: string;
  retryCount: number;
  timeline: TimelineEntry[];
}

export interface MessageList {
  messages: Message[];
  /** With `updatedAfter` only: ids of changed messages that are deleted. */
  deleted?: string[];
  pagination: Pagination;
}

/** What a receiver gets, what the event list answers: `id` is the key to deduplicate by. */
export interface Event<Data = Record<string, unknown>> {
  id: string;
  type: EventType;
  timestamp: string;
  data: Data;
}

export interface EventList {
  events: Event[];
  pagination: Pagination;
}

/** `data` of every `message.*` event that this service sends of an outbound message. */
export interface MessageEventData {
  messageId: string;
  externalMessageId?: string;
  from: string;
  to: string;
  text: string | null;
  channel: Channel;
  metadata?: Metadata;
  status: OutboundStatus;
  /** The provider's own name of the message; absent until the provider has taken the message. */
  providerMessageId?: string;
  sequence: number;
  correlationId: string;
  scheduledAt?: string;
  deliveredAt?: string;
  readAt?: string;
  errorCode?: MessageErrorCode;
  error?: { code: MessageErrorCode; message: string };
  mayHaveBeenSent?: boolean;
  fallbackFrom?: Channel;
  reason?: string;
  parentMessageId?: string;
  attachments?: Attachment[];
  editedAt?: string;
}

/** `data` of `message.edited`, `message.unsent` and `message.deleted`; `status` is absent for an inbound message. */
export type RevisionEventData = Omit<MessageEventData, "status"> & { status?: OutboundStatus };

/** `data` of `message.inbound`; `chatId` only where the message came to a group. */
export type InboundEventData = Omit<
  MessageEventData,
  "status" | "providerMessageId" | "externalMessageId" | "metadata" | "attachments" | "parentMessageId"
> & {
  /** The message that it answers. */
  parentMessageId: string | null;
  attachments: Attachment[];
  chatId?: string;
};

/** `data` of `message.reaction`. `messageId` is the message reacted to, null where that is not known here. */
export interface ReactionEventData {
  messageId: string | null;
  reaction: { type: Reaction | "remove"; emoji?: string; targetMessageId: string | null; content: string };
  from: string;
  to: string;
  channel: Channel;
  sequence: number;
  correlationId: string;
  externalMessageId?: string;
  /** The provider's id of the message reacted to, if that is an outbound one. */
  providerMessageId?: string;
  metadata?: Metadata;
}

/** `data` of `chat.*` events: `actor` is who did it, null where that is not known. */
export interface ChatEventData {
  chatId: string;
  participant?: string;
  title?: string | null;
  actor: string | null;
  to: string;
  channel: Channel;
}

/** `data` of `typing.indicator`. */
export interface TypingEventData {
  chatId: string;
  chatGuid: string;
  from: string;
  to: string;
  channel: Channel;
  typing: boolean;
}

/** `data` of `facetime.*` events. */
export interface CallEventData {
  callId: string;
  callUuid: string;
  from: string;
  caller: string;
  address: string;
  to: string;
  isAudio: boolean;
  isVideo: boolean;
  isOutgoing: boolean;
  status: CallStatus;
}

export interface WebhookTestData {
  message: string;
  webhookId: string;
  customerId: string;
}

/** Body of `PUT /v1/webhooks`. */
export interface SetWebhook {
  url: string;
  events: (EventType | "*")[];
  secret?: string;
  /** Attempts at once, 1 to 256. Left out, a new endpoint has the server's default, and another keeps its own. */
  maxInFlight?: number;
}

/** Body of `POST /v1/webhooks`. */
export interface CreateWebhook extends SetWebhook {
  name?: string;
  idempotencyKey?: string;
}

/** Body of `PATCH /v1/webhooks/:id`. */
export interface UpdateWebhook {
  url?: string;
  events?: (EventType | "*")[];
  name?: string | null;
  secret?: string;
  active?: boolean;
  /** Attempts at once, 1 to 256. */
  maxInFlight?: number;
}

/** Body of `POST /v1/webhooks/rotate-secret` and `/v1/webhooks/:id/rotate-secret`. */
export interface RotateSecret {
  gracePeriodSeconds?: number;
  idempotencyKey?: string;
}

export interface Webhook {
  id: string;
  name: string | null;
  url: string;
  events: (EventType | "*")[];
  active: boolean;
  primary: boolean;
  /** Attempts at once. */
  maxInFlight: number;
  createdAt: string;
  updatedAt: string;
  /** Only in the answer that generated it. */
  secret?: string;
}

export const DELIVERY_STATUSES = ["pending", "succeeded", "exhausted", "cancelled"] as const;
export type DeliveryStatus = (typeof DELIVERY_STATUSES)[number];

/** One sending of one event to one address. `status` is the HTTP status, null when there was no answer. */
export interface Attempt {
  at: string;
  status: number | null;
  durationMs: number;
  response: string | null;
  error: string | null;
}

export interface Delivery {
  id: string;
  eventId: string;
  eventType: EventType;
  messageId: string | null;
  /** Null for a delivery to a `callbackUrl`. */
  webhookId: string | null;
  url: string;
  status: DeliveryStatus;
  attempts: Attempt[];
  nextAttemptAt: string | null;
  createdAt: string;
}

/** Answer of a webhook test: the delivery as it is after its first attempt, or after 5 s without one. */
export interface TestedDelivery extends Delivery {
  /** Whether the receiver took it with a 2xx. */
  delivered: boolean;
  /** The status that it answered; null where there was none, or none yet. */
  responseStatus: number | null;
}

export interface DeliveryList {
  deliveries: Delivery[];
  pagination: Pagination;
}

/** Body of `POST /v1/webhooks/:id/replay`: ISO 8601 instants, `until` exclusive. */
export interface Replay {
  since: string;
  until?: string;
  types?: EventType[];
  idempotencyKey?: string;
}

export interface Replayed {
  deliveries: number;
}

export interface Deleted {
  id: string;
  deleted: true;
}

export const PROVIDERS = ["sandbox", "bluebubbles", "smpp", "twilio"] as const;
export type ProviderName = (typeof PROVIDERS)[number];

/** A number of a customer as admin routes answer it. */
export interface CustomerNumber {
  id: string;
  phoneNumber: string | null;
  email: string | null;
  provider: ProviderName;
  instanceId: string;
  capabilities: { imessage: boolean; sms: boolean };
  isDefault: boolean;
  createdAt: string;
}

export interface AddNumber {
  phoneNumber?: string;
  email?: string;
  provider: ProviderName;
  instanceId?: string;
  idempotencyKey?: string;
}

export interface CreateCustomer {
  name: string;
  email?: string;
  company?: string;
  idempotencyKey?: string;
}

export interface Customer {
  id: string;
  name: string;
  email: string | null;
  company: string | null;
  createdAt: string;
}

export interface CustomerWithNumbers extends Customer {
  numbers: CustomerNumber[];
  /** Problems that the operator should mend, in sentences. */
  warnings: string[];
}

/** Which instance takes a customer's SMS to numbers that begin with `prefix`: the longest one wins. `+` is every number. */
export interface Route {
  prefix: string;
  instanceId: string;
}

/** Body of `PUT /v1/admin/customers/:id/quiet-hours`: local times `HH:MM`; from `start` until `end`, which may be the next day. */
export interface SetQuietHours {
  start: string;
  end: string;
  /** IANA name of the zone of recipients whose own is not told by their number. */
  timeZone?: string;
}

/** When a customer's messages wait, by the clock of each recipient. */
export interface QuietHours {
  start: string;
  end: string;
  timeZone: string | null;
}

export interface CustomerList {
  customers: Customer[];
  pagination: Pagination;
}

export const HEALTH_STATUSES = ["healthy", "degraded", "unhealthy", "unknown"] as const;
export type HealthStatus = (typeof HEALTH_STATUSES)[number];

/** A number as its customer sees it (`GET /v1/numbers`). */
export interface OwnNumber {
  phoneNumber: string | null;
  email: string | null;
  instanceName: string;
  isDefault: boolean;
  healthStatus: HealthStatus;
}

/** Body of `POST /v1/admin/instances`. `config` is that of the provider. */
export interface CreateInstance {
  name: string;
  provider: ProviderName;
  config: Record<string, unknown>;
  idempotencyKey?: string;
}

/** Body of `PATCH /v1/admin/instances/:id`. What `config` names is changed, the rest stays. */
export interface UpdateInstance {
  name?: string;
  config?: Record<string, unknown>;
}

/** A provider instance. `config` without its secrets, which are never answered. */
export interface Instance {
  id: string;
  name: string;
  provider: ProviderName;
  config: Record<string, unknown>;
  health: HealthStatus;
  /** What an operator should do something about, in words. */
  warnings: string[];
  /** The address at which its peer tells of what happens, to be set up there; null where its provider needs none. */
  hookUrl: string | null;
  createdAt: string;
  updatedAt: string;
}

export interface InstanceList {
  instances: Instance[];
  pagination: Pagination;
}

/** A conversation. `guid`, `chatId` and `conversationId` are `id`. */
export interface Chat {
  id: string;
  guid: string;
  chatId: string;
  conversationId: string;
  name: string | null;
  participants: string[];
  isGroup: boolean;
  from: string;
  channel: Channel;
  lastMessageAt: string | null;
  createdAt: string;
  updatedAt: string;
}

export interface ChatList {
  chats: Chat[];
  pagination: Pagination;
}

/** Body of `POST /v1/chats/groups`. */
export interface CreateGroup {
  name?: string;
  participants: string[];
  from?: string;
  idempotencyKey?: string;
}

/** Body of `PUT /v1/chats/:id/name`. */
export interface RenameChat {
  name: string;
}

/** Body of `POST /v1/chats/:id/participants`. `phoneNumber` is a synonym of `participant`. */
export interface AddParticipant {
  participant?: string;
  phoneNumber?: string;
  idempotencyKey?: string;
}

export const TYPING_STATUSES = ["start", "stop"] as const;
export type TypingStatus = (typeof TYPING_STATUSES)[number];

/** Body of `POST /v1/chats/:id/typing`; without one: start. */
export interface SetTyping {
  status?: TypingStatus;
  idempotencyKey?: string;
}

export interface Typing {
  chatId: string;
  status: TypingStatus;
}

/** Body of `POST /v1/contacts`: `phoneNumber` or `email` at least. */
export interface CreateContact {
  firstName?: string | null;
  lastName?: string | null;
  phoneNumber?: string | null;
  email?: string | null;
  company?: string | null;
  tags?: string[];
  metadata?: Metadata | null;
  idempotencyKey?: string;
}

/** Body of `PUT /v1/contacts/:id`: what it names is changed. */
export type UpdateContact = Omit<CreateContact, "idempotencyKey">;

export interface Contact {
  id: string;
  firstName: string | null;
  lastName: string | null;
  phoneNumber: string | null;
  email: string | null;
  company: string | null;
  tags: string[];
  metadata: Metadata | null;
  lastContactedAt: string | null;
  createdAt: string;
  updatedAt: string;
}

export interface ContactList {
  contacts: Contact[];
  pagination: { total: number; limit: number; offset: number; hasMore: boolean };
}

/** Body of `POST /v1/contacts/bulk`. */
export interface CreateContacts {
  contacts: UpdateContact[];
  idempotencyKey?: string;
}

export interface CreatedContacts {
  created: number;
  failed: number;
  errors: { index: number; error: string }[];
}

/** Body of `DELETE /v1/contacts/bulk`. */
export interface DeleteContacts {
  ids: string[];
}

/** Answer of `DELETE /v1/contacts/:id`. */
export interface DeletedContact extends Deleted {
  /** With `erase=true` alone: when all that was written with the contact had been erased; null until then. */
  erasedAt?: string | null;
}

export interface DeletedContacts {
  deleted: number;
}

/** Answer of `GET /v1/contacts/:phone/focus`. `focusActive` is `focused`. */
export interface Focus {
  phoneNumber: string;
  focused: boolean;
  focusActive: boolean;
  focusMode?: string;
  cached: boolean;
}

/** Answer of `GET /v1/contacts/:phone/facetime`. */
export interface FacetimeAvailability {
  phoneNumber: string;
  available: boolean;
  cached: boolean;
}

/** Answer of `GET /v1/capabilities/:phone`. */
export interface PhoneCapabilities {
  phoneNumber: string;
  capabilities: { imessage: boolean; sms: boolean; facetime: boolean };
  iMessage: boolean;
  recommendedChannel: Channel | null;
  lastChecked: string;
  cached: boolean;
  focused: boolean;
  focusMode?: string;
}

export const PAYMENT_STATUSES = ["pending", "paid", "cancelled", "expired"] as const;
export type PaymentStatus = (typeof PAYMENT_STATUSES)[number];

export const PAYMENT_EVIDENCE = ["apple_cash", "text"] as const;
export type PaymentEvidence = (typeof PAYMENT_EVIDENCE)[number];

/** Body of `POST /v1/payments/request`. `amount` in dollars, two decimals at most: a number or a decimal string. */
export interface RequestPayment {
  to: string;
  from?: string;
  amount: number | string;
  currency?: "USD";
  note?: string;
  callbackUrl?: string;
  metadata?: Metadata;
  idempotencyKey?: string;
  expiresInSeconds?: number;
}

export interface PaymentRequest {
  id: string;
  messageId: string;
  to: string;
  from: string;
  amount: string;
  currency: "USD";
  note: string | null;
  status: PaymentStatus;
  metadata: Metadata | null;
  paidBy: { messageId: string; evidence: PaymentEvidence } | null;
  /** Why it was cancelled; null while it was not. */
  reason: string | null;
  expiresAt: string;
  paidAt: string | null;
  cancelledAt: string | null;
  createdAt: string;
  updatedAt: string;
}

export interface PaymentRequestList {
  requests: PaymentRequest[];
  pagination: Pagination;
}

export const CALL_STATUSES = ["incoming", "answered", "disconnected", "missed", "rejected", "failed"] as const;
export type CallStatus = (typeof CALL_STATUSES)[number];

/** A detected FaceTime call. `caller` and `address` are the other end, `to` is the number that was called. */
export interface Call {
  id: string;
  callUuid: string;
  from: string;
  caller: string;
  address: string;
  to: string;
  isAudio: boolean;
  isVideo: boolean;
  isOutgoing: boolean;
  status: CallStatus;
  history: { status: CallStatus; at: string }[];
  createdAt: string;
  updatedAt: string;
}

export interface CallList {
  calls: Call[];
  pagination: Pagination;
}

export const OPT_OUT_SOURCES = ["keyword", "api"] as const;

/** A contact that does not want messages from a number. */
export interface OptOut {
  number: string;
  contact: string;
  source: (typeof OPT_OUT_SOURCES)[number];
  /** What the contact wrote, with `keyword`. */
  keyword: string | null;
  createdAt: string;
}

export interface OptOutList {
  optOuts: OptOut[];
  pagination: Pagination;
}

export const KEY_SCOPES = ["messages", "admin"] as const;
export type KeyScope = (typeof KEY_SCOPES)[number];

/** The permissions of a customer's key: read, change messages and records, configure webhooks. */
export const KEY_PERMISSIONS = ["read", "send", "webhooks"] as const;
export type KeyPermission = (typeof KEY_PERMISSIONS)[number];

export interface RateLimit {
  limit: number;
  windowSeconds: number;
}

export interface CreateKey {
  name: string;
  customerId?: string;
  customerEmail?: string;
  scope?: KeyScope;
  /** Permissions of a `messages` key; all of them unless given. */
  permissions?: KeyPermission[];
  rateLimit?: RateLimit;
  expiresAt?: string;
  idempotencyKey?: string;
}

export interface Key {
  id: string;
  name: string;
  customerId: string | null;
  scope: KeyScope;
  /** Empty for an admin key. */
  permissions: KeyPermission[];
  last4: string;
  rateLimit: RateLimit | null;
  createdAt: string;
  lastUsedAt: string | null;
  expiresAt: string | null;
  revokedAt: string | null;
  replacedBy: string | null;
  /** The key itself: only in the answer that made it. */
  key?: string;
}

export interface KeyList {
  keys: Key[];
  pagination: Pagination;
}

export interface RotateKey {
  gracePeriodSeconds?: number;
  idempotencyKey?: string;
}

export interface UsageCounts {
  requests: number;
  rateLimited: number;
  messagesSent: number;
  segments: number;
  messagesReceived: number;
  webhooksDelivered: number;
  webhooksFailed: number;
}

export interface Usage {
  key: { id: string; name: string } | null;
  period: { from: string; to: string };
  totals: UsageCounts;
  series: (UsageCounts & { at: string })[];
}

/** A request that the sandbox's inbox received: `body` is the raw body, byte for byte, as text. */
export interface InboxRequest {
  receivedAt: string;
  /** Whether the signature was right; what is not signed is answered 401 and kept all the same. */
  verified: boolean;
  status: number;
  headers: Record<string, string>;
  body: string;
}

export interface Inbox {
  url: string;
  /** Signs what comes to the inbox, so that code which verifies can be tried on it. */
  secret: string;
  behaviour: InboxBehaviour;
  requests: InboxRequest[];
}

/** How the inbox answers: with `status`, after `delayMs`, the first `failFirst` requests with 503. */
export interface InboxBehaviour {
  status: number;
  delayMs: number;
  failFirst: number;
}

/** Body of `POST /v1/sandbox/phones/:number/messages`. `to` is one of the customer's numbers; the default one otherwise. */
export interface PhoneMessage {
  text?: string;
  attachments?: AttachmentInput[];
  /** A message of the customer's, or one of this phone's, that it answers. */
  replyTo?: string;
  to?: string;
  channel?: Channel;
  idempotencyKey?: string;
}

export interface PhoneTyping {
  typing: boolean;
  to?: string;
  idempotencyKey?: string;
}

export interface PhoneReaction {
  messageId: string;
  type: ReactionCommand;
  idempotencyKey?: string;
}

/** Body of `POST /v1/sandbox/phones/:number/audio-kept`: an audio message that is on the phone. */
export interface PhoneKeptAudio {
  messageId: string;
  idempotencyKey?: string;
}

/** Body of `POST /v1/sandbox/phones/:number/group-photo`: a group that the contact is in. */
export interface PhoneGroupPhoto {
  chatId: string;
  idempotencyKey?: string;
}

/** Body of `POST /v1/sandbox/phones/:number/payments`: `requestId` pays that request's amount when none is given. */
export interface PhonePayment {
  amount?: number | string;
  requestId?: string;
  to?: string;
  idempotencyKey?: string;
}

export const CALL_ACTIONS = ["ring", "answer", "hangup", "miss"] as const;
export type CallAction = (typeof CALL_ACTIONS)[number];

export interface PhoneCall {
  action: CallAction;
  video?: boolean;
  to?: string;
  idempotencyKey?: string;
}

/** How a phone of the sandbox behaves, for one customer. */
export interface PhoneSettings {
  /** While it is not, messages to it are taken and not delivered; they are when it is again. */
  online: boolean;
  imessage: boolean;
  readReceipts: boolean;
  /** While it is not, a message stays as it is when it is edited, and the edit fails. */
  edits: boolean;
  /** Time before each receipt, in milliseconds. */
  latencyMs: number;
  /** Share of messages that are lost, 0 to 100. */
  lossPercent: number;
}

/** The clock of a sandbox: `offsetMs` ahead of the real one. */
export interface SandboxClock {
  now: string;
  offsetMs: number;
}

/** Body of `POST /v1/sandbox/clock`: one of the two. `advance` is a duration such as `30s`, `5m`, `2h`, `1d`. */
export interface SetClock {
  advance?: string;
  reset?: boolean;
  idempotencyKey?: string;
}

export interface SandboxReset {
  reset: true;
}

export interface Health {
  status: "ok" | "degraded";
  timestamp: string;
  checks: Record<string, { status: "ok" | "degraded"; message?: string }>;
}
