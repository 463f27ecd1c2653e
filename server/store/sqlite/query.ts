/** Prepares and runs the queries of readers on a connection. */

import type { DatabaseSync, StatementSync } from "node:sqlite";
import { setBounded } from "../../core/bounded-map.ts";
import { hasWords } from "../../core/search.ts";
import type { QueryRows, SqlQuery } from "../jobs/queries.ts";
import { allRows } from "./wide-rows.ts";

/** The most cached statements. Beyond it the cache drops the statement that was prepared first. */
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

/** Runs a batch of queries. A query that fails does not affect the others. */
export function readAll(read: (query: SqlQuery) => unknown[], queries: readonly SqlQuery[]): QueryRows[] {
  return queries.map((query) => {
    try {
      return { rows: read(query) };
    } catch (error) {
      return { failed: error instanceof Error ? error.message : String(error) };
    }
  });
}
