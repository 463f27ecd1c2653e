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
 * Settings of each SQL transaction that writes. If the process sends nothing for 2 s between
 * two messages, the server ends the SQL transaction, so that a suspended process holds its
 * locks no longer. Nothing is committed then, and the process repeats the SQL transaction.
 */
export const IN_TRANSACTION: readonly Setting[] = [["idle_in_transaction_session_timeout", "2s"]];

/** SQL that begins an SQL transaction with these settings. */
const BEGIN = ["begin", ...IN_TRANSACTION.map(setLocal)].join("; ");

/** Commits what `work` does, or nothing of it. */
export async function inTransaction<Outcome>(pool: pg.Pool, work: (sql: Sql) => Promise<Outcome>): Promise<Outcome> {
  const client = await pool.connect();
  return await transacting(client, async () => {
    await client.query(BEGIN);
    const outcome = await work(sqlOn(client, uncounted));
    await commitOn(client);
    return outcome;
  });
}

/**
 * Runs work that begins and commits an SQL transaction on a connection, rolls back if the work fails, and gives the connection back to its pool.
 * If the server ended the SQL transaction between two statements, because the process was suspended, throws the server's error: nothing was committed.
 */
export async function transacting<Outcome>(client: pg.PoolClient, work: () => Promise<Outcome>): Promise<Outcome> {
  let ended: Error | null = null;
  const note = (error: Error) => {
    ended ??= error;
  };
  client.once("error", note);
  try {
    const outcome = await work();
    client.off("error", note);
    client.release();
    return outcome;
  } catch (error) {
    client.off("error", note);
    await abandon(client, error);
    throw ended !== null && failureOf(ended) === "interrupted" ? ended : error;
  }
}

/** Commits the SQL transaction of a connection. Throws if the server has rolled it back instead: a statement of it had failed. */
export async function commitOn(client: pg.PoolClient): Promise<void> {
  const { command } = await client.query("commit");
  if (command !== "COMMIT") throw new Error(`the server has answered ${command} to COMMIT`);
}

/** Rolls back after an error, and gives the connection back to its pool. A broken connection is closed. */
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
