/** Every table as data: its columns, its key, and how a record becomes a row and back. Nothing else knows a column. */

import type { Customer } from "../core/customer.ts";
import type { Attempt, Delivery } from "../core/delivery.ts";
import type { Event } from "../core/event.ts";
import type { Instance } from "../core/instance.ts";
import type { ApiKey } from "../core/key.ts";
import type { Message } from "../core/message.ts";
import type { CustomerNumber } from "../core/number.ts";
import type { UsageHour } from "../core/usage.ts";
import type { Endpoint } from "../core/webhook.ts";

/** First use of an idempotency key: what was asked, and what it made. */
export interface Idempotency {
  /** Customer id, or `admin`. */
  scope: string;
  key: string;
  /** SHA-256 of route and canonical body, hexadecimal. */
  fingerprint: string;
  /** JSON that the route itself knows how to answer from: an id, mostly. */
  result: string;
  createdAt: number;
}

/** A provider's reference of a hand-over it took: how receipts find their message. */
export interface HandOver {
  instanceId: string;
  reference: string;
  messageId: string;
  channel: string;
  createdAt: number;
}

/** One entry of a provider instance's memory. */
export interface MemoryEntry {
  instanceId: string;
  key: string;
  value: string;
}

/** One fact about the database itself: the schema of its secrets, the clock's shift. */
export interface Setting {
  name: string;
  value: string;
}

/** The records of all tables. */
export interface Records {
  customers: Customer;
  numbers: CustomerNumber;
  keys: ApiKey;
  instances: Instance;
  messages: Message;
  handOvers: HandOver;
  events: Event;
  endpoints: Endpoint;
  deliveries: Delivery;
  attempts: Attempt;
  idempotency: Idempotency;
  usage: UsageHour;
  memory: MemoryEntry;
  settings: Setting;
}

export type TableName = keyof Records;

/** How a value is kept: as it is, as 0 or 1, or as JSON text. */
type Kind = "text" | "number" | "flag" | "json";

type Columns<Record_> = { readonly [Property in keyof Record_]-?: Kind };

/** A table: its name in SQL, the properties of its key, its columns by property. */
export interface Table<Record_> {
  readonly name: string;
  readonly key: readonly (keyof Record_ & string)[];
  /** The properties that must be the first of their kind, where a unit asks for it. */
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
    hash: "text",
    last4: "text",
    rateLimit: "json",
    createdAt: "number",
    lastUsedAt: "number",
    expiresAt: "number",
    revokedAt: "number",
    replacedBy: "text",
  }),
  instances: table("instances", ["id"], ["id"], { id: "text", name: "text", provider: "text", createdAt: "number" }),
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
    metadata: "json",
    externalMessageId: "text",
    callbackUrl: "text",
    correlationId: "text",
    instanceId: "text",
    dueAt: "number",
    claimedUntil: "number",
    expiresAt: "number",
    handOvers: "number",
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
  handOvers: table("hand_overs", ["instanceId", "reference"], ["instanceId", "reference"], {
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
    owed: "flag",
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
};

function table<Record_>(
  name: string,
  key: readonly (keyof Record_ & string)[],
  unique: readonly (keyof Record_ & string)[],
  columns: Columns<Record_>,
): Table<Record_> {
  return { name, key, unique, columns };
}

/** `createdAt` → `created_at`. */
export function columnOf(property: string): string {
  return property.replace(/[A-Z]/g, (letter) => `_${letter.toLowerCase()}`);
}

/** What a column can hold. */
export type Value = string | number | null;

/** The value of one property as its column keeps it. */
export function encodeValue(kind: Kind, value: unknown): Value {
  if (value === null || value === undefined) return null;
  if (kind === "json") return JSON.stringify(value);
  if (kind === "flag") return value ? 1 : 0;
  return value as string | number;
}

function decodeValue(kind: Kind, value: Value): unknown {
  if (value === null) return null;
  if (kind === "json") return JSON.parse(String(value));
  if (kind === "flag") return value !== 0;
  return value;
}

/** Properties, columns and kinds of a table, ready to loop over. */
export const LAYOUT = Object.fromEntries(
  Object.entries(TABLES).map(([name, { columns }]) => [
    name,
    Object.entries(columns).map(([property, kind]) => ({ property, column: columnOf(property), kind })),
  ]),
) as Record<TableName, { property: string; column: string; kind: Kind }[]>;

/** The record that a row holds. Columns which the row lacks are left out. */
export function decode<Name extends TableName>(name: Name, row: object): Records[Name] {
  const record: Record<string, unknown> = {};
  const values = row as Record<string, Value | undefined>;
  for (const { property, column, kind } of LAYOUT[name]) {
    const value = values[column];
    if (value !== undefined) record[property] = decodeValue(kind, value);
  }
  return record as unknown as Records[Name];
}

type SnakeCase<Text extends string> = Text extends `${infer Head}${infer Tail}`
  ? `${Head extends Lowercase<Head> ? Head : `_${Lowercase<Head>}`}${SnakeCase<Tail>}`
  : Text;

type Cell<Type> = Type extends boolean ? number : Type extends string | number | null ? Type : string;

/** The row of a record, as Kysely reads it. */
export type Row<Record_> = { [Property in keyof Record_ & string as SnakeCase<Property>]: Cell<Record_[Property]> };

/** The database as reads see it. `events.position` is drawn inside the commit and orders a customer's events. */
export interface Database {
  customers: Row<Customer>;
  numbers: Row<CustomerNumber>;
  keys: Row<ApiKey>;
  instances: Row<Instance>;
  messages: Row<Message>;
  hand_overs: Row<HandOver>;
  events: Row<Event> & { position: number };
  endpoints: Row<Endpoint>;
  deliveries: Row<Delivery>;
  attempts: Row<Attempt>;
  idempotency: Row<Idempotency>;
  usage: Row<UsageHour>;
  memory: Row<MemoryEntry>;
  settings: Row<Setting>;
}
