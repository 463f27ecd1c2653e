/** Attempts are a list in the row of their delivery. `sqlite/move-attempts.ts` moves those of older versions there afterwards. */

import { type Kysely, sql } from "kysely";

/** Kysely runs it once, in a transaction. */
export async function up(db: Kysely<unknown>): Promise<void> {
  await sql.raw("alter table deliveries add column attempts text not null default '[]'").execute(db);
}
