/** Notifies listeners of a customer's events after each commit that added one. */

import type { CustomerId } from "../core/id.ts";
import type { Transaction } from "../store/store.ts";

/** Listeners by customer. A notification carries no event: a listener reads the events that it has not seen. */
export class EventNotifier {
  readonly #listeners = new Map<CustomerId, Set<() => void>>();

  /** Calls `listener` after commits with events of the customer, until the returned function is called. It must not throw. */
  listen(customerId: CustomerId, listener: () => void): () => void {
    const listeners = this.#listeners.get(customerId) ?? new Set();
    this.#listeners.set(customerId, listeners);
    listeners.add(listener);
    return () => {
      listeners.delete(listener);
      if (listeners.size === 0 && this.#listeners.get(customerId) === listeners) this.#listeners.delete(customerId);
    };
  }

  /** Notifies the listeners of a committed transaction. */
  notify(transaction: Transaction): void {
    if (this.#listeners.size === 0) return;
    const customers = new Set(transaction.flatMap((one) => (one.op === "event" ? [one.event.customerId] : [])));
    for (const customerId of customers) this.notifyCustomer(customerId);
  }

  /** Notifies the listeners of a customer: another process may have committed events. */
  notifyCustomer(customerId: CustomerId): void {
    for (const listener of [...(this.#listeners.get(customerId) ?? [])]) listener();
  }

  /** The customers with a listener. */
  customers(): CustomerId[] {
    return [...this.#listeners.keys()];
  }
}
