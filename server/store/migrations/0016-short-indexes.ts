/**
 * Shorter and fewer indexes. Messages are listed in the order of their row numbers, which is the order in which they were inserted.
 * `sqlite/make-indexes.ts` makes the indexes afterwards, one by one. This migration only keeps older versions of the service from
 * opening the database.
 */

import type { Kysely } from "kysely";

const CUSTOMER = "substr(customer_id, -8)";

/** Indexes that take the place of older ones of the same name. Entries with the same values are in the order of row numbers. */
export const SHORT_INDEXES: Readonly<Record<string, string>> = {
  messages_list: `create index messages_list on messages (${CUSTOMER})`,
  messages_recipient: `create index messages_recipient on messages (${CUSTOMER}, "to")`,
  messages_sender: `create index messages_sender on messages (${CUSTOMER}, "from") where direction = 'inbound'`,
  messages_external: `create index messages_external on messages (${CUSTOMER}, external_message_id) where external_message_id is not null`,
  messages_rare: `create index messages_rare on messages (${CUSTOMER}, status) where status in ('failed', 'unsent', 'cancelled')`,
  messages_chat: "create index messages_chat on messages (chat_id) where chat_id is not null",
  events_list: `create index events_list on events (${CUSTOMER})`,
  deliveries_list: `create unique index deliveries_list on deliveries (${CUSTOMER}, id)`,
};

/** Kysely runs it once, in a transaction. */
export async function up(_db: Kysely<unknown>): Promise<void> {}
