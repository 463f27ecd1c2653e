/** Reads of a database: what a reader is asked, and how it answers. */

import type { DatabaseSync, StatementSync } from "node:sqlite";
import { keep } from "../../core/keep.ts";
import type { Value } from "../rows.ts";

export interface Query {
  sql: string;
  parameters: Value[];
}

/** Prepared statements kept at the most; beyond it the oldest goes. */
const STATEMENTS_MAX = 200;

/** Runs queries on a connection and answers their rows. Each text is prepared once, and kept. */
export function createReader(database: DatabaseSync): (query: Query) => unknown[] {
  const statements = new Map<string, StatementSync>();
  const prepare = (sql: string): StatementSync => {
    const known = statements.get(sql);
    if (known !== undefined) return known;
    const statement = database.prepare(sql);
    keep(statements, sql, statement, STATEMENTS_MAX);
    return statement;
  };
  return ({ sql, parameters }) => prepare(sql).all(...parameters);
}
