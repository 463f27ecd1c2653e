/** How far the work of each process lags, beside its beats: a row of `members` is read and changed many times between two of them. */

import { type Kysely, sql } from "kysely";
import type { Database } from "../rows.ts";

/** A member that has not beaten for so long lags no more: it is dead, or will be removed soon. */
const BEATEN_WITHIN = sql`interval '20 s'`;

/** Notes how far a member lags, and returns the longest lag of the others, in milliseconds. A note is not worth an fsync. */
export async function exchangeLag(db: Kysely<Database>, member: string, lagMs: number): Promise<number> {
  const { rows } = await sql<{ lag: number }>`with noted as (
      update members set lag_ms = ${lagMs}
      where id = ${member} and lag_ms <> ${lagMs} and set_config('synchronous_commit', 'off', true) is not null
    )
    select coalesce(max(lag_ms), 0) as lag from members
    where id <> ${member} and beat_at > clock_timestamp() - ${BEATEN_WITHIN}`.execute(db);
  return rows[0]?.lag ?? 0;
}
