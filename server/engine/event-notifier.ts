/** Who waits for a customer's events: told after each commit that made one, and free to read what is new. */

import type { CustomerId } from "../core/id.ts";
import type { Transaction } from "../store/store.ts";

/** Listeners by customer. Being told promises nothing: a listener reads the events it has not seen. */
export class EventNotifier {
  readonly #listeners = new Map<CustomerId, Set<() => void>>();

  /** Calls `listener` after commits that made events of the customer, until the answer is called. It must not throw. */
  listen(customerId: CustomerId, listener: () => void): () => void {
    const listeners = this.#listeners.get(customerId) ?? new Set();
    this.#listeners.set(customerId, listeners);
    listeners.add(listener);
    return () => {
      listeners.delete(listener);
      if (listeners.size === 0 && this.#listeners.get(customerId) === listeners) this.#listeners.delete(customerId);
    };
  }

  /** A unit was committed. */
  notify(unit: Transaction): void {
    if (this.#listeners.size === 0) return;
    const customers = new Set(unit.flatMap((one) => (one.op === "event" ? [one.event.customerId] : [])));
    for (const customerId of customers) {
      for (const listener of [...(this.#listeners.get(customerId) ?? [])]) listener();
    }
  }
}
