/** Works on a database that was restored from a backup, before a service uses it. */

import { createPool } from "./pool.ts";

/** Further than positions can have gone since the backup, and less than a day has room for. */
export const POSITIONS_SKIPPED = 2 ** 30;

/**
 * Moves the positions of events on: later events get positions that no event since the backup can have had, so that the cursor
 * of a reader skips none of them. Then calls `work` with a function that counts rows: it returns the `count` of a query.
 */
export async function skipPositions<Result>(
  url: string,
  work: (count: (text: string) => Promise<number>) => Promise<Result>,
): Promise<Result> {
  const pool = createPool(url, 1);
  try {
    await pool.query(`select setval('event_positions', last_value + ${POSITIONS_SKIPPED}) from event_positions`);
    return await work(async (text) => Number((await pool.query<{ count: number }>(text)).rows[0]?.count));
  } finally {
    await pool.end();
  }
}
