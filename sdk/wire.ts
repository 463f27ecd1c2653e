/** Every shape, code and event name that crosses the wire, once. Imports nothing; server, CLI and console read it. */

/** Event types a customer may subscribe to (specification 6.2, then those of contract 4). */
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

/** Error codes with the HTTP status each answers (contract 3, "Error codes, complete"). */
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

/** Statuses of a message (contract 3). `pending`: handed to a provider, answer not known. */
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
] as const;
export type MessageStatus = (typeof MESSAGE_STATUSES)[number];

export const DIRECTIONS = ["outbound", "inbound"] as const;
export type Direction = (typeof DIRECTIONS)[number];

/** `errorCode` of a failed message (contract 3). */
export const MESSAGE_ERROR_CODES = [
  "NO_CHANNEL_AVAILABLE",
  "REJECTED",
  "IMESSAGE_SEND_FAILED",
  "SMS_SEND_FAILED",
  "EXPIRED",
  "RECIPIENT_OPTED_OUT",
  "OUTCOME_UNKNOWN",
] as const;
export type MessageErrorCode = (typeof MESSAGE_ERROR_CODES)[number];

/** Why a channel was given up (contract 3, Routing). */
export const FALLBACK_REASONS = ["NOT_REACHABLE", "REJECTED", "NO_DELIVERY"] as const;
export type FallbackReason = (typeof FALLBACK_REASONS)[number];

/** JSON objects of the caller's own: kept and given back as they came. */
export type Metadata = Record<string, unknown>;

/** Body of `POST /v1/messages`. */
export interface SendMessage {
  to?: string;
  from?: string;
  content: { text: string };
  routing?: { preference?: Channel[]; fallback?: boolean; fallbackAfterSeconds?: number };
  scheduledAt?: string;
  idempotencyKey?: string;
  externalMessageId?: string;
  callbackUrl?: string;
  metadata?: Metadata;
}

/** Body of `POST /v1/messages/:id/retry`. `mayDuplicate` is asked for where the first hand-over may have worked. */
export interface RetryMessage {
  mayDuplicate?: boolean;
  idempotencyKey?: string;
}

/** Answer of `POST /v1/messages`. */
export interface AcceptedMessage {
  id: string;
  status: MessageStatus;
  to: string;
  from: string;
  channel: Channel;
  scheduledAt: string | null;
  externalMessageId: string | null;
  createdAt: string;
}

export interface TimelineEntry {
  status: MessageStatus;
  at: string;
  channel: Channel;
  reason?: string;
  instanceId?: string;
}

export interface Message extends AcceptedMessage {
  direction: Direction;
  chatId: string | null;
  messageType: "text" | "media" | "carousel";
  content: { text: string | null; mediaUrls: string[] };
  attachments: unknown[];
  metadata: Metadata | null;
  effect: string | null;
  replyTo: string | null;
  parentMessageId: string | null;
  fallbackTriggered: boolean;
  providerMessageId: string | null;
  errorCode: MessageErrorCode | null;
  errorMessage: string | null;
  providerErrorCode: string | null;
  segments: number | null;
  encoding: string | null;
  sentAt: string | null;
  deliveredAt: string | null;
  readAt: string | null;
  updatedAt: string;
  retryCount: number;
  timeline: TimelineEntry[];
}

export interface MessageList {
  messages: Message[];
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
  status: MessageStatus;
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
}

/** Body of `POST /v1/webhooks`. */
export interface CreateWebhook extends SetWebhook {
  name?: string;
}

/** Body of `PATCH /v1/webhooks/:id`. */
export interface UpdateWebhook {
  url?: string;
  events?: (EventType | "*")[];
  name?: string | null;
  secret?: string;
  active?: boolean;
}

/** Body of `POST /v1/webhooks/rotate-secret` and `/v1/webhooks/:id/rotate-secret`. */
export interface RotateSecret {
  gracePeriodSeconds?: number;
}

export interface Webhook {
  id: string;
  name: string | null;
  url: string;
  events: (EventType | "*")[];
  active: boolean;
  primary: boolean;
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

export interface DeliveryList {
  deliveries: Delivery[];
  pagination: Pagination;
}

/** Body of `POST /v1/webhooks/:id/replay`: ISO 8601 instants, `until` exclusive. */
export interface Replay {
  since: string;
  until?: string;
  types?: EventType[];
}

export interface Replayed {
  deliveries: number;
}

export interface Deleted {
  id: string;
  deleted: true;
}

export const PROVIDERS = ["sandbox"] as const;
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
}

export interface CreateCustomer {
  name: string;
  email?: string;
  company?: string;
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

export const KEY_SCOPES = ["messages", "admin"] as const;
export type KeyScope = (typeof KEY_SCOPES)[number];

export interface RateLimit {
  limit: number;
  windowSeconds: number;
}

export interface CreateKey {
  name: string;
  customerId?: string;
  customerEmail?: string;
  scope?: KeyScope;
  rateLimit?: RateLimit;
  expiresAt?: string;
}

export interface Key {
  id: string;
  name: string;
  customerId: string | null;
  scope: KeyScope;
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

export interface Health {
  status: "ok" | "degraded";
  timestamp: string;
  checks: Record<string, { status: "ok" | "degraded"; message?: string }>;
}
