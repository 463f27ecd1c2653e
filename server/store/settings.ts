/** Reads of facts about the database itself. */

import type { Kysely } from "kysely";
import type { Database } from "./rows.ts";

/** The value of a fact, or null when it was never set. */
export async function findSetting(db: Kysely<Database>, name: string): Promise<string | null> {
  const row = await db.selectFrom("settings").select("value").where("name", "=", name).executeTakeFirst();
  return row?.value ?? null;
}
