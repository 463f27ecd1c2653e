/** Chats: the one-to-one threads that appear by themselves, and groups; and their record on the wire. */

import type { Channel, Chat as WireChat } from "../../sdk/wire.ts";
import type { ChatId, CustomerId, InstanceId } from "./id.ts";
import { iso, isoOrNull } from "./instant.ts";
import { parseAddress } from "./phone.ts";

export interface Chat {
  id: ChatId;
  version: number;
  customerId: CustomerId;
  /** What it is found by, and unique: see `threadKey`, `groupKey` and `unnamedGroupKey`. */
  key: string;
  isGroup: boolean;
  /** The customer's own address in it. */
  from: string;
  /** The other end of a one-to-one thread; null for a group. */
  contact: string | null;
  /** The instance that the chat lives on. */
  instanceId: InstanceId;
  /** The provider's own name of a group; null while the provider has none, and for a one-to-one thread. */
  reference: string | null;
  /** The channel of the chat when it began. */
  channel: Channel;
  name: string | null;
  /** Everybody in it but the customer's own address. */
  participants: string[];
  /** When the customer left the group. */
  leftAt: number | null;
  createdAt: number;
  updatedAt: number;
}

/** Whether what a message has as its recipient is a group's chat. */
export function isGroupId(to: string): to is ChatId {
  return to.startsWith("chat_");
}

/** How a request names a conversation: by its id, or a one-to-one thread by the address of the other end. */
export type ConversationName = { kind: "id"; id: string } | { kind: "thread"; contact: string };

/** A thread in the form of Apple's Messages: a service, `-` for one-to-one, and the address of the other end. */
const THREAD_GUID = /^(?:imessage|sms);-;(.*)$/is;

/**
 * Reads the name of a conversation: a chat id, an address, or `iMessage;-;<address>` and `SMS;-;<address>`. The service
 * chooses nothing: two addresses have one thread, over whichever channel. What is no address counts as an id.
 */
export function parseConversation(text: string): ConversationName {
  const contact = parseAddress(THREAD_GUID.exec(text)?.[1] ?? text)?.address;
  return contact === undefined ? { kind: "id", id: text } : { kind: "thread", contact };
}

/** Whether the recipient of a message is written as a conversation and not as an address; there need be none. */
export function isConversation(to: string): boolean {
  return parseAddress(to) === null && (isGroupId(to) || THREAD_GUID.test(to));
}

/** Key of the one-to-one thread of a customer's address with another one. */
export function threadKey(customerId: CustomerId, from: string, contact: string): string {
  return `${customerId} ${from} ${contact}`;
}

/** Key of a group: the provider's name of it on the instance, for one customer's address. */
export function groupKey(customerId: CustomerId, from: string, reference: string): string {
  return `${customerId} ${from} group ${reference}`;
}

/** Key of a group that its provider has no name for yet. */
export function unnamedGroupKey(customerId: CustomerId, from: string, id: ChatId): string {
  return `${customerId} ${from} unnamed ${id}`;
}

/** The newest thing said in a chat: when, and over which channel. */
export interface LastMessage {
  at: number;
  channel: Channel;
}

/** The record as the API answers it. `last` is null where nothing was said yet. `channel` is the one used last. */
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

/** The channel of a chat: a thread may have gone over to another one since it began; a group stays what it is. */
export function channelOf(chat: Chat, last: LastMessage | null): Channel {
  return chat.isGroup || last === null ? chat.channel : last.channel;
}
