/** Reads of a database: what a reader is asked, and how it answers. */

import type { DatabaseSync, StatementSync } from "node:sqlite";
import { setBounded } from "../../core/bounded-map.ts";
import { hasWords } from "../../core/search.ts";
import type { SqlValue } from "../rows.ts";
import { allRows } from "./wide-rows.ts";

export interface SqlQuery {
  sql: string;
  parameters: SqlValue[];
}

/** Prepared statements kept at the most; beyond it the oldest goes. */
const STATEMENTS_MAX = 200;

/**
 * Runs queries on a connection and answers their rows. Each text is prepared once, and kept. Queries have one function
 * more than SQLite has: `has_words(text, words)`, which is `hasWords` of `core/search.ts`; a null text has none.
 */
export function createReader(database: DatabaseSync): (query: SqlQuery) => unknown[] {
  database.function("has_words", { deterministic: true }, (text, words) =>
    typeof text === "string" && hasWords(text, String(words)) ? 1 : 0,
  );
  const statements = new Map<string, StatementSync>();
  const prepare = (sql: string): StatementSync => {
    const known = statements.get(sql);
    if (known !== undefined) return known;
    const statement = database.prepare(sql);
    setBounded(statements, sql, statement, STATEMENTS_MAX);
    return statement;
  };
  return ({ sql, parameters }) => allRows(prepare(sql), parameters);
}

/** What came of one query among several. */
export type ReadResult = { rows: unknown[] } | { failed: string };

/** Runs queries that were asked together; one that fails does not take the others with it. */
export function readAll(read: (query: SqlQuery) => unknown[], queries: readonly SqlQuery[]): ReadResult[] {
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

/** Queries asked together at the most: the first of them waits for the answer to the last. */
const TOGETHER_MAX = 16;

/**
 * One query at a time over `ask`, which is asked together what one turn of the event loop brings: to wake a thread and
 * to be woken by it costs more than most queries.
 */
export function readBatched(
  ask: (queries: SqlQuery[]) => Promise<ReadResult[]>,
): (query: SqlQuery) => Promise<unknown[]> {
  const waiting: PendingQuery[] = [];
  const send = async (asked: readonly PendingQuery[]) => {
    try {
      const reads = await ask(asked.map(({ query }) => query));
      for (const [index, one] of asked.entries()) settle(one, reads[index]);
    } catch (error) {
      for (const { reject } of asked) reject(error as Error);
    }
  };
  const sendAll = () => {
    while (waiting.length > 0) void send(waiting.splice(0, TOGETHER_MAX));
  };
  return (query) =>
    new Promise((resolve, reject) => {
      waiting.push({ query, resolve, reject });
      if (waiting.length === 1) setImmediate(sendAll);
    });
}

/** One query at a time over `ask`, by itself. */
export function readSingly(
  ask: (queries: SqlQuery[]) => Promise<ReadResult[]>,
): (query: SqlQuery) => Promise<unknown[]> {
  return async (query) => {
    const [read] = await ask([query]);
    return rowsOf(read);
  };
}

function settle({ resolve, reject }: PendingQuery, read: ReadResult | undefined): void {
  try {
    resolve(rowsOf(read));
  } catch (error) {
    reject(error as Error);
  }
}

function rowsOf(read: ReadResult | undefined): unknown[] {
  if (read !== undefined && "rows" in read) return read.rows;
  throw new Error(read?.failed ?? "the reader gave no answer");
}
