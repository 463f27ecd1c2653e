/** Runs statements in an SQL transaction of their own, apart from the groups of the writer. */

import type pg from "pg";
import { failureOf, type Sql, sqlOn } from "./sql.ts";

const uncounted = () => {};

/** The name and the value of a setting of the server. */
export type Setting = readonly [name: string, value: string];

/** SQL for a setting that ends with its SQL transaction. */
export function setLocal([name, value]: Setting): string {
  return `set local ${name} = '${value}'`;
}

/**
 * Settings of each SQL transaction that writes. The server ends it if its process did nothing for 2 s between two messages, so that the
 * locks of a suspended process hold up nobody for longer. Nothing of it is committed then, and the process repeats it.
 */
export const IN_TRANSACTION: readonly Setting[] = [["idle_in_transaction_session_timeout", "2s"]];

/** SQL that begins an SQL transaction with them. */
const BEGIN = ["begin", ...IN_TRANSACTION.map(setLocal)].join("; ");

/** Commits what `work` does, or nothing of it. */
export async function inTransaction<Outcome>(pool: pg.Pool, work: (sql: Sql) => Promise<Outcome>): Promise<Outcome> {
  const client = await pool.connect();
  return await committing(client, async () => {
    await client.query(BEGIN);
    return await work(sqlOn(client, uncounted));
  });
}

/**
 * Commits what `work` has begun and done on a connection, or nothing of it, and gives the connection back to its pool. If the server ended
 * the SQL transaction between two statements, since the process was suspended, throws the server's error: nothing was committed.
 */
export async function committing<Outcome>(client: pg.PoolClient, work: () => Promise<Outcome>): Promise<Outcome> {
  let ended: Error | null = null;
  const note = (error: Error) => {
    ended ??= error;
  };
  client.once("error", note);
  try {
    const outcome = await work();
    await client.query("commit");
    client.off("error", note);
    client.release();
    return outcome;
  } catch (error) {
    client.off("error", note);
    await abandon(client, error);
    throw ended !== null && failureOf(ended) === "interrupted" ? ended : error;
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
