/** Reads of API keys. */

import type { Kysely } from "kysely";
import type { KeyId } from "../core/id.ts";
import type { ApiKey } from "../core/key.ts";
import { decodePage } from "./quarantine.ts";
import { type Database, decode } from "./rows.ts";

/** The key with this SHA-256, whether or not it is still valid. */
export async function findKeyByHash(db: Kysely<Database>, hash: string): Promise<ApiKey | null> {
  const row = await db.selectFrom("keys").selectAll().where("hash", "=", hash).executeTakeFirst();
  return row === undefined ? null : decode("keys", row);
}

export async function findKey(db: Kysely<Database>, id: KeyId): Promise<ApiKey | null> {
  const row = await db.selectFrom("keys").selectAll().where("id", "=", id).executeTakeFirst();
  return row === undefined ? null : decode("keys", row);
}

/** Keys older than `before` (an id; all when null), newest first. */
export async function listKeys(db: Kysely<Database>, before: string | null, limit: number): Promise<ApiKey[]> {
  return decodePage(db, "keys", limit, (skip, count) => {
    const query = db.selectFrom("keys").selectAll().orderBy("id", "desc").limit(count).offset(skip);
    return (before === null ? query : query.where("id", "<", before as KeyId)).execute();
  });
}
