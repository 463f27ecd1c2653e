/** The index of messages with an unknown outcome, by which those that a restore holds are listed. A message without one costs no entry. */

import { type Kysely, sql } from "kysely";

/** Kysely runs it once, in a transaction. */
export async function up(db: Kysely<unknown>): Promise<void> {
  await sql
    .raw("create index messages_unknown on messages (id) where status = 'pending' and due_at is not null")
    .execute(db);
}
