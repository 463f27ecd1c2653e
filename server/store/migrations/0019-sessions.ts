/** Sessions of the console, and links that begin one. */

import { type Kysely, sql } from "kysely";

const STATEMENTS = [
  `create table sessions (id text primary key, version bigint not null, kind text not null, hash text not null,
     key_id text not null, created_at bigint not null, expires_at bigint not null, last_used_at bigint not null)`,
  "create unique index sessions_hash on sessions (hash)",
  "create index sessions_key on sessions (key_id, kind)",
  "create index sessions_end on sessions (expires_at)",
];

/** Kysely runs it once, in a transaction. */
export async function up(db: Kysely<unknown>): Promise<void> {
  for (const statement of STATEMENTS) await sql.raw(statement).execute(db);
}
