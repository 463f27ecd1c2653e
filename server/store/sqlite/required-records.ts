/**
 * Looks up the records that transactions require. Remembers the ids that it found until a record of the table is
 * deleted. Synchronous.
 */

import type { TableName } from "../records.ts";
import type { SqlValue } from "../rows.ts";
import type { Statements } from "./statements.ts";

/** The most ids of a table that are remembered. Beyond it all of them are forgotten. */
const FOUND_MAX = 10_000;

export class RequiredRecords {
  readonly #statements: Statements;
  /** The ids found, by table. For example, each message to a known conversation requires that its chat exists. */
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

  /** Forgets the ids of a table, since records may be gone. */
  forget(table: TableName): void {
    this.#found.delete(table);
  }

  /** Forgets all ids, since records of any table may be gone or a transaction was rolled back. */
  forgetAll(): void {
    this.#found.clear();
  }
}
