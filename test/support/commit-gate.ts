/** Holds a commit of a store back while a test does something else, so that a decision is older than what it is committed after. */

import type { Store, Transaction } from "../../server/store/store.ts";
import { until } from "./wait.ts";

export class CommitGate {
  #isHeld: ((transaction: Transaction) => boolean) | null = null;
  /** Lets the held commit go on; null: none is held. */
  #release: (() => void) | null = null;

  /** Watches the commits of a store. */
  watch(store: Store): void {
    const commit = store.commit.bind(store);
    store.commit = async (transaction) => {
      if (this.#isHeld?.(transaction) === true) {
        this.#isHeld = null;
        await new Promise<void>((resolve) => {
          this.#release = resolve;
        });
      }
      return await commit(transaction);
    };
  }

  /** Does `work`, holds the first of its commits that `isHeld` until `meanwhile` has ended, and returns the results of both. */
  async during<Value, Between>(
    isHeld: (transaction: Transaction) => boolean,
    work: () => Promise<Value>,
    meanwhile: () => Promise<Between>,
  ): Promise<{ value: Value; between: Between }> {
    this.#isHeld = isHeld;
    this.#release = null;
    const working = work();
    working.catch(() => {});
    const release = await until(() => this.#release, { what: "a commit to hold" });
    try {
      const between = await meanwhile();
      release();
      return { value: await working, between };
    } finally {
      release();
    }
  }
}
