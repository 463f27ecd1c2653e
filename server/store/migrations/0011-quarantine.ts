/** Rows that cannot be decoded, set aside until somebody mends them. */

import { type Kysely, sql } from "kysely";

/** Kysely runs it once, in a transaction. */
export async function up(db: Kysely<unknown>): Promise<void> {
  await sql`create table quarantined (
    "table" text not null, id text not null, customer_id text, reason text not null, since bigint not null,
    parked bigint not null, primary key ("table", id)
  ) without rowid`.execute(db);
}
