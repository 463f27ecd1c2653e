/** Reads of chats. */

import type { Kysely } from "kysely";
import type { Chat } from "../core/chat.ts";
import type { ChatId, CustomerId } from "../core/id.ts";
import { type Database, decode } from "./rows.ts";

/** The chat with this key, whoever has it; null when there is none. */
export async function findChatByKey(db: Kysely<Database>, key: string): Promise<Chat | null> {
  const row = await db.selectFrom("chats").selectAll().where("key", "=", key).executeTakeFirst();
  return row === undefined ? null : decode("chats", row);
}

/** A customer's chat; null for another customer's. */
export async function findChat(db: Kysely<Database>, customerId: CustomerId, id: string): Promise<Chat | null> {
  const row = await db
    .selectFrom("chats")
    .selectAll()
    .where("id", "=", id as ChatId)
    .where("customer_id", "=", customerId)
    .executeTakeFirst();
  return row === undefined ? null : decode("chats", row);
}
