/** Caches the opt-out lists of numbers and of customers, whole, so that sending need not read them each time. */

import { Cached } from "../../core/cached.ts";
import type { CustomerId } from "../../core/id.ts";
import { hasOptOut, listContactsOptedOut, listContactsOptedOutOfAll, type OptOutPair } from "../../store/opt-outs.ts";
import type { Store } from "../../store/store.ts";

/** Most cached lists. */
const LISTS_MAX = 10_000;
/** Most cached contacts of all lists together. A longer list is not cached; each contact is then looked up. */
const CONTACTS_MAX = 100_000;

/** Parameters of the cache. */
export interface OptOutCacheOptions {
  /** Most cached contacts; default `CONTACTS_MAX`. */
  contactsMax?: number;
  /** Whether what other processes changed has been dropped. If not, every contact is looked up. */
  isCurrent?: () => boolean;
}

/**
 * The opt-out lists of numbers, and those of customers that hold for all their numbers. Every change of a list by this process calls
 * `invalidate`, so a cached list has it.
 */
export class OptOutCache {
  readonly #db: Store["db"];
  /** By number or customer id: no number looks like an id. Null: the list is too long for the cache. */
  readonly #lists: Cached<string, ReadonlySet<string> | null>;
  readonly #contactsMax: number;
  readonly #isCurrent: () => boolean;

  constructor(db: Store["db"], { contactsMax = CONTACTS_MAX, isCurrent = () => true }: OptOutCacheOptions = {}) {
    this.#db = db;
    this.#contactsMax = contactsMax;
    this.#isCurrent = isCurrent;
    this.#lists = new Cached({ max: LISTS_MAX, weight: { of: (list) => list?.size ?? 0, max: contactsMax } });
  }

  /** Whether an opt-out of the contact holds for the number. Synchronous if both lists are cached. */
  has(pair: OptOutPair): boolean | Promise<boolean> {
    if (!this.#isCurrent()) return hasOptOut(this.#db, pair);
    const { customerId, number, contacts } = pair;
    const [ofNumber, ofCustomer] = [this.#lists.peek(number), this.#lists.peek(customerId)];
    if (isMissing(ofNumber) || isMissing(ofCustomer)) return this.#find(pair);
    return contacts.some((contact) => ofNumber.has(contact) || ofCustomer.has(contact));
  }

  /** Drops the lists of a number and of a customer after a change was committed. */
  invalidate(number: string, customerId: CustomerId): void {
    this.#lists.forget(number);
    this.#lists.forget(customerId);
  }

  /** Drops every list. */
  clear(): void {
    this.#lists.clear();
  }

  async #find(pair: OptOutPair): Promise<boolean> {
    const { customerId, number, contacts } = pair;
    const ofNumber = await this.#lists.get(number, () =>
      this.#read((limit) => listContactsOptedOut(this.#db, number, limit)),
    );
    const ofCustomer = await this.#lists.get(customerId, () =>
      this.#read((limit) => listContactsOptedOutOfAll(this.#db, customerId, limit)),
    );
    const isIn = (list: ReadonlySet<string> | null) => contacts.some((contact) => list?.has(contact) === true);
    if (isIn(ofNumber) || isIn(ofCustomer)) return true;
    return ofNumber === null || ofCustomer === null ? hasOptOut(this.#db, pair) : false;
  }

  /** A list that the database has; null if it is too long for the cache. */
  async #read(contactsOf: (limit: number) => Promise<readonly string[]>): Promise<ReadonlySet<string> | null> {
    const contacts = await contactsOf(this.#contactsMax + 1);
    return contacts.length > this.#contactsMax ? null : new Set(contacts);
  }
}

/** Whether a contact that is not in this list may have opted out: the list is not cached, or too long. */
function isMissing(list: ReadonlySet<string> | null | undefined): list is null | undefined {
  return list === undefined || list === null;
}
