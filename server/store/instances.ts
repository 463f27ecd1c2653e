/** Reads of provider instances. */

import type { Kysely } from "kysely";
import type { InstanceId } from "../core/id.ts";
import type { Instance } from "../core/instance.ts";
import { type Database, decode } from "./rows.ts";

/** All instances, the oldest first. */
export async function findInstances(db: Kysely<Database>): Promise<Instance[]> {
  const rows = await db.selectFrom("instances").selectAll().orderBy("id").execute();
  return rows.map((row) => decode("instances", row));
}

/** Instances, newest first: up to `limit` older than `before`. */
export async function listInstances(db: Kysely<Database>, before: string | null, limit: number): Promise<Instance[]> {
  let query = db.selectFrom("instances").selectAll().orderBy("id", "desc").limit(limit);
  if (before !== null) query = query.where("id", "<", before as InstanceId);
  return (await query.execute()).map((row) => decode("instances", row));
}

/** The instance with this id, or null. */
export async function findInstance(db: Kysely<Database>, id: InstanceId): Promise<Instance | null> {
  const row = await db.selectFrom("instances").selectAll().where("id", "=", id).executeTakeFirst();
  return row === undefined ? null : decode("instances", row);
}
