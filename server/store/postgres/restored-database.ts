/** Works on a database that was restored from a backup, before a service uses it. */

import { dayOf, dayOfPosition, firstPositionOf } from "../positions.ts";
import { inTransaction } from "./in-transaction.ts";
import { addPartition } from "./partitions.ts";
import { createPool } from "./pool.ts";
import type { Sql } from "./sql.ts";

/** Further than positions can have gone since the backup, and less than a day has room for. */
const POSITIONS_SKIPPED = 2 ** 30;

const NOW = "select (extract(epoch from clock_timestamp()) * 1000)::bigint";

/**
 * Moves the positions of events on behind `last`, the last one of the backup: later events get positions that no event since can have
 * had, so that the cursor of a reader skips none of them. The events since may be of the days after the backup, today included.
 */
export async function skipPositions(sql: Sql, last: number): Promise<void> {
  const [[now = 0] = []] = await sql.values(NOW);
  const position = Math.max(last, firstPositionOf(dayOf(Number(now)))) + POSITIONS_SKIPPED;
  await addPartition(sql, "events", dayOfPosition(position), 1);
  await sql.values("select setval('event_positions', $1)", [position]);
}

/** The queues as the service puts rows into them: those of a backup name SQL transactions of the server that it was made of. */
const PUT_ANEW = [
  "update due_deliveries set put_by = default, changed_in = pg_current_xact_id()",
  "update due_messages set changed_in = pg_current_xact_id()",
];

/**
 * `skipPositions` for a database that the tools of PostgreSQL have restored. Then calls `work` with a function that counts rows: it
 * returns the `count` of a query.
 */
export async function skipRestoredPositions<Result>(
  url: string,
  work: (count: (text: string) => Promise<number>) => Promise<Result>,
): Promise<Result> {
  const pool = createPool(url, 1);
  try {
    await inTransaction(pool, async (sql) => {
      const [[last] = []] = await sql.values("select last_value from event_positions");
      await skipPositions(sql, Number(last));
      for (const statement of PUT_ANEW) await sql.values(statement);
    });
    return await work(async (text) => Number((await pool.query<{ count: number }>(text)).rows[0]?.count));
  } finally {
    await pool.end();
  }
}
