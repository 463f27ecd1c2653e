/** Notifies listeners of a delivery once an attempt is on disk. */

import type { DeliveryId } from "../../core/id.ts";

/** Listeners by delivery. A notification promises nothing: a listener reads the delivery. */
export class AttemptFeed {
  readonly #listeners = new Map<DeliveryId, Set<() => void>>();

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

  /** An attempt of the delivery was recorded, or the delivery was cancelled. */
  notify(id: DeliveryId): void {
    if (this.#listeners.size === 0) return;
    for (const listener of [...(this.#listeners.get(id) ?? [])]) listener();
  }
}
