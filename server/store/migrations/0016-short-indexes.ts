/**
 * Shorter and fewer indexes. They are made after the migration, one by one: `sqlite/make-indexes.ts`. This one only keeps older
 * versions of the service from opening the database.
 */

import type { Kysely } from "kysely";

/** Kysely runs it once, in a transaction. */
export async function up(_db: Kysely<unknown>): Promise<void> {}
