/** Reads of what providers told once. */

import type { Kysely } from "kysely";
import type { InstanceId } from "../core/id.ts";
import type { Database } from "./rows.ts";

/** Whether the instance told of this before, by its own name of it. */
export async function findArrival(db: Kysely<Database>, instanceId: InstanceId, reference: string): Promise<boolean> {
  const row = await db
    .selectFrom("arrivals")
    .select("reference")
    .where("instance_id", "=", instanceId)
    .where("reference", "=", reference)
    .executeTakeFirst();
  return row !== undefined;
}
