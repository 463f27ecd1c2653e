/** The windows of rate limits that all processes share, opened and closed by the clock of the database. */

import { type Kysely, sql } from "kysely";
import type { Database } from "../rows.ts";
import type { RateTake, TakeRate } from "../shared-database.ts";

/** Takes requests from a window. If the last window has ended, opens a new one first. */
export async function takeRate(
  db: Kysely<Database>,
  { bucket, wanted, takenMax, windowMs }: RateTake,
): ReturnType<TakeRate> {
  const all = sql`least(${wanted}::bigint, ${takenMax}::bigint)`;
  const rest = sql`greatest(0, least(${wanted}::bigint, ${takenMax}::bigint - w.taken))`;
  const end = sql`clock_timestamp() + ${windowMs}::bigint * interval '1 millisecond'`;
  // If a window ends later than a new one would, it was longer, or the clock was set back.
  const isOver = sql`(w.ends_at <= clock_timestamp() or w.ends_at > ${end})`;
  const { rows } = await sql<{
    given: number;
    taken: number;
    ends_in_ms: number;
  }>`insert into rate_windows as w (key_id, ends_at, taken, given) values (${bucket}, ${end}, ${all}, ${all})
    on conflict (key_id) do update set
      given = case when ${isOver} then ${all} else ${rest} end,
      taken = case when ${isOver} then ${all} else w.taken + ${rest} end,
      ends_at = case when ${isOver} then ${end} else w.ends_at end
    returning given, taken,
      greatest(1, ceil(extract(epoch from ends_at - clock_timestamp()) * 1000))::bigint as ends_in_ms`.execute(db);
  const [row = { given: 0, taken: takenMax, ends_in_ms: windowMs }] = rows;
  return { given: row.given, taken: row.taken, endsInMs: row.ends_in_ms };
}
