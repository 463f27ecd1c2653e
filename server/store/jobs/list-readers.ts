/** Readers of lists, shared fairly among owners, so that no other read waits for a list. */

import { FairSemaphore } from "../../core/fair-semaphore.ts";
import type { SqlQuery } from "./queries.ts";

/** Runs one query on a connection of its own. */
export type ReaderPort = (query: SqlQuery) => Promise<unknown[]>;

/** An owner may hold at most as many readers as stay free: of two readers it gets one, and the next owner the other. */
const SHARE_OF_FREE = 1;

export class ListReaders {
  readonly #idle: ReaderPort[];
  readonly #semaphore: FairSemaphore;

  constructor(readers: readonly ReaderPort[]) {
    this.#idle = [...readers];
    this.#semaphore = new FairSemaphore({ permitsMax: readers.length, shareOfFree: SHARE_OF_FREE });
  }

  /** Runs a query when it is the owner's turn. Rejects with the reason of `gone` if `gone` is aborted before. */
  async read(owner: string, query: SqlQuery, gone?: AbortSignal): Promise<unknown[]> {
    const release = await this.#semaphore.acquire(owner, 1, gone);
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
