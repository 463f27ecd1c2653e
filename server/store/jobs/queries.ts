/** Sends queries to readers: the queries of one turn of the event loop together, or each by itself. */

import type { SqlValue } from "../rows.ts";

/** A compiled query. */
export interface SqlQuery {
  sql: string;
  parameters: SqlValue[];
}

/** The result of one query of a batch. */
export type QueryRows = { rows: unknown[] } | { failed: string };

interface PendingQuery {
  query: SqlQuery;
  resolve: (rows: unknown[]) => void;
  reject: (error: Error) => void;
}

/** The most queries of a batch: the result of the first query waits for the last query. */
const BATCH_MAX = 16;

/**
 * Collects the queries of one turn of the event loop into batches for `ask`. To wake a thread, and to be woken by it,
 * costs more than most queries.
 */
export function readBatched(
  ask: (queries: SqlQuery[]) => Promise<QueryRows[]>,
): (query: SqlQuery) => Promise<unknown[]> {
  const waiting: PendingQuery[] = [];
  const send = async (asked: readonly PendingQuery[]) => {
    try {
      const reads = await ask(asked.map(({ query }) => query));
      for (const [index, one] of asked.entries()) complete(one, reads[index]);
    } catch (error) {
      for (const { reject } of asked) reject(error as Error);
    }
  };
  const sendAll = () => {
    while (waiting.length > 0) void send(waiting.splice(0, BATCH_MAX));
  };
  return (query) =>
    new Promise((resolve, reject) => {
      waiting.push({ query, resolve, reject });
      if (waiting.length === 1) setImmediate(sendAll);
    });
}

/** Sends each query by itself. */
export function readSingly(
  ask: (queries: SqlQuery[]) => Promise<QueryRows[]>,
): (query: SqlQuery) => Promise<unknown[]> {
  return async (query) => {
    const [read] = await ask([query]);
    return rowsOf(read);
  };
}

function complete({ resolve, reject }: PendingQuery, read: QueryRows | undefined): void {
  try {
    resolve(rowsOf(read));
  } catch (error) {
    reject(error as Error);
  }
}

function rowsOf(read: QueryRows | undefined): unknown[] {
  if (read !== undefined && "rows" in read) return read.rows;
  throw new Error(read?.failed ?? "the reader sent no result");
}
