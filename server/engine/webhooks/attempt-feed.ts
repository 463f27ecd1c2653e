/** Notifies listeners of a delivery once an attempt is on disk. */

import type { CustomerId, DeliveryId } from "../../core/id.ts";

/** Gets each delivery that has changed, with its customer; null if another process may have changed any. */
type ChangeListener = (changed: { id: DeliveryId; customerId: CustomerId } | null) => void;

/** Listeners by delivery. A notification promises nothing: a listener reads the delivery. */
export class AttemptFeed {
  readonly #listeners = new Map<DeliveryId, Set<() => void>>();
  readonly #watchers = new Set<ChangeListener>();

  /** Calls `listener` after each recorded attempt of the delivery, until the returned function is called. It must not throw. */
  listen(id: DeliveryId, listener: () => void): () => void {
    const listeners = this.#listeners.get(id) ?? new Set();
    this.#listeners.set(id, listeners);
    listeners.add(listener);
    return () => {
      listeners.delete(listener);
      if (listeners.size === 0 && this.#listeners.get(id) === listeners) this.#listeners.delete(id);
    };
  }

  /** Calls `listener` after each recorded attempt of any delivery, until the returned function is called. It must not throw. */
  watch(listener: ChangeListener): () => void {
    this.#watchers.add(listener);
    return () => void this.#watchers.delete(listener);
  }

  /** An attempt of the delivery was recorded or requested, or the delivery was cancelled. */
  notify(id: DeliveryId, customerId: CustomerId): void {
    for (const watcher of this.#watchers) watcher({ id, customerId });
    if (this.#listeners.size > 0) this.#wake(id);
  }

  /** Another process may have recorded attempts. */
  notifyAll(): void {
    for (const watcher of this.#watchers) watcher(null);
    for (const id of [...this.#listeners.keys()]) this.#wake(id);
  }

  #wake(id: DeliveryId): void {
    for (const listener of [...(this.#listeners.get(id) ?? [])]) listener();
  }
}
