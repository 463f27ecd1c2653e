/**
 * A bounded copy in memory of values that are read elsewhere. Decides in one place when a value that was read may be kept. Knows no
 * clock but the one that it is given.
 */

import { deleteFirst } from "./bounded-map.ts";

/** The bounds of a cache. */
export interface CachedOptions<Value> {
  /** Most values kept; beyond this the oldest is dropped. */
  max: number;
  /** Whether a value is kept. Default: each is. */
  keeps?: (value: Value) => boolean;
  /** How long a value counts from when it was kept, in milliseconds of `now`. Default: until it is forgotten. */
  expiry?: { now: () => number; keptMs: (value: Value) => number };
  /** Bounds the weight of all kept values together; beyond `max` the oldest are dropped. Default: no bound. */
  weight?: { of: (value: Value) => number; max: number };
}

/** The reads of a key in progress that began after its last change. */
interface CachedReads<Value> {
  count: number;
  /** The value of one of them, which other callers may wait for. */
  value: Promise<Value> | null;
}

/**
 * Values by key; no value is undefined. A value that is forgotten, or kept anew, during a read of it is not replaced by what that read
 * returns: the read may have begun before the change. So whoever changes a record calls `forget` after the commit, and who asks after
 * that reads again.
 */
export class Cached<Key, Value> {
  readonly #options: CachedOptions<Value>;
  /** The oldest first. */
  readonly #values = new Map<Key, Value>();
  /** When each value was kept, if values expire. */
  readonly #keptAt = new Map<Key, number>();
  /** The reads of each key in progress. Those that are not here when they end are stale. */
  readonly #reads = new Map<Key, CachedReads<Value>>();
  #weight = 0;

  constructor(options: CachedOptions<Value>) {
    this.#options = options;
  }

  /** The kept value; undefined if there is none, or if it does not count any more. */
  peek(key: Key): Value | undefined {
    const value = this.#values.get(key);
    const { expiry } = this.#options;
    if (value === undefined || expiry === undefined) return value;
    const ageMs = expiry.now() - (this.#keptAt.get(key) ?? 0);
    // A value that was kept in the future: the clock was set back.
    return ageMs >= 0 && ageMs < expiry.keptMs(value) ? value : undefined;
  }

  /** The value that was kept last, even if it does not count any more. */
  last(key: Key): Value | undefined {
    return this.#values.get(key);
  }

  /**
   * The kept value, else the one that `read` returns. Callers of one key share a read, which began after the last `forget`. Rejects
   * as `read` does, and then keeps what it had.
   */
  async get(key: Key, read: (key: Key) => Promise<Value>): Promise<Value> {
    const known = this.peek(key);
    if (known !== undefined) return known;
    const shared = this.#reads.get(key)?.value ?? null;
    if (shared !== null) return await shared;
    const reads = this.#begin(key);
    const own = read(key);
    reads.value = own;
    try {
      const value = await own;
      this.#keepRead(key, value, reads);
      return value;
    } finally {
      reads.value = null;
      this.#ended(key, reads);
    }
  }

  /**
   * The kept values of some keys, and those that `read` returns for the others. The read is not shared: it may belong to an SQL
   * transaction.
   */
  async getAll(
    keys: Iterable<Key>,
    read: (missing: readonly Key[]) => Promise<ReadonlyMap<Key, Value>>,
  ): Promise<Map<Key, Value>> {
    const found = new Map<Key, Value>();
    const missing: Key[] = [];
    for (const key of new Set(keys)) {
      const known = this.peek(key);
      if (known === undefined) missing.push(key);
      else found.set(key, known);
    }
    if (missing.length === 0) return found;
    const begun = new Map(missing.map((key) => [key, this.#begin(key)]));
    try {
      for (const [key, value] of await read(missing)) {
        this.#keepRead(key, value, begun.get(key));
        found.set(key, value);
      }
      return found;
    } finally {
      for (const [key, reads] of begun) this.#ended(key, reads);
    }
  }

  /** Keeps a value that the caller knows to be the newest. */
  keep(key: Key, value: Value): void {
    this.#reads.delete(key);
    this.#store(key, value);
  }

  #store(key: Key, value: Value): void {
    this.#drop(key);
    const { max, keeps, weight, expiry } = this.#options;
    if (keeps?.(value) === false) return;
    const own = weight?.of(value) ?? 0;
    while (this.#values.size > 0 && (this.#values.size >= max || this.#weight + own > (weight?.max ?? own)))
      this.#dropped(deleteFirst(this.#values));
    this.#values.set(key, value);
    this.#weight += own;
    if (expiry !== undefined) this.#keptAt.set(key, expiry.now());
  }

  /** Drops a value: it has changed. */
  forget(key: Key): void {
    this.#reads.delete(key);
    this.#drop(key);
  }

  #drop(key: Key): void {
    const value = this.#values.get(key);
    if (value === undefined) return;
    this.#values.delete(key);
    this.#dropped([key, value]);
  }

  /** Drops the values for which `hasChanged` holds. No read in progress is kept: nobody knows yet which values they return. */
  forgetWhere(hasChanged: (value: Value) => boolean): void {
    this.#reads.clear();
    for (const [key, value] of this.#values) if (hasChanged(value)) this.forget(key);
  }

  /** Drops all values. */
  clear(): void {
    this.#reads.clear();
    this.#values.clear();
    this.#keptAt.clear();
    this.#weight = 0;
  }

  /** A read of a key begins. Others may be in progress: none of them makes another stale. */
  #begin(key: Key): CachedReads<Value> {
    const reads = this.#reads.get(key) ?? { count: 0, value: null };
    reads.count += 1;
    this.#reads.set(key, reads);
    return reads;
  }

  #keepRead(key: Key, value: Value, reads: CachedReads<Value> | undefined): void {
    if (reads !== undefined && this.#reads.get(key) === reads) this.#store(key, value);
  }

  #ended(key: Key, reads: CachedReads<Value>): void {
    reads.count -= 1;
    if (reads.count === 0 && this.#reads.get(key) === reads) this.#reads.delete(key);
  }

  #dropped(entry: [Key, Value] | null): void {
    if (entry === null) return;
    const [key, value] = entry;
    this.#keptAt.delete(key);
    this.#weight -= this.#options.weight?.of(value) ?? 0;
  }
}
