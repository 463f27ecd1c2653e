/** Which peer of its instance a message was handed to; of older ones that is not on record. */

import { type Kysely, sql } from "kysely";

/** Kysely runs it once, in a transaction. */
export async function up(db: Kysely<unknown>): Promise<void> {
  await sql.raw("alter table messages add column peer text").execute(db);
}
