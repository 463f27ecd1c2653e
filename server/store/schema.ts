/** Every table as data: its name, its key and its columns. No other file lists columns. */

import type { Content } from "../core/attachment.ts";
import type { Call } from "../core/call.ts";
import type { Chat } from "../core/chat.ts";
import type { Contact, ContactAddress } from "../core/contact.ts";
import type { Customer } from "../core/customer.ts";
import type { Attempt, Delivery } from "../core/delivery.ts";
import type { Erasure } from "../core/erasure.ts";
import type { Event } from "../core/event.ts";
import type { Instance } from "../core/instance.ts";
import type { ApiKey } from "../core/key.ts";
import type { Message } from "../core/message.ts";
import type { CustomerNumber } from "../core/number.ts";
import type { OptOut } from "../core/opt-out.ts";
import type { Payment } from "../core/payment.ts";
import type { UsageHour } from "../core/usage.ts";
import type { Endpoint } from "../core/webhook.ts";
import type { Arrival, Idempotency, MemoryEntry, ProviderReference, SettingEntry } from "./records.ts";

/** The records of all tables. */
export interface Records {
  customers: Customer;
  numbers: CustomerNumber;
  keys: ApiKey;
  instances: Instance;
  messages: Message;
  providerReferences: ProviderReference;
  events: Event;
  endpoints: Endpoint;
  deliveries: Delivery;
  attempts: Attempt;
  idempotency: Idempotency;
  usage: UsageHour;
  memory: MemoryEntry;
  settings: SettingEntry;
  chats: Chat;
  contacts: Contact;
  contactAddresses: ContactAddress;
  payments: Payment;
  calls: Call;
  contents: Content;
  arrivals: Arrival;
  optOuts: OptOut;
  erasures: Erasure;
}

export type TableName = keyof Records;

/** How a column stores its value: as it is, as 0 or 1 (`flag`), or as JSON text. */
export type ColumnKind = "text" | "number" | "flag" | "json" | "bytes";

type Columns<Record_> = { readonly [Property in keyof Record_]-?: ColumnKind };

/** Columns with a name of their own in SQL, by table and property. Any other column is its property in snake case. */
export const SQL_NAMES = {
  messages: { sendAttempts: "hand_overs", account: "peer" },
  chats: { contact: "peer" },
  deliveries: { retryRequested: "owed" },
} as const satisfies { [Name in TableName]?: { [Property in keyof Records[Name]]?: string } };

/** The SQL names of a table's columns that have one of their own. */
export type SqlNames<Name extends TableName> = Name extends keyof typeof SQL_NAMES ? (typeof SQL_NAMES)[Name] : object;

/** A table: its name in SQL, the properties of its key, and its columns by property. */
export interface Table<Record_> {
  readonly name: string;
  readonly key: readonly (keyof Record_ & string)[];
  /** The properties that `insertUnique` requires to be new. */
  readonly unique: readonly (keyof Record_ & string)[];
  readonly columns: Columns<Record_>;
}

const secretColumns = { secret: "text", previousSecret: "text", previousSecretUntil: "number" } as const;

export const TABLES: { readonly [Name in TableName]: Table<Records[Name]> } = {
  customers: table("customers", ["id"], ["id"], {
    id: "text",
    version: "number",
    name: "text",
    email: "text",
    company: "text",
    ...secretColumns,
    secretKnown: "flag",
    routes: "json",
    quietHours: "json",
    createdAt: "number",
    updatedAt: "number",
  }),
  numbers: table("numbers", ["id"], ["address"], {
    id: "text",
    customerId: "text",
    address: "text",
    provider: "text",
    instanceId: "text",
    isDefault: "flag",
    createdAt: "number",
  }),
  keys: table("keys", ["id"], ["hash"], {
    id: "text",
    version: "number",
    name: "text",
    customerId: "text",
    scope: "text",
    permissions: "json",
    hash: "text",
    last4: "text",
    rateLimit: "json",
    createdAt: "number",
    lastUsedAt: "number",
    expiresAt: "number",
    revokedAt: "number",
    replacedBy: "text",
  }),
  instances: table("instances", ["id"], ["id"], {
    id: "text",
    version: "number",
    name: "text",
    provider: "text",
    config: "text",
    createdAt: "number",
    updatedAt: "number",
  }),
  messages: table("messages", ["id"], ["id"], {
    id: "text",
    version: "number",
    customerId: "text",
    keyId: "text",
    direction: "text",
    status: "text",
    from: "text",
    to: "text",
    channel: "text",
    channelsLeft: "json",
    fallback: "flag",
    fallbackAfterMs: "number",
    fallbackTriggered: "flag",
    text: "text",
    messageType: "text",
    mediaUrls: "json",
    attachments: "json",
    chatId: "text",
    effect: "text",
    replyTo: "text",
    parentMessageId: "text",
    mentions: "json",
    payment: "json",
    editedAt: "number",
    metadata: "json",
    externalMessageId: "text",
    callbackUrl: "text",
    correlationId: "text",
    instanceId: "text",
    instancesTried: "json",
    dueAt: "number",
    claimedUntil: "number",
    expiresAt: "number",
    sendAttempts: "number",
    account: "text",
    sentPart: "json",
    unknownSince: "number",
    sequence: "number",
    retryCount: "number",
    providerMessageId: "text",
    errorCode: "text",
    errorMessage: "text",
    providerErrorCode: "text",
    segments: "number",
    encoding: "text",
    scheduledAt: "number",
    sentAt: "number",
    deliveredAt: "number",
    readAt: "number",
    createdAt: "number",
    updatedAt: "number",
    deletedAt: "number",
    erasedAt: "number",
    timeline: "json",
  }),
  providerReferences: table("hand_overs", ["instanceId", "reference"], ["instanceId", "reference"], {
    instanceId: "text",
    reference: "text",
    messageId: "text",
    channel: "text",
    createdAt: "number",
  }),
  events: table("events", ["id"], ["id"], {
    id: "text",
    customerId: "text",
    type: "text",
    messageId: "text",
    sequence: "number",
    correlationId: "text",
    createdAt: "number",
    bytes: "text",
  }),
  endpoints: table("endpoints", ["id"], ["id"], {
    id: "text",
    version: "number",
    customerId: "text",
    kind: "text",
    name: "text",
    url: "text",
    events: "json",
    active: "flag",
    maxInFlight: "number",
    ...secretColumns,
    createdAt: "number",
    updatedAt: "number",
  }),
  deliveries: table("deliveries", ["id"], ["id"], {
    id: "text",
    version: "number",
    customerId: "text",
    eventId: "text",
    eventType: "text",
    messageId: "text",
    endpointId: "text",
    url: "text",
    lane: "text",
    sequence: "number",
    status: "text",
    attemptCount: "number",
    retryCount: "number",
    dueAt: "number",
    claimedUntil: "number",
    byHand: "flag",
    resumeAt: "number",
    retryRequested: "flag",
    createdAt: "number",
  }),
  attempts: table("attempts", ["deliveryId", "number"], ["deliveryId", "number"], {
    deliveryId: "text",
    number: "number",
    at: "number",
    status: "number",
    durationMs: "number",
    response: "text",
    error: "text",
  }),
  idempotency: table("idempotency", ["scope", "key"], ["scope", "key"], {
    scope: "text",
    key: "text",
    fingerprint: "text",
    result: "text",
    createdAt: "number",
  }),
  usage: table("usage", ["subject", "at"], ["subject", "at"], {
    subject: "text",
    at: "number",
    requests: "number",
    rateLimited: "number",
    messagesSent: "number",
    segments: "number",
    messagesReceived: "number",
    webhooksDelivered: "number",
    webhooksFailed: "number",
  }),
  memory: table("memory", ["instanceId", "key"], ["instanceId", "key"], {
    instanceId: "text",
    key: "text",
    value: "text",
  }),
  settings: table("settings", ["name"], ["name"], { name: "text", value: "text" }),
  chats: table("chats", ["id"], ["key"], {
    id: "text",
    version: "number",
    customerId: "text",
    key: "text",
    isGroup: "flag",
    from: "text",
    contact: "text",
    instanceId: "text",
    reference: "text",
    channel: "text",
    name: "text",
    participants: "json",
    leftAt: "number",
    createdAt: "number",
    updatedAt: "number",
  }),
  contacts: table("contacts", ["id"], ["id"], {
    id: "text",
    version: "number",
    customerId: "text",
    firstName: "text",
    lastName: "text",
    phoneNumber: "text",
    email: "text",
    company: "text",
    tags: "json",
    metadata: "json",
    searchText: "text",
    createdAt: "number",
    updatedAt: "number",
  }),
  contactAddresses: table("contact_addresses", ["customerId", "address"], ["customerId", "address"], {
    customerId: "text",
    address: "text",
    contactId: "text",
  }),
  payments: table("payments", ["id"], ["id"], {
    id: "text",
    version: "number",
    customerId: "text",
    keyId: "text",
    messageId: "text",
    from: "text",
    to: "text",
    amountCents: "number",
    currency: "text",
    note: "text",
    status: "text",
    metadata: "json",
    callbackUrl: "text",
    correlationId: "text",
    paidBy: "json",
    reason: "text",
    expiresAt: "number",
    dueAt: "number",
    paidAt: "number",
    cancelledAt: "number",
    createdAt: "number",
    updatedAt: "number",
  }),
  calls: table("calls", ["id"], ["instanceId", "callUuid"], {
    id: "text",
    version: "number",
    customerId: "text",
    instanceId: "text",
    callUuid: "text",
    from: "text",
    caller: "text",
    to: "text",
    isAudio: "flag",
    isVideo: "flag",
    isOutgoing: "flag",
    status: "text",
    history: "json",
    createdAt: "number",
    updatedAt: "number",
  }),
  contents: table("contents", ["id"], ["id"], {
    id: "text",
    customerId: "text",
    messageId: "text",
    mimeType: "text",
    filename: "text",
    totalBytes: "number",
    data: "bytes",
    instanceId: "text",
    reference: "text",
    createdAt: "number",
  }),
  arrivals: table("arrivals", ["instanceId", "reference"], ["instanceId", "reference"], {
    instanceId: "text",
    reference: "text",
    createdAt: "number",
  }),
  optOuts: table("opt_outs", ["number", "contact"], ["number", "contact"], {
    customerId: "text",
    number: "text",
    contact: "text",
    source: "text",
    keyword: "text",
    createdAt: "number",
  }),
  erasures: table("erasures", ["contactId"], ["contactId"], {
    contactId: "text",
    customerId: "text",
    addresses: "json",
    before: "text",
    position: "number",
    eventsUntil: "number",
    requestedAt: "number",
    completedAt: "number",
  }),
};

function table<Record_>(
  name: string,
  key: readonly (keyof Record_ & string)[],
  unique: readonly (keyof Record_ & string)[],
  columns: Columns<Record_>,
): Table<Record_> {
  return { name, key, unique, columns };
}
