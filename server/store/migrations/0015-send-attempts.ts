/** The table of send attempts. Earlier messages are found by their provider references, as before. */

import { type Kysely, sql } from "kysely";

const STATEMENTS = [
  // The key is that of provider references: a key of message and number would be one b-tree more for every message.
  `create table send_attempts (instance_id text not null, reference text not null, message_id text not null,
     number bigint not null, channel text not null, state text not null, started_at bigint not null,
     ended_at bigint, note text, constraint send_attempts_key primary key (instance_id, reference)) without rowid`,
  "create index send_attempts_noted on send_attempts (instance_id, started_at) where note is not null",
];

/** Kysely runs it once, in a transaction. */
export async function up(db: Kysely<unknown>): Promise<void> {
  for (const statement of STATEMENTS) await sql.raw(statement).execute(db);
}
