/** Caches the opt-out lists of numbers and of customers, whole, so that sending need not read them each time. */

import { setBounded } from "../../core/bounded-map.ts";
import type { CustomerId } from "../../core/id.ts";
import { hasOptOut, listContactsOptedOut, listContactsOptedOutOfAll, type OptOutPair } from "../../store/opt-outs.ts";
import type { Store } from "../../store/store.ts";

/** Most cached lists; the oldest is dropped. */
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

/** A list: the contacts that opted out from a number, or from all numbers of a customer. */
type ListName = { number: string } | { customerId: CustomerId };

/**
 * The opt-out lists of numbers, and those of customers that hold for all their numbers. Every change of a list by this process calls
 * `invalidate`, so a cached list has it.
 */
export class OptOutCache {
  readonly #db: Store["db"];
  /** By number or customer id: no number looks like an id. */
  readonly #lists = new Map<string, ReadonlySet<string>>();
  readonly #contactsMax: number;
  readonly #isCurrent: () => boolean;
  #contacts = 0;
  /** Numbers and customers whose list is too long for the cache. */
  readonly #long = new Map<string, true>();
  /** Incremented by `invalidate`. A list read before it must not be cached afterwards. */
  #generation = 0;

  constructor(db: Store["db"], { contactsMax = CONTACTS_MAX, isCurrent = () => true }: OptOutCacheOptions = {}) {
    this.#db = db;
    this.#contactsMax = contactsMax;
    this.#isCurrent = isCurrent;
  }

  /** Whether an opt-out of the contact holds for the number. Synchronous if both lists are cached. */
  has(pair: OptOutPair): boolean | Promise<boolean> {
    if (!this.#isCurrent()) return hasOptOut(this.#db, pair);
    const { customerId, number, contacts } = pair;
    const [ofNumber, ofCustomer] = [this.#lists.get(number), this.#lists.get(customerId)];
    if (ofNumber === undefined || ofCustomer === undefined) return this.#find(pair);
    return contacts.some((contact) => ofNumber.has(contact) || ofCustomer.has(contact));
  }

  /** Drops the lists of a number and of a customer after a change was committed. */
  invalidate(number: string, customerId: CustomerId): void {
    this.#generation += 1;
    for (const name of [number, customerId]) {
      this.#long.delete(name);
      this.#drop(name);
    }
  }

  /** Drops every list. */
  clear(): void {
    this.#generation += 1;
    this.#long.clear();
    this.#lists.clear();
    this.#contacts = 0;
  }

  async #find(pair: OptOutPair): Promise<boolean> {
    const { customerId, number, contacts } = pair;
    const ofNumber = await this.#list({ number });
    const ofCustomer = await this.#list({ customerId });
    const isIn = (list: ReadonlySet<string> | null) => contacts.some((contact) => list?.has(contact) === true);
    if (isIn(ofNumber) || isIn(ofCustomer)) return true;
    return ofNumber === null || ofCustomer === null ? hasOptOut(this.#db, pair) : false;
  }

  /** The list; null if it is too long for the cache. */
  async #list(list: ListName): Promise<ReadonlySet<string> | null> {
    const name = "number" in list ? list.number : list.customerId;
    const known = this.#lists.get(name);
    if (known !== undefined) return known;
    if (this.#long.has(name)) return null;
    const generation = this.#generation;
    const limit = this.#contactsMax + 1;
    const contacts =
      "number" in list
        ? await listContactsOptedOut(this.#db, list.number, limit)
        : await listContactsOptedOutOfAll(this.#db, list.customerId, limit);
    if (contacts.length > this.#contactsMax) {
      if (generation === this.#generation) setBounded(this.#long, name, true, LISTS_MAX);
      return null;
    }
    const read = new Set(contacts);
    if (generation === this.#generation) this.#keep(name, read);
    return read;
  }

  #keep(name: string, list: ReadonlySet<string>): void {
    this.#drop(name);
    for (const oldest of this.#lists.keys()) {
      if (this.#lists.size < LISTS_MAX && this.#contacts + list.size <= this.#contactsMax) break;
      this.#drop(oldest);
    }
    this.#lists.set(name, list);
    this.#contacts += list.size;
  }

  #drop(name: string): void {
    this.#contacts -= this.#lists.get(name)?.size ?? 0;
    this.#lists.delete(name);
  }
}
