/** Which of a customer's own addresses wrote with a recipient, the newest conversation first, kept at hand. */

import { setBounded } from "../../core/bounded-map.ts";
import type { CustomerId } from "../../core/id.ts";
import { listSendersTo } from "../../store/chats.ts";
import type { Store } from "../../store/store.ts";

/** Recipients kept at hand; beyond it the one that was used longest ago goes. */
const KEPT_MAX = 10_000;

export class SenderCache {
  /** By customer and recipient. An entry is a promise, so that a message which is committed during its read counts. */
  readonly #newestFirst = new Map<string, Promise<readonly string[]>>();

  /** Own addresses with a conversation with `contact`, the one of the newest message first. Some may be numbers no more. */
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

  /** A message between the two was committed. Costs nothing where the recipient is not at hand. */
  noteMessage(customerId: CustomerId, contact: string, from: string): void {
    const key = keyOf(customerId, contact);
    const known = this.#newestFirst.get(key);
    if (known === undefined) return;
    const next = known.then((addresses) => [from, ...addresses.filter((address) => address !== from)]);
    // A read that fails is told to whoever asked for it.
    next.catch(() => {});
    setBounded(this.#newestFirst, key, next, KEPT_MAX);
  }

  clear(): void {
    this.#newestFirst.clear();
  }
}

function keyOf(customerId: CustomerId, contact: string): string {
  return `${customerId} ${contact}`;
}
