/** Erasures of contacts, and the indexes by which what the person wrote, and what names the person alone, is found. */

import { type Kysely, sql } from "kysely";

const STATEMENTS = [
  `create table erasures (contact_id text primary key, customer_id text not null, addresses text not null,
     before text not null, "position" bigint not null, events_until bigint not null, requested_at bigint not null,
     completed_at bigint)`,
  "create index erasures_open on erasures (requested_at) where completed_at is null",
  `create index messages_sender on messages (customer_id, "from", id) where direction = 'inbound'`,
  "create index events_loose on events (customer_id, position) where message_id is null",
];

/** Kysely runs it once, in a transaction. */
export async function up(db: Kysely<unknown>): Promise<void> {
  for (const statement of STATEMENTS) await sql.raw(statement).execute(db);
}
