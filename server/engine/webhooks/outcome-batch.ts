/** Collects the ends of attempts of one turn of the event loop and commits them together. */

import type { DeliveryOutcome, FinishResult } from "../../store/due-deliveries.ts";
import type { Store } from "../../store/store.ts";
import { isRefusedForNow } from "../commit.ts";

interface WaitingOutcome {
  outcome: DeliveryOutcome;
  resolve(result: FinishResult): void;
  reject(error: unknown): void;
}

export class OutcomeBatch {
  readonly #store: Pick<Store, "finishDeliveries">;
  #waiting: WaitingOutcome[] = [];

  constructor(store: Pick<Store, "finishDeliveries">) {
    this.#store = store;
  }

  /** Commits the end of an attempt. Throws `StoreFull` if the disk is full. */
  finish(outcome: DeliveryOutcome): Promise<FinishResult> {
    return new Promise((resolve, reject) => {
      this.#waiting.push({ outcome, resolve, reject });
      if (this.#waiting.length === 1) setImmediate(() => void this.#commit());
    });
  }

  #commit(): Promise<void> {
    const batch = this.#waiting;
    this.#waiting = [];
    return this.#finish(batch);
  }

  async #finish(batch: readonly WaitingOutcome[]): Promise<void> {
    try {
      const results = await this.#store.finishDeliveries(batch.map(({ outcome }) => outcome));
      for (const [index, { resolve }] of batch.entries()) resolve(results[index] ?? { result: "gone" });
    } catch (error) {
      // A single end may have failed the commit: the others are committed without it.
      if (batch.length > 1 && !isRefusedForNow(error)) await Promise.all(batch.map((one) => this.#finish([one])));
      else for (const { reject } of batch) reject(error);
    }
  }
}
