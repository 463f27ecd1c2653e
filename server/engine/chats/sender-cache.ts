/** Caches which of a customer's own addresses have a conversation with a recipient, the newest one first. */

import { setBounded } from "../../core/bounded-map.ts";
import type { CustomerId } from "../../core/id.ts";
import { phoneKey } from "../../core/phone-forms.ts";
import { listSendersTo } from "../../store/chats.ts";
import type { Store } from "../../store/store.ts";

/** Cached recipients; beyond this the least recently used one is dropped. */
const KEPT_MAX = 10_000;

export class SenderCache {
  /** By customer and recipient. An entry is a promise, so that a message which is committed during its read counts. */
  readonly #newestFirst = new Map<string, Promise<readonly string[]>>();

  /**
   * The customer's addresses with a conversation with `contact`, newest message first. Some may no longer be numbers of
   * the customer.
   */
  async find(store: Pick<Store, "db">, customerId: CustomerId, contact: string): Promise<readonly string[]> {
    const key = keyOf(customerId, contact);
    const found = this.#newestFirst.get(key) ?? listSendersTo(store.db, customerId, contact);
    setBounded(this.#newestFirst, key, found, KEPT_MAX);
    try {
      return await found;
    } catch (error) {
      if (this.#newestFirst.get(key) === found) this.#newestFirst.delete(key);
      throw error;
    }
  }

  /** Updates the order after a committed message between the two. Does nothing if the recipient is not cached. */
  noteMessage(customerId: CustomerId, contact: string, from: string): void {
    const key = keyOf(customerId, contact);
    const known = this.#newestFirst.get(key);
    if (known === undefined) return;
    const next = known.then((addresses) => [from, ...addresses.filter((address) => address !== from)]);
    // The caller who started the read gets its error.
    next.catch(() => {});
    setBounded(this.#newestFirst, key, next, KEPT_MAX);
  }

  clear(): void {
    this.#newestFirst.clear();
  }
}

function keyOf(customerId: CustomerId, contact: string): string {
  return `${customerId} ${phoneKey(contact)}`;
}
