/** How far the work of each process lags, in rows of `members`. Processes exchange it several times between two beats. */

import { type Kysely, sql } from "kysely";
import type { Database } from "../rows.ts";

/** The lag of a member, and the time without a beat after which other members are dead, in milliseconds. */
interface NotedLag {
  member: string;
  lagMs: number;
  deadAfterMs: number;
}

/** Notes how far a member lags, and returns the longest lag of the others, in milliseconds. A note is not worth an fsync. */
export async function exchangeLag(db: Kysely<Database>, { member, lagMs, deadAfterMs }: NotedLag): Promise<number> {
  const { rows } = await sql<{ lag: number }>`with noted as (
      update members set lag_ms = ${lagMs}
      where id = ${member} and lag_ms <> ${lagMs} and set_config('synchronous_commit', 'off', true) is not null
    )
    select coalesce(max(lag_ms), 0) as lag from members
    where id <> ${member} and beat_at > clock_timestamp() - ${deadAfterMs}::bigint * interval '1 millisecond'`.execute(
    db,
  );
  return rows[0]?.lag ?? 0;
}
