/** Reads of the references of applied signals. */

import type { Kysely } from "kysely";
import type { InstanceId } from "../core/id.ts";
import type { Database } from "./rows.ts";

/** When a signal of the instance with this reference was applied before; null if none was. */
export async function findArrival(
  db: Kysely<Database>,
  instanceId: InstanceId,
  reference: string,
): Promise<number | null> {
  const row = await db
    .selectFrom("arrivals")
    .select("created_at")
    .where("instance_id", "=", instanceId)
    .where("reference", "=", reference)
    .executeTakeFirst();
  return row === undefined ? null : Number(row.created_at);
}
