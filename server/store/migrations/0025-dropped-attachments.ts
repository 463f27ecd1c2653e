/** The rule of a message for channels that do not carry its files, and the number of files that are not sent. Older messages send all. */

import { type Kysely, sql } from "kysely";

const STATEMENTS = [
  "alter table messages add column attachments_rule text",
  "alter table messages add column attachments_dropped bigint not null default 0",
];

/** Kysely runs it once, in a transaction. */
export async function up(db: Kysely<unknown>): Promise<void> {
  for (const statement of STATEMENTS) await sql.raw(statement).execute(db);
}
