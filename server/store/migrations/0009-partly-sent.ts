/** Adds the part of a message that went out by itself, which older messages do not have, and the index that groups are found by. */

import { type Kysely, sql } from "kysely";

/** Kysely runs it once, in a transaction. */
export async function up(db: Kysely<unknown>): Promise<void> {
  await sql.raw("alter table messages add column sent_part text").execute(db);
  const groups = `create index chats_groups on chats (customer_id, "from", id) where is_group = 1 and left_at is null`;
  await sql.raw(groups).execute(db);
}
