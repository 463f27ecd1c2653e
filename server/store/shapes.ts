/** Which stored values are permitted beyond the kind of their column: null, forms of JSON, values of enumerations. */

import {
  CALL_STATUSES,
  CHANNELS,
  DELIVERY_STATUSES,
  DIRECTIONS,
  EFFECTS,
  ENCODINGS,
  EVENT_TYPES,
  KEY_SCOPES,
  MESSAGE_ERROR_CODES,
  MESSAGE_STATUSES,
  MESSAGE_TYPES,
  OPT_OUT_SOURCES,
  PAYMENT_STATUSES,
  PROVIDERS,
} from "../../sdk/wire.ts";
import type { Records, TableName } from "./schema.ts";

/** The form of a JSON value: a check, and a description for operators. */
export interface Form {
  expected: string;
  isList: boolean;
  fits(value: unknown): boolean;
}

type PropertyOf<Record_> = keyof Record_ & string;
type NullableOf<Record_> = {
  [Property in PropertyOf<Record_>]: null extends Record_[Property] ? Property : never;
}[PropertyOf<Record_>];
type JsonOf<Record_> = {
  [Property in PropertyOf<Record_>]: NonNullable<Record_[Property]> extends Uint8Array
    ? never
    : NonNullable<Record_[Property]> extends object
      ? Property
      : never;
}[PropertyOf<Record_>];

/** `nullable` and `json` are complete, checked against the record's type. `words`: the values of enumerations. */
interface Shape<Record_> {
  nullable: { readonly [Property in NullableOf<Record_>]: true };
  json: { readonly [Property in JsonOf<Record_>]: Form };
  words: { readonly [Property in PropertyOf<Record_>]?: readonly string[] };
}

type JsonObject = Readonly<Record<string, unknown>>;

const isObject = (value: unknown): value is JsonObject =>
  typeof value === "object" && value !== null && !Array.isArray(value);

const OBJECT: Form = { expected: "an object", isList: false, fits: isObject };
const TEXTS: Form = listOf("texts", (item) => typeof item === "string");
const OBJECTS: Form = listOf("objects", isObject);
/** Entries of a history: each with a status and an instant. */
const HISTORY: Form = listOf(
  "entries with a status and an instant",
  (item) => isObject(item) && typeof item.status === "string" && Number.isSafeInteger(item.at),
);
const ROUTES: Form = listOf(
  "routes, each with a prefix and an instanceId",
  (item) => isObject(item) && typeof item.prefix === "string" && typeof item.instanceId === "string",
);
const QUIET_HOURS: Form = {
  expected: "an object with start, end and timeZone",
  isList: false,
  fits: (value) =>
    isObject(value) &&
    typeof value.start === "string" &&
    typeof value.end === "string" &&
    (value.timeZone === null || typeof value.timeZone === "string"),
};
const RATE_LIMIT: Form = {
  expected: "an object with limit and windowSeconds",
  isList: false,
  fits: (value) => isObject(value) && typeof value.limit === "number" && typeof value.windowSeconds === "number",
};

const SENT_PART: Form = {
  expected: "an object with reference and what",
  isList: false,
  fits: (value) => isObject(value) && typeof value.reference === "string" && typeof value.what === "string",
};

function listOf(items: string, fits: (item: unknown) => boolean): Form {
  return { expected: `a list of ${items}`, isList: true, fits: (value) => Array.isArray(value) && value.every(fits) };
}

const SECRETS_NULLABLE = { previousSecret: true, previousSecretUntil: true } as const;

/** The shape of every table's records. */
export const SHAPES: { readonly [Name in TableName]: Shape<Records[Name]> } = {
  customers: {
    nullable: { email: true, company: true, quietHours: true, ...SECRETS_NULLABLE },
    json: { routes: ROUTES, quietHours: QUIET_HOURS },
    words: {},
  },
  numbers: { nullable: {}, json: {}, words: { provider: PROVIDERS } },
  keys: {
    nullable: {
      customerId: true,
      rateLimit: true,
      lastUsedAt: true,
      expiresAt: true,
      revokedAt: true,
      replacedBy: true,
    },
    json: { permissions: TEXTS, rateLimit: RATE_LIMIT },
    words: { scope: KEY_SCOPES },
  },
  instances: { nullable: { config: true }, json: {}, words: { provider: PROVIDERS } },
  messages: {
    nullable: {
      keyId: true,
      fallbackAfterMs: true,
      text: true,
      chatId: true,
      effect: true,
      replyTo: true,
      parentMessageId: true,
      payment: true,
      editedAt: true,
      metadata: true,
      externalMessageId: true,
      callbackUrl: true,
      dueAt: true,
      claimedUntil: true,
      expiresAt: true,
      account: true,
      sentPart: true,
      unknownSince: true,
      providerMessageId: true,
      errorCode: true,
      errorMessage: true,
      providerErrorCode: true,
      segments: true,
      encoding: true,
      scheduledAt: true,
      sentAt: true,
      deliveredAt: true,
      readAt: true,
      deletedAt: true,
      erasedAt: true,
    },
    json: {
      channelsLeft: TEXTS,
      mediaUrls: TEXTS,
      attachments: OBJECTS,
      mentions: OBJECTS,
      payment: OBJECT,
      metadata: OBJECT,
      sentPart: SENT_PART,
      instancesTried: TEXTS,
      timeline: HISTORY,
    },
    words: {
      direction: DIRECTIONS,
      status: MESSAGE_STATUSES,
      channel: CHANNELS,
      messageType: MESSAGE_TYPES,
      effect: EFFECTS,
      errorCode: MESSAGE_ERROR_CODES,
      encoding: ENCODINGS,
    },
  },
  providerReferences: { nullable: {}, json: {}, words: { channel: CHANNELS } },
  events: { nullable: { messageId: true }, json: {}, words: { type: EVENT_TYPES } },
  endpoints: {
    nullable: { name: true, maxInFlight: true, secret: true, ...SECRETS_NULLABLE },
    json: { events: TEXTS },
    words: { kind: ["primary", "extra", "inbox"] },
  },
  deliveries: {
    nullable: { messageId: true, endpointId: true, dueAt: true, claimedUntil: true, resumeAt: true },
    json: {},
    words: { eventType: EVENT_TYPES, status: DELIVERY_STATUSES },
  },
  attempts: { nullable: { status: true, response: true, error: true }, json: {}, words: {} },
  idempotency: { nullable: {}, json: {}, words: {} },
  usage: { nullable: {}, json: {}, words: {} },
  memory: { nullable: {}, json: {}, words: {} },
  settings: { nullable: {}, json: {}, words: {} },
  chats: {
    nullable: { contact: true, reference: true, name: true, leftAt: true },
    json: { participants: TEXTS },
    words: { channel: CHANNELS },
  },
  contacts: {
    nullable: { firstName: true, lastName: true, phoneNumber: true, email: true, company: true, metadata: true },
    json: { tags: TEXTS, metadata: OBJECT },
    words: {},
  },
  contactAddresses: { nullable: {}, json: {}, words: {} },
  payments: {
    nullable: {
      note: true,
      metadata: true,
      callbackUrl: true,
      paidBy: true,
      reason: true,
      dueAt: true,
      paidAt: true,
      cancelledAt: true,
    },
    json: { metadata: OBJECT, paidBy: OBJECT },
    words: { currency: ["USD"], status: PAYMENT_STATUSES },
  },
  calls: { nullable: {}, json: { history: HISTORY }, words: { status: CALL_STATUSES } },
  contents: {
    nullable: { filename: true, totalBytes: true, data: true, instanceId: true, reference: true },
    json: {},
    words: {},
  },
  arrivals: { nullable: {}, json: {}, words: {} },
  erasures: { nullable: { completedAt: true }, json: { addresses: TEXTS }, words: {} },
  optOuts: { nullable: { keyword: true }, json: {}, words: { source: OPT_OUT_SOURCES } },
};
