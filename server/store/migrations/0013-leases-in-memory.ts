/** Leases of deliveries are in memory only: what an older version had leased is due, and the indexes of its claims go. */

import { type Kysely, sql } from "kysely";

const STATEMENTS = [
  "update deliveries set due_at = created_at, version = version + 1 where claimed_until is not null",
  // The column stays and is not used: dropping it would write the whole table.
  "drop index deliveries_claimed",
  "drop index deliveries_first",
];

/** Kysely runs it once, in a transaction. */
export async function up(db: Kysely<unknown>): Promise<void> {
  for (const statement of STATEMENTS) await sql.raw(statement).execute(db);
}
