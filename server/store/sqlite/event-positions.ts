/**
 * Inserts each event at the next position. Positions grow. No position is used twice, even after the newest event is
 * deleted.
 */

import type { SqlValue } from "../rows.ts";
import type { Statements } from "./statements.ts";

export class EventPositions {
  readonly #statements: Statements;
  /**
   * The greatest position that an event got; null: not read yet. A position that a rollback leaves unused stays unused.
   */
  #last: number | null = null;

  constructor(statements: Statements) {
    this.#statements = statements;
  }

  insert(values: readonly SqlValue[]): void {
    this.#last ??= Number((this.#statements.lastPosition().get() as unknown as number[])[0]);
    this.#last += 1;
    this.#statements.insertEvent().run(this.#last, ...values);
  }
}
