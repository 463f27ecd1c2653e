/** Works on a database that was restored from a backup, before a service uses it. */

import { dayOf, dayOfPosition, firstPositionOf } from "../positions.ts";
import { inTransaction } from "./in-transaction.ts";
import { addPartition } from "./partitions.ts";
import { createPool } from "./pool.ts";
import type { Sql } from "./sql.ts";

/** More positions than can have been taken since the backup, and fewer than a day has. */
const POSITIONS_SKIPPED = 2 ** 30;

const NOW = "select (extract(epoch from clock_timestamp()) * 1000)::bigint";

/**
 * Moves the positions of events behind `last`, the last position of the backup. Later events then get positions that no event since
 * the backup can have had, so that a reader's cursor skips none of them. Events since the backup may be of any day up to today.
 */
export async function skipPositions(sql: Sql, last: number): Promise<void> {
  const [[now = 0] = []] = await sql.values(NOW);
  const position = Math.max(last, firstPositionOf(dayOf(Number(now)))) + POSITIONS_SKIPPED;
  await addPartition(sql, "events", dayOfPosition(position), 1);
  await sql.values("select setval('event_positions', $1)", [position]);
}

/**
 * Statements that leave the rows of the queues as if the service had just put
 * them there. The rows of a backup name SQL transactions of the former server.
 */
const PUT_ANEW = [
  "update due_deliveries set put_by = default, changed_in = pg_current_xact_id()",
  "update due_messages set changed_in = pg_current_xact_id()",
];

/**
 * Calls `skipPositions` for a database that the tools of PostgreSQL have restored.
 * Then calls `work` with a function that returns the `count` of a query.
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
