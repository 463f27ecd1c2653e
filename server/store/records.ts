/**
 * The type of each table's records, and the records of the store itself: idempotency keys, provider references,
 * arrivals, provider memory, settings.
 */

import type { Content } from "../core/attachment.ts";
import type { Call } from "../core/call.ts";
import type { Chat } from "../core/chat.ts";
import type { Contact, ContactAddress } from "../core/contact.ts";
import type { Customer } from "../core/customer.ts";
import type { Delivery } from "../core/delivery.ts";
import type { Erasure } from "../core/erasure.ts";
import type { Event } from "../core/event.ts";
import type { Instance } from "../core/instance.ts";
import type { ApiKey } from "../core/key.ts";
import type { LoggedRequest } from "../core/logged-request.ts";
import type { Message } from "../core/message.ts";
import type { CustomerNumber } from "../core/number.ts";
import type { OptOut } from "../core/opt-out.ts";
import type { Payment } from "../core/payment.ts";
import type { Replay } from "../core/replay.ts";
import type { SendAttempt } from "../core/send-attempt.ts";
import type { BrowserSession } from "../core/session.ts";
import type { UsageHour } from "../core/usage.ts";
import type { Endpoint } from "../core/webhook.ts";

/** The records of all tables. */
export interface Records {
  customers: Customer;
  numbers: CustomerNumber;
  keys: ApiKey;
  instances: Instance;
  messages: Message;
  sendAttempts: SendAttempt;
  providerReferences: ProviderReference;
  events: Event;
  endpoints: Endpoint;
  deliveries: Delivery;
  replays: Replay;
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
  sessions: BrowserSession;
  requests: LoggedRequest;
}

export type TableName = keyof Records;

/** The first use of an idempotency key: its request, and the result. */
export interface Idempotency {
  /** Customer id, or `admin`. */
  scope: string;
  key: string;
  /** SHA-256 of route and canonical body, hexadecimal. */
  fingerprint: string;
  /** Text from which the route builds the response: mostly the id of the created record. */
  result: string;
  createdAt: number;
}

/**
 * A provider's reference of a message that came in. Receipts, reactions and repeats find the message by it, as by the
 * reference of a send attempt.
 */
export interface ProviderReference {
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

/** The reference of a signal that was applied: a repeat of the signal changes nothing. */
export interface Arrival {
  instanceId: string;
  reference: string;
  createdAt: number;
}

/** One fact about the database itself, such as the shift of the sandbox's clock. */
export interface SettingEntry {
  name: string;
  value: string;
}
