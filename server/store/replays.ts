/**
 * Finds the positions at which a replay or a feed of changes begins and ends, without scanning the events. Ids have the time, and are
 * made shortly before the position is drawn; a caller subtracts or adds how far the two may be apart.
 */

import { type Kysely, type SqlBool, sql } from "kysely";
import { type EventId, firstIdAt } from "../core/id.ts";
import { positionsNear } from "./positions.ts";
import type { Database } from "./rows.ts";
import { spelled } from "./spelling.ts";

/** Position of the oldest event of any customer whose id was made at or after `at` (real time); null if there is none. */
export async function findPositionAt(db: Kysely<Database>, at: number): Promise<number | null> {
  const query = db
    .selectFrom("events")
    .select("position")
    .where("id", ">=", firstIdAt("evt", at) as EventId);
  const row = await query.orderBy("id").limit(1).executeTakeFirst();
  return row?.position ?? null;
}

/**
 * Position of the newest event of any customer whose id was made before `at` (real time); 0 if there is none. All events of `at` or
 * later have later positions, also those that are not committed yet: the position before the first event of `at` that can be seen
 * is no such bound, since on PostgreSQL another customer's event may be committed with an earlier one afterwards.
 */
export async function findPositionBefore(db: Kysely<Database>, at: number): Promise<number> {
  const id = firstIdAt("evt", at) as EventId;
  // On PostgreSQL it is mostly in the partition of its day. An earlier position is a bound too.
  const { from, to } = positionsNear([id]);
  const isNear = sql<SqlBool>`position >= ${from} and position < ${to}`;
  for (const where of [spelled<SqlBool>(sql`true`, isNear), spelled<SqlBool>(sql`false`, sql`true`)]) {
    const query = db.selectFrom("events").select("position").where("id", "<", id).where(where);
    const row = await query.orderBy("id", "desc").limit(1).executeTakeFirst();
    if (row !== undefined) return row.position;
  }
  return 0;
}
