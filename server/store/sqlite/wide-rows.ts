/** Runs statements whose rows may hold an integer beyond the safe range, for which node:sqlite throws. */

import type { StatementSync } from "node:sqlite";
import type { SqlValue } from "../rows.ts";

/** Returns all rows of a statement. An unsafe integer becomes a bigint, so that only its own row is undecodable. */
export function allRows(statement: StatementSync, parameters: readonly SqlValue[]): unknown[] {
  try {
    return statement.all(...parameters);
  } catch (error) {
    if (!isOutOfRange(error)) throw error;
    return allWide(statement, parameters);
  }
}

function allWide(statement: StatementSync, parameters: readonly SqlValue[]): unknown[] {
  statement.setReadBigInts(true);
  try {
    return (statement.all(...parameters) as unknown[]).map((row) => narrowed(row as object));
  } finally {
    statement.setReadBigInts(false);
  }
}

function narrowed(row: object): unknown {
  if (Array.isArray(row)) return row.map(narrow);
  return Object.fromEntries(Object.entries(row).map(([column, value]) => [column, narrow(value)]));
}

function narrow(value: unknown): unknown {
  if (typeof value !== "bigint") return value;
  const number = Number(value);
  return Number.isSafeInteger(number) ? number : value;
}

function isOutOfRange(error: unknown): boolean {
  return error instanceof Error && "code" in error && error.code === "ERR_OUT_OF_RANGE";
}
