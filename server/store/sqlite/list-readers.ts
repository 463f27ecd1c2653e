/** The readers that lists are read by: owners have turns at them, and nothing else waits behind a list. */

import { FairSemaphore } from "../../core/fair-semaphore.ts";
import type { SqlQuery } from "./query.ts";

/** Runs one query, on a connection of its own. */
export type ReaderPort = (query: SqlQuery) => Promise<unknown[]>;

/**
 * An owner holds no more readers than are free besides: of two it has one, however much it asks for, and the other finds
 * whoever else comes.
 */
const SHARE_OF_FREE = 1;

/** Readers that owners share, one statement at a time. */
export class ListReaders {
  readonly #idle: ReaderPort[];
  readonly #turns: FairSemaphore;

  constructor(readers: readonly ReaderPort[]) {
    this.#idle = [...readers];
    this.#turns = new FairSemaphore({ permitsMax: readers.length, shareOfFree: SHARE_OF_FREE });
  }

  /** Runs a query when it is the owner's turn. Rejects with the reason of `gone`, where that is aborted before. */
  async read(owner: string, query: SqlQuery, gone?: AbortSignal): Promise<unknown[]> {
    const release = await this.#turns.acquire(owner, 1, gone);
    const reader = this.#idle.pop();
    if (release === null || reader === undefined) throw new Error("there is no reader for a permit");
    try {
      return await reader(query);
    } finally {
      this.#idle.push(reader);
      release();
    }
  }
}
