/** Caches the opt-out lists of numbers, whole, so that sending need not read them each time. */

import { setBounded } from "../../core/bounded-map.ts";
import { findOptOut, listContactsOptedOut } from "../../store/opt-outs.ts";
import type { Store } from "../../store/store.ts";

/** Most cached lists; the oldest is dropped. */
const NUMBERS_MAX = 10_000;
/** Most cached contacts of all lists together. A longer list is not cached; each contact is then looked up. */
const CONTACTS_MAX = 100_000;

/** Parameters of the cache. */
export interface OptOutCacheOptions {
  /** Most cached contacts; default `CONTACTS_MAX`. */
  contactsMax?: number;
  /** Whether what other processes changed has been dropped. If not, every contact is looked up. */
  isCurrent?: () => boolean;
}

/** The opt-out lists of numbers. Every change of a list by this process calls `invalidate`, so a cached list has it. */
export class OptOutCache {
  readonly #db: Store["db"];
  readonly #lists = new Map<string, ReadonlySet<string>>();
  readonly #contactsMax: number;
  readonly #isCurrent: () => boolean;
  #contacts = 0;
  /** Numbers whose list is too long for the cache. */
  readonly #long = new Map<string, true>();
  /** Incremented by `invalidate`. A list read before it must not be cached afterwards. */
  #generation = 0;

  constructor(db: Store["db"], { contactsMax = CONTACTS_MAX, isCurrent = () => true }: OptOutCacheOptions = {}) {
    this.#db = db;
    this.#contactsMax = contactsMax;
    this.#isCurrent = isCurrent;
  }

  /** Whether `contact` is on the list of `number`. Synchronous if the list is cached. */
  has(number: string, contact: string): boolean | Promise<boolean> {
    if (!this.#isCurrent()) return this.#lookUp(number, contact);
    return this.#lists.get(number)?.has(contact) ?? this.#find(number, contact);
  }

  /** Drops the list of a number after a change was committed. */
  invalidate(number: string): void {
    this.#generation += 1;
    this.#long.delete(number);
    this.#drop(number);
  }

  /** Drops every list. */
  clear(): void {
    this.#generation += 1;
    this.#long.clear();
    this.#lists.clear();
    this.#contacts = 0;
  }

  async #lookUp(number: string, contact: string): Promise<boolean> {
    return (await findOptOut(this.#db, number, contact)) !== null;
  }

  async #find(number: string, contact: string): Promise<boolean> {
    if (this.#long.has(number)) return this.#lookUp(number, contact);
    const generation = this.#generation;
    const contacts = await listContactsOptedOut(this.#db, number, this.#contactsMax + 1);
    if (contacts.length > this.#contactsMax) {
      if (generation === this.#generation) setBounded(this.#long, number, true, NUMBERS_MAX);
      return this.#lookUp(number, contact);
    }
    const list = new Set(contacts);
    if (generation === this.#generation) this.#keep(number, list);
    return list.has(contact);
  }

  #keep(number: string, list: ReadonlySet<string>): void {
    this.#drop(number);
    for (const oldest of this.#lists.keys()) {
      if (this.#lists.size < NUMBERS_MAX && this.#contacts + list.size <= this.#contactsMax) break;
      this.#drop(oldest);
    }
    this.#lists.set(number, list);
    this.#contacts += list.size;
  }

  #drop(number: string): void {
    this.#contacts -= this.#lists.get(number)?.size ?? 0;
    this.#lists.delete(number);
  }
}
