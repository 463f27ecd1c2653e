/** Adds the part of a message that went out by itself; messages of before have none on record. */

import { type Kysely, sql } from "kysely";

/** Kysely runs it once, in a transaction. */
export async function up(db: Kysely<unknown>): Promise<void> {
  await sql.raw("alter table messages add column sent_part text").execute(db);
}
