/** Chats: one-to-one threads, created with their first message, and groups; and their record in the API. */

import type { Channel, Chat as WireChat } from "../../sdk/wire.ts";
import type { ChatId, CustomerId, InstanceId } from "./id.ts";
import { iso, isoOrNull } from "./instant.ts";
import { parseAddress } from "./phone.ts";
import { phoneKey } from "./phone-forms.ts";

export interface Chat {
  id: ChatId;
  version: number;
  customerId: CustomerId;
  /** Unique lookup key: see `threadKey`, `groupKey` and `unnamedGroupKey`. */
  key: string;
  isGroup: boolean;
  /** The customer's own address in it. */
  from: string;
  /** The contact of a one-to-one thread, in the first form that was seen; null for a group. */
  contact: string | null;
  /** The form that the contact last wrote with; null if nobody wrote, and for a contact whose address has one form. */
  lastForm: string | null;
  /** The instance that the chat lives on. */
  instanceId: InstanceId;
  /** The provider's reference of a group; null before it exists, and for a one-to-one thread. */
  reference: string | null;
  /** The channel of the chat when it began. */
  channel: Channel;
  name: string | null;
  /** Every participant except the customer's own address. */
  participants: string[];
  /** When the customer left the group. */
  leftAt: number | null;
  createdAt: number;
  updatedAt: number;
}

/** Whether the recipient of a message is a group. */
export function isGroupId(to: string): to is ChatId {
  return to.startsWith("chat_");
}

/** The name of a conversation in a request: an id, or the contact of a one-to-one thread. */
export type ConversationName = { kind: "id"; id: string } | { kind: "thread"; contact: string };

/** A thread in the form of Apple's Messages: a service, `-` for one-to-one, and the contact's address. */
const THREAD_GUID = /^(?:imessage|sms);-;(.*)$/is;

/**
 * Parses the name of a conversation: a chat id, an address, `iMessage;-;<address>` or `SMS;-;<address>`. The service in it is
 * ignored: two addresses have one thread for all channels. Anything but an address counts as an id.
 */
export function parseConversation(text: string): ConversationName {
  const contact = parseAddress(THREAD_GUID.exec(text)?.[1] ?? text)?.address;
  return contact === undefined ? { kind: "id", id: text } : { kind: "thread", contact };
}

/** Whether the recipient of a message is written as a conversation, existing or not, instead of an address. */
export function isConversation(to: string): boolean {
  return parseAddress(to) === null && (isGroupId(to) || THREAD_GUID.test(to));
}

/**
 * Key of the one-to-one thread of a customer's address with a contact, the same for all forms of the contact's phone. The keys of all threads
 * with a contact begin alike.
 */
export function threadKey(customerId: CustomerId, from: string, contact: string): string {
  return `${customerId}/${phoneKey(contact)}/${from}`;
}

/** The keys of a customer's threads with a contact of this `phoneKey` are between these two. */
export function threadKeysBetween(customerId: CustomerId, key: string): readonly [after: string, before: string] {
  // "0" follows "/".
  return [`${customerId}/${key}/`, `${customerId}/${key}0`];
}

/** The form of the contact's address that the service writes to: the one that the contact last wrote with. Null for a group. */
export function addressIn({ contact, lastForm }: Pick<Chat, "contact" | "lastForm">): string | null {
  return lastForm ?? contact;
}

/** Key of a group: the provider's reference of it, for one customer's address. */
export function groupKey(customerId: CustomerId, from: string, reference: string): string {
  return `${customerId} ${from} group ${reference}`;
}

/** Key of a group without a provider reference yet. */
export function unnamedGroupKey(customerId: CustomerId, from: string, id: ChatId): string {
  return `${customerId} ${from} unnamed ${id}`;
}

/** Time and channel of the newest message of a chat. */
export interface LastMessage {
  at: number;
  channel: Channel;
}

/** The record as the API answers it. `last` is null for a chat without messages. */
export function chatRecord(chat: Chat, last: LastMessage | null): WireChat {
  const { id } = chat;
  return {
    id,
    guid: id,
    chatId: id,
    conversationId: id,
    name: chat.name,
    participants: chat.participants,
    isGroup: chat.isGroup,
    from: chat.from,
    channel: channelOf(chat, last),
    lastMessageAt: isoOrNull(last?.at ?? null),
    createdAt: iso(chat.createdAt),
    updatedAt: iso(chat.updatedAt),
  };
}

/** The channel of a chat: a thread uses that of its last message; a group keeps its channel. */
export function channelOf(chat: Chat, last: LastMessage | null): Channel {
  return chat.isGroup || last === null ? chat.channel : last.channel;
}
