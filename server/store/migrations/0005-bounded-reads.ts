/** Indexes that lists are read by in their order, and by which looks at single records do not read through a table. */

import { type Kysely, sql } from "kysely";

const STATEMENTS = [
  // An identifier of the caller's own may name many messages.
  "drop index messages_external",
  `create index messages_external on messages (customer_id, external_message_id, id) where external_message_id is not null`,
  // Failed messages are rare among all messages.
  `create index messages_rare on messages (customer_id, status, id) where status in ('failed', 'unsent', 'cancelled')`,
  "drop index opt_outs_list",
  "create index opt_outs_list on opt_outs (customer_id, created_at desc, number, contact)",
  "create index opt_outs_of_number on opt_outs (customer_id, number, created_at desc, contact)",
  "create index keys_customer on keys (customer_id, id)",
  "create index customers_email on customers (lower(email), id) where email is not null",
  "create index endpoints_inbox on endpoints (url) where kind = 'inbox'",
  `create index chats_unnamed on chats (customer_id, "from", id) where is_group = 1 and reference is null`,
];

/** Kysely runs it once, in a transaction. */
export async function up(db: Kysely<unknown>): Promise<void> {
  for (const statement of STATEMENTS) await sql.raw(statement).execute(db);
}
