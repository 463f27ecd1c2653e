/** Erasure of the conversation with a contact: its record, and erased messages, events, payments and calls. Pure. */

import type { Call } from "./call.ts";
import type { Event } from "./event.ts";
import type { ContactId, CustomerId, MessageId } from "./id.ts";
import type { Message } from "./message.ts";
import type { Payment } from "./payment.ts";
import { withoutStepBack } from "./step-back.ts";

/** Replaces the address of an erased person. It is no address, so nothing can be sent to it. */
export const ERASED = "erased";

/** A requested erasure. A complete one holds no address any more. */
export interface Erasure {
  contactId: ContactId;
  customerId: CustomerId;
  /** The person's addresses; empty once the erasure is complete. */
  addresses: string[];
  /** Messages with a smaller id are erased; later messages are not. */
  before: MessageId;
  /** Events of no message have been checked up to this position. */
  position: number;
  /** Events of no message are checked up to this position. */
  eventsUntil: number;
  requestedAt: number;
  completedAt: number | null;
}

/** Whether the message is one of an erased person. */
export function isErased({ from, to }: Pick<Message, "from" | "to">): boolean {
  return from === ERASED || to === ERASED;
}

/**
 * Erases a message except ids, the customer's own address, status and times. Its stored events are erased once none of their
 * deliveries is open (`erasedAt` is null until then). The message is never sent again, on any channel.
 */
export function eraseMessage(message: Message, now: number): Message {
  const person = message.direction === "outbound" ? { to: ERASED } : { from: ERASED };
  return {
    ...message,
    ...person,
    text: null,
    mediaUrls: [],
    attachments: [],
    mentions: [],
    metadata: null,
    externalMessageId: null,
    callbackUrl: null,
    errorMessage: null,
    sentPart: null,
    dueAt: null,
    channelsLeft: [],
    timeline: message.timeline.map(({ reason: _, ...entry }) => entry),
    deletedAt: message.deletedAt ?? now,
    erasedAt: null,
    updatedAt: withoutStepBack(message.updatedAt, now),
  };
}

/** Erases a payment request except ids, amount, status and times. */
export function erasePayment(payment: Payment): Payment {
  return { ...payment, to: ERASED, note: null, metadata: null, callbackUrl: null };
}

/** Erases a call except ids, the customer's own address, status and times. */
export function eraseCall(call: Call, addresses: readonly string[]): Call {
  const erased = (address: string) => (addresses.includes(address) ? ERASED : address);
  return { ...call, from: erased(call.from), caller: erased(call.caller), to: erased(call.to) };
}

/** Fields of events that hold an address. */
const ADDRESS_FIELDS = ["from", "to", "caller", "address", "participant", "actor", "contact"] as const;

type Data = Record<string, unknown> & { reaction?: { content: string }; error?: { message: string } };

/** The fields of an event that an erasure needs. */
export type StoredEvent = Pick<Event, "type" | "bytes">;

/** The bytes that replace an event which cannot be parsed. */
const NOTHING = "{}";

/** The bytes of an event without the text and files of its message. */
export function withoutText(event: StoredEvent): string {
  return rewritten(event, eraseText);
}

/** The bytes of an event without text, files and addresses of the person: `isPerson` recognises the addresses. */
export function withoutPerson(event: StoredEvent, isPerson: (address: string) => boolean): string {
  return rewritten(event, (data) => {
    eraseText(data);
    for (const field of ADDRESS_FIELDS) {
      const address = data[field];
      if (typeof address === "string" && isPerson(address)) data[field] = ERASED;
    }
    delete data.externalMessageId;
    if (data.error !== undefined) data.error.message = "";
    if ("note" in data) data.note = null;
    if (event.type.startsWith("contact.")) Object.assign(data, { keyword: null, reason: null });
    if (event.type.startsWith("payment.")) data.metadata = null;
    else delete data.metadata;
  });
}

/** Whether an event of no message contains one of the addresses. An event that cannot be parsed counts as one. */
export function mentionsAddress(event: StoredEvent, addresses: readonly string[]): boolean {
  const data = parse(event)?.data;
  if (data === undefined) return true;
  return ADDRESS_FIELDS.some((field) => addresses.includes(String(data[field])));
}

function eraseText(data: Data): void {
  if ("text" in data) data.text = null;
  if ("attachments" in data) data.attachments = [];
  // The content of a reaction quotes the text.
  if (data.reaction !== undefined) data.reaction.content = "";
}

function rewritten(event: StoredEvent, change: (data: Data) => void): string {
  const envelope = parse(event);
  if (envelope === null) return NOTHING;
  change(envelope.data);
  return JSON.stringify(envelope);
}

/** The envelope of an event; null if its bytes cannot be parsed. */
function parse({ bytes }: StoredEvent): { data: Data } | null {
  try {
    const envelope = JSON.parse(bytes) as { data?: unknown } | null;
    return typeof envelope?.data === "object" && envelope.data !== null ? (envelope as { data: Data }) : null;
  } catch {
    return null;
  }
}
