/** How records become rows and back, and the database as reads see it. */

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
import type { Arrival, HandOver, Idempotency, MemoryEntry, Setting } from "./records.ts";
import { type Kind, type Records, TABLES, type TableName } from "./schema.ts";

/** `createdAt` → `created_at`. */
export function columnOf(property: string): string {
  return property.replace(/[A-Z]/g, (letter) => `_${letter.toLowerCase()}`);
}

/** What a column can hold. */
export type Value = string | number | Uint8Array | null;

/** The value of one property as its column keeps it. */
export function encodeValue(kind: Kind, value: unknown): Value {
  if (value === null || value === undefined) return null;
  if (kind === "json") return JSON.stringify(value);
  if (kind === "flag") return value ? 1 : 0;
  return value as string | number | Uint8Array;
}

/** The value of one property from what its column holds. */
export function decodeValue(kind: Kind, value: Value): unknown {
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

type Cell<Type> = Type extends boolean ? number : Type extends string | number | Uint8Array | null ? Type : string;

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
  chats: Row<Chat>;
  contacts: Row<Contact>;
  contact_addresses: Row<ContactAddress>;
  payments: Row<Payment>;
  calls: Row<Call>;
  contents: Row<Content>;
  arrivals: Row<Arrival>;
  opt_outs: Row<OptOut>;
  erasures: Row<Erasure>;
}
