/** The order in which deliveries are claimed; pairs of sender and recipient by index; how many attempts an endpoint takes at once. */

import { type Kysely, sql } from "kysely";

const STATEMENTS = [
  // Of equal times in order of insertion: an index of SQLite ends in the row number.
  "drop index deliveries_due",
  "create index deliveries_due on deliveries (lane, due_at) where due_at is not null",
  `create index messages_pair on messages (instance_id, "from", "to", due_at, id) where due_at is not null`,
  // Null: what the settings say.
  "alter table endpoints add column max_in_flight bigint",
];

/** Kysely runs it once, in a transaction. */
export async function up(db: Kysely<unknown>): Promise<void> {
  for (const statement of STATEMENTS) await sql.raw(statement).execute(db);
}
