/** Runs statements in an SQL transaction of their own, apart from the groups of the writer. */

import type pg from "pg";
import { failureOf, type Sql, sqlOn } from "./sql.ts";

const uncounted = () => {};

/** Begins an SQL transaction. The server ends it if its process was suspended for 10 s, so that its locks hold up nobody for longer. */
export const BEGIN = "begin; set local idle_in_transaction_session_timeout = '10s'";

/** Commits what `work` does, or nothing of it. */
export async function inTransaction<Outcome>(pool: pg.Pool, work: (sql: Sql) => Promise<Outcome>): Promise<Outcome> {
  const client = await pool.connect();
  return await committing(client, async () => {
    await client.query(BEGIN);
    return await work(sqlOn(client, uncounted));
  });
}

/** Commits what `work` has begun and done on a connection, or nothing of it, and gives the connection back to its pool. */
export async function committing<Outcome>(client: pg.PoolClient, work: () => Promise<Outcome>): Promise<Outcome> {
  try {
    const outcome = await work();
    await client.query("commit");
    client.release();
    return outcome;
  } catch (error) {
    await abandon(client, error);
    throw error;
  }
}

/** After an error: rolls back and gives the connection back to its pool; it is closed if it does not work any more. */
async function abandon(client: pg.PoolClient, error: unknown): Promise<void> {
  const isBroken = failureOf(error) === "unavailable" || !(await rollBack(client));
  client.release(isBroken);
}

async function rollBack(client: pg.PoolClient): Promise<boolean> {
  try {
    await client.query("rollback");
    return true;
  } catch {
    return false;
  }
}
