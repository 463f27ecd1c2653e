/** Reads of provider instances' memory. */

import type { Kysely } from "kysely";
import { decodeRows } from "./quarantine.ts";
import type { Database } from "./rows.ts";

/** Entries of an instance whose key begins with `prefix`, in the order of their keys. */
export async function listMemory(
  db: Kysely<Database>,
  instanceId: string,
  prefix: string,
): Promise<{ key: string; value: string }[]> {
  const rows = await db
    .selectFrom("memory")
    .selectAll()
    .where("instance_id", "=", instanceId)
    .where("key", ">=", prefix)
    .where("key", "<", `${prefix}\u{10ffff}`)
    .orderBy("key")
    .execute();
  return decodeRows(db, "memory", rows).map(({ key, value }) => ({ key, value }));
}
