/** Inserts events, each at the next position. Positions grow, and none is used twice, also after the newest event was deleted. */

import type { SqlValue } from "../rows.ts";
import type { Statements } from "./statements.ts";

export class EventPositions {
  readonly #statements: Statements;
  /** The greatest position given; null: not read yet. A position that a rollback leaves unused stays unused. */
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
