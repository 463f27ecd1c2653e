/** Reads of idempotency keys. */

import type { Kysely } from "kysely";
import type { Idempotency } from "./records.ts";
import { type Database, decode } from "./rows.ts";

/** The first use of a key in a scope (a customer id, or `admin`). */
export async function findIdempotency(db: Kysely<Database>, scope: string, key: string): Promise<Idempotency | null> {
  const query = db.selectFrom("idempotency").selectAll().where("scope", "=", scope).where("key", "=", key);
  const row = await query.executeTakeFirst();
  return row === undefined ? null : decode("idempotency", row);
}
