/** Looks up the records that transactions require, and remembers those that it found by their ids until something is deleted. Synchronous. */

import type { TableName } from "../records.ts";
import type { SqlValue } from "../rows.ts";
import type { Statements } from "./statements.ts";

/** Records of a table that are remembered; beyond this all of them are forgotten. */
const FOUND_MAX = 10_000;

export class RequiredRecords {
  readonly #statements: Statements;
  /** Ids of records: each message to a known conversation requires that its chat exists. */
  readonly #found = new Map<TableName, Set<SqlValue>>();

  constructor(statements: Statements) {
    this.#statements = statements;
  }

  /** Whether a record with these values of these properties exists. */
  isFound(table: TableName, properties: string, values: readonly SqlValue[]): boolean {
    const [id = null] = values;
    const known = this.#found.get(table) ?? new Set();
    if (properties === "id" && known.has(id)) return true;
    if (this.#statements.found(table, properties).get(...values) === undefined) return false;
    if (properties !== "id") return true;
    if (known.size >= FOUND_MAX) known.clear();
    this.#found.set(table, known.add(id));
    return true;
  }

  /** Records of a table may be gone. */
  forget(table: TableName): void {
    this.#found.delete(table);
  }

  /** Records of any table may be gone, or a transaction was rolled back. */
  forgetAll(): void {
    this.#found.clear();
  }
}
