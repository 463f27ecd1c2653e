/** Queries of readers: prepares and runs them, several per trip to a thread. */

import type { DatabaseSync, StatementSync } from "node:sqlite";
import { setBounded } from "../../core/bounded-map.ts";
import { hasWords } from "../../core/search.ts";
import type { SqlValue } from "../rows.ts";
import { allRows } from "./wide-rows.ts";

export interface SqlQuery {
  sql: string;
  parameters: SqlValue[];
}

/** The most cached statements; beyond it the least recently prepared is dropped. */
const STATEMENTS_MAX = 200;

/**
 * Runs queries on a connection and returns their rows. Prepared statements are cached. Adds the SQL function
 * `has_words(text, words)`, which is `hasWords` of `core/search.ts`; a null text has none.
 */
export function createReader(database: DatabaseSync): (query: SqlQuery) => unknown[] {
  database.function("has_words", { deterministic: true }, (text, words) =>
    typeof text === "string" && hasWords(text, String(words)) ? 1 : 0,
  );
  const statements = new Map<string, StatementSync>();
  const prepare = (sql: string): StatementSync => {
    const cached = statements.get(sql);
    if (cached !== undefined) return cached;
    const statement = database.prepare(sql);
    setBounded(statements, sql, statement, STATEMENTS_MAX);
    return statement;
  };
  return ({ sql, parameters }) => allRows(prepare(sql), parameters);
}

/** The result of one query of a batch. */
export type QueryRows = { rows: unknown[] } | { failed: string };

/** Runs a batch of queries; a failure of one does not affect the others. */
export function readAll(read: (query: SqlQuery) => unknown[], queries: readonly SqlQuery[]): QueryRows[] {
  return queries.map((query) => {
    try {
      return { rows: read(query) };
    } catch (error) {
      return { failed: error instanceof Error ? error.message : String(error) };
    }
  });
}

interface PendingQuery {
  query: SqlQuery;
  resolve: (rows: unknown[]) => void;
  reject: (error: Error) => void;
}

/** The most queries of a batch: the first one waits for the last one. */
const BATCH_MAX = 16;

/**
 * Collects the queries of one turn of the event loop into batches for `ask`, since waking a thread and being woken by it costs
 * more than most queries.
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
