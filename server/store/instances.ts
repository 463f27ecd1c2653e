/** Reads of provider instances. */

import type { Kysely } from "kysely";
import type { Instance } from "../core/instance.ts";
import { type Database, decode } from "./rows.ts";

/** All instances, the oldest first. */
export async function findInstances(db: Kysely<Database>): Promise<Instance[]> {
  const rows = await db.selectFrom("instances").selectAll().orderBy("id").execute();
  return rows.map((row) => decode("instances", row));
}
