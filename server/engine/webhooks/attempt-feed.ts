/** Notifies listeners of a delivery once an attempt is on disk. */

import type { CustomerId, DeliveryId } from "../../core/id.ts";

/** Follows deliveries of some customers. Neither function may throw. */
interface DeliveryWatcher {
  /** The customers, and since when it follows theirs, in monotonic time. */
  customers(): Iterable<readonly [CustomerId, number]>;
  /** A delivery of any customer has changed. */
  changed(id: DeliveryId, customerId: CustomerId): void;
}

/** Listeners by delivery. A notification promises nothing: a listener reads the delivery. */
export class AttemptFeed {
  readonly #listeners = new Map<DeliveryId, Set<() => void>>();
  readonly #watchers = new Set<DeliveryWatcher>();

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

  /** Calls `watcher` after each recorded attempt of any delivery, until the returned function is called. */
  watch(watcher: DeliveryWatcher): () => void {
    this.#watchers.add(watcher);
    return () => void this.#watchers.delete(watcher);
  }

  /** The customers whose deliveries somebody follows, and since when, in monotonic time. */
  watchedCustomers(): ReadonlyMap<CustomerId, number> {
    const since = new Map<CustomerId, number>();
    for (const watcher of this.#watchers)
      for (const [customerId, at] of watcher.customers())
        since.set(customerId, Math.min(at, since.get(customerId) ?? Number.POSITIVE_INFINITY));
    return since;
  }

  /** An attempt of the delivery was recorded or requested, or the delivery was made or cancelled. */
  notify(id: DeliveryId, customerId: CustomerId): void {
    for (const watcher of this.#watchers) watcher.changed(id, customerId);
    if (this.#listeners.size > 0) this.#wake(id);
  }

  /** Another process may have recorded attempts: calls the listeners of all deliveries. */
  notifyAll(): void {
    for (const id of [...this.#listeners.keys()]) this.#wake(id);
  }

  #wake(id: DeliveryId): void {
    for (const listener of [...(this.#listeners.get(id) ?? [])]) listener();
  }
}
