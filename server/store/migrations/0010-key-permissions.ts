/** Adds permissions to keys; existing keys get every permission of their scope. */

import { type Kysely, sql } from "kysely";

const STATEMENTS = [
  "alter table keys add column permissions text not null default '[]'",
  `update keys set permissions = '["read","send","webhooks"]' where scope = 'messages'`,
];

/** Kysely runs it once, in a transaction. */
export async function up(db: Kysely<unknown>): Promise<void> {
  for (const statement of STATEMENTS) await sql.raw(statement).execute(db);
}
