/** How SQLite executes a statement, and which steps read through a table or sort. */

import type { DatabaseSync } from "node:sqlite";

/** The plan of a statement, a line for each loop and each sort. */
export function planOf(database: DatabaseSync, statement: string): string[] {
  const rows = database.prepare(`explain query plan ${statement}`).all();
  return rows.map((row) => String(row.detail));
}

const SLOW = /^SCAN |^USE TEMP B-TREE/;
/** Not rows of a table: constants, a list of values, the elements of one JSON text, the result of an inner query (`found`). */
const HARMLESS = /^SCAN (\d+ )?(CONSTANT|.*VIRTUAL TABLE|lanes$|given$|found$|\(subquery)/;

/** The steps of a statement that read through a whole table or sort its rows. */
export function slowSteps(database: DatabaseSync, statement: string): string[] {
  return planOf(database, statement).filter((step) => SLOW.test(step) && !HARMLESS.test(step));
}
