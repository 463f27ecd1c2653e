/**
 * Counts the writer's transactions, statements and written frames. It costs a few microseconds a commit, so production
 * counts too.
 */

import type { DatabaseSync, StatementSync } from "node:sqlite";
import type { StoreCounts } from "../store.ts";

/** Counts of one writer since it was opened. */
export class WriteCounts {
  readonly #wal: StatementSync;
  readonly #counts: StoreCounts = { transactions: 0, groups: 0, commits: 0, statements: 0, walFrames: 0 };
  /** Frames in the log after the last commit. A checkpoint lets the log begin again. */
  #logged = 0;

  constructor(database: DatabaseSync) {
    // `noop` checkpoints nothing and returns the frames in the log.
    this.#wal = database.prepare("pragma wal_checkpoint(noop)");
    this.#wal.setReturnArrays(true);
    this.#logged = this.#frames();
  }

  /** The counts so far; a copy. */
  get counts(): StoreCounts {
    return { ...this.#counts };
  }

  /** Counts one execution of a statement. */
  addStatement(): void {
    this.#counts.statements += 1;
  }

  /** Counts the transactions of a group that has just committed. Never throws, since they are on disk. */
  addGroup(transactions: number): void {
    const frames = this.#frames();
    const added = frames >= this.#logged ? frames - this.#logged : frames;
    this.#logged = frames;
    this.#counts.transactions += transactions;
    this.#counts.groups += 1;
    this.#counts.walFrames += added;
    if (added > 0) this.#counts.commits += 1;
  }

  /** Frames in the log now, or after the last commit if SQLite does not say. */
  #frames(): number {
    try {
      const [, frames = 0] = this.#wal.get() as unknown as number[];
      return Math.max(0, frames);
    } catch {
      return this.#logged;
    }
  }
}
