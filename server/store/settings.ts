/** Reads of facts about the database itself. */

import { type Kysely, sql } from "kysely";
import type { Database } from "./rows.ts";
import { perDialect } from "./sql-dialects.ts";

/**
 * The setting of the embedded database that exists from the end of an erasure to the next vacuum. Its value: how many
 * vacuums were begun since.
 */
export const ERASED_SINCE_VACUUM = "erased-since-vacuum";

/** The value of a fact, or null when it was never set. */
export async function findSetting(db: Kysely<Database>, name: string): Promise<string | null> {
  const row = await db.selectFrom("settings").select("value").where("name", "=", name).executeTakeFirst();
  return row?.value ?? null;
}

const DATABASE_BYTES = perDialect<number>(
  sql`(select page_count * page_size from pragma_page_count, pragma_page_size)`,
  sql`pg_database_size(current_database())`,
);

/** Bytes of the database on disk: of PostgreSQL all of it, of SQLite its file without the write-ahead log. */
export async function readDatabaseBytes(db: Kysely<Database>): Promise<number> {
  const { bytes } = await db.selectNoFrom(DATABASE_BYTES.as("bytes")).executeTakeFirstOrThrow();
  return Number(bytes);
}
