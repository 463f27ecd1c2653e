/** Reads of the references of applied signals. */

import type { Kysely } from "kysely";
import type { InstanceId } from "../core/id.ts";
import type { Database } from "./rows.ts";

/** Whether a signal of the instance with this reference was applied before. */
export async function findArrival(db: Kysely<Database>, instanceId: InstanceId, reference: string): Promise<boolean> {
  const row = await db
    .selectFrom("arrivals")
    .select("reference")
    .where("instance_id", "=", instanceId)
    .where("reference", "=", reference)
    .executeTakeFirst();
  return row !== undefined;
}
