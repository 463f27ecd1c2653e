/** Compares the queues of a PostgreSQL database with their records, beside the services that use it. */

import { compareDueRows, type DueComparison } from "../store/postgres/due-check.ts";
import { createPool } from "../store/postgres/pool.ts";
import { sqlOn } from "../store/postgres/sql.ts";

/** Begins no further statement after this time. */
const COMPARE_MS_MAX = 20_000;

/** Reads only. Rejects if the database cannot be reached. */
export async function compareQueues(databaseUrl: string): Promise<DueComparison[]> {
  const pool = createPool(databaseUrl, 1);
  try {
    return await compareDueRows(
      sqlOn(pool, () => {}),
      () => performance.now(),
      COMPARE_MS_MAX,
    );
  } finally {
    await pool.end();
  }
}
