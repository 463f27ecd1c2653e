/** Caches which of a customer's own addresses have a conversation with a recipient, the newest one first. */

import { Cached } from "../../core/cached.ts";
import type { CustomerId } from "../../core/id.ts";
import { phoneKey } from "../../core/phone-forms.ts";
import { listSendersTo } from "../../store/chats.ts";
import type { Store } from "../../store/store.ts";

/** Most cached recipients. */
const KEPT_MAX = 10_000;

export class SenderCache {
  /** By customer and recipient. */
  readonly #newestFirst = new Cached<string, readonly string[]>({ max: KEPT_MAX });

  /**
   * The customer's addresses with a conversation with `contact`, newest message first. Some may no longer be numbers of
   * the customer.
   */
  find(store: Pick<Store, "db">, customerId: CustomerId, contact: string): Promise<readonly string[]> {
    return this.#newestFirst.get(keyOf(customerId, contact), () => listSendersTo(store.db, customerId, contact));
  }

  /** Updates the order after a committed message between the two. */
  noteMessage(customerId: CustomerId, contact: string, from: string): void {
    const key = keyOf(customerId, contact);
    const known = this.#newestFirst.peek(key);
    // A read in progress may have begun before the commit.
    if (known === undefined) this.#newestFirst.forget(key);
    else this.#newestFirst.keep(key, [from, ...known.filter((address) => address !== from)]);
  }

  clear(): void {
    this.#newestFirst.clear();
  }
}

function keyOf(customerId: CustomerId, contact: string): string {
  return `${customerId} ${phoneKey(contact)}`;
}
