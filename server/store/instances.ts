/** Reads of provider instances. */

import type { Kysely } from "kysely";
import type { InstanceId } from "../core/id.ts";
import type { Instance } from "../core/instance.ts";
import { decodePage, decodeRows } from "./quarantine.ts";
import { type Database, decode } from "./rows.ts";

/** All instances, the oldest first. */
export async function findInstances(db: Kysely<Database>): Promise<Instance[]> {
  const rows = await db.selectFrom("instances").selectAll().orderBy("id").execute();
  return decodeRows(db, "instances", rows);
}

/** Instances, newest first: up to `limit` older than `before`. */
export async function listInstances(db: Kysely<Database>, before: string | null, limit: number): Promise<Instance[]> {
  return decodePage(db, "instances", limit, (skip, count) => {
    const query = db.selectFrom("instances").selectAll().orderBy("id", "desc").limit(count).offset(skip);
    return (before === null ? query : query.where("id", "<", before as InstanceId)).execute();
  });
}

/** The instance with this id, or null. */
export async function findInstance(db: Kysely<Database>, id: InstanceId): Promise<Instance | null> {
  const row = await db.selectFrom("instances").selectAll().where("id", "=", id).executeTakeFirst();
  return row === undefined ? null : decode("instances", row);
}

/** Whether there is an instance that is no sandbox, whether or not its row can be decoded: it may reach people. */
export async function hasRealInstance(db: Kysely<Database>): Promise<boolean> {
  const query = db.selectFrom("instances").select("id").where("provider", "<>", "sandbox").limit(1);
  return (await query.executeTakeFirst()) !== undefined;
}

/** Whether there is an instance with this id, whether or not its row can be decoded. */
export async function hasInstance(db: Kysely<Database>, id: InstanceId): Promise<boolean> {
  return (await db.selectFrom("instances").select("id").where("id", "=", id).executeTakeFirst()) !== undefined;
}
