/** Fills a database with messages of its first customer and their chats, a process of its own. */

import { join } from "node:path";
import { type Chat, threadKey } from "../server/core/chat.ts";
import { type ChatId, type CustomerId, createIdSource } from "../server/core/id.ts";
import type { Message } from "../server/core/message.ts";
import { openReader } from "../server/store/sqlite/connection.ts";
import { answerParent } from "./child.ts";
import { deliveredMessage, fillDatabase, pooled } from "./delivered.ts";

/** A data directory that a service has created, and the number of messages to insert. */
export interface MessageFilling {
  dataDir: string;
  messages: number;
}

/** Names of what was inserted, for requests: of some recipients, the chats, and external ids of some of their messages. */
export interface MessageFilled {
  messages: number;
  recipients: string[];
  chats: ChatId[];
  externalMessageIds: string[];
}

/** Messages of each recipient, so that a page of one recipient is full, however many messages there are. */
const PER_RECIPIENT = 100;
/** One of so many messages is failed, and one of so many has the external id of all such messages. */
const FAILED_EACH = 100;
const BULK_EACH = 10;
/** The external id that many messages share. */
export const BULK_ID = "bulk";
/** Recipients whose names are returned, spread over all. */
const NAMED_MAX = 200;
const DAY_MS = 86_400_000;

answerParent<MessageFilling, MessageFilled>(({ dataDir, messages }) => {
  const customerId = firstCustomer(dataDir);
  const startedAt = Date.now() - DAY_MS;
  let at = startedAt;
  let index = 0;
  const newId = createIdSource(() => at, pooled);
  const recipients = Math.max(1, Math.floor(messages / PER_RECIPIENT));
  const chats = Array.from({ length: recipients }, () => newId("chat"));
  const filled: MessageFilled = { messages, recipients: [], chats: [], externalMessageIds: [] };
  // Odd, so that most of them have an external id of their own.
  const namedEach = Math.floor(recipients / NAMED_MAX) | 1;
  fillDatabase(dataDir, (insert) => () => {
    at = startedAt + Math.floor((index / messages) * DAY_MS);
    const place = index % recipients;
    const chatId = chats[place] as ChatId;
    const to = `+1201${String(2_000_000 + place)}`;
    const { message } = deliveredMessage(newId, { customerId, index, at });
    const externalMessageId = index % BULK_EACH === 0 ? BULK_ID : `waiting-${index}`;
    const status = index % FAILED_EACH === 0 ? "failed" : message.status;
    insert("messages", { ...message, to, chatId, status, externalMessageId });
    if (index < recipients) insert("chats", chatWith(message, to, chatId));
    if (index < recipients && index % namedEach === 0) {
      filled.recipients.push(to);
      filled.chats.push(chatId);
      if (externalMessageId !== BULK_ID) filled.externalMessageIds.push(externalMessageId);
    }
    index += 1;
    return index < messages;
  });
  return filled;
});

function chatWith({ customerId, from, instanceId, channel, createdAt }: Message, contact: string, id: ChatId): Chat {
  const key = threadKey(customerId, from, contact);
  const of = {
    id,
    version: 1,
    customerId,
    key,
    isGroup: false,
    from,
    contact,
    lastForm: null,
    instanceId,
    reference: null,
    channel,
  };
  return { ...of, name: null, participants: [contact], leftAt: null, createdAt, updatedAt: createdAt };
}

function firstCustomer(dataDir: string): CustomerId {
  const database = openReader(join(dataDir, "tightbeam.db"));
  const row = database.prepare("select id from customers order by id limit 1").get();
  database.close();
  return row?.id as CustomerId;
}
