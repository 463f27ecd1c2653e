/**
 * Holds the claimed items of one lane until they get a permit: first in, first out, and items with one ordering key in
 * sequence.
 */

/**
 * Items that a lane has claimed and not begun. Of the items with one ordering key only the first is ready; the next becomes
 * ready when `ended` is called for that key. `keyOf` returns null for an item that waits for no other.
 */
export class Prefetch<Item> {
  readonly #keyOf: (item: Item) => string | null;
  readonly #monotonic: () => number;
  #ready: Item[] = [];
  /** Since when each ready item could have begun (monotonic time); the longest time first. */
  readonly #readySince = new Map<Item, number>();
  /** Ordering keys with an item that is ready or running, and the items that wait for it. */
  readonly #behind = new Map<string, Item[]>();
  #size = 0;

  constructor(keyOf: (item: Item) => string | null, monotonic: () => number) {
    this.#keyOf = keyOf;
    this.#monotonic = monotonic;
  }

  /** Items that have not begun, whether they are ready or wait for another. */
  get size(): number {
    return this.#size;
  }

  get hasReady(): boolean {
    return this.#ready.length > 0;
  }

  /** Since when the oldest ready item could have begun (monotonic time). Null if no item is ready. */
  get readySince(): number | null {
    return this.#readySince.values().next().value ?? null;
  }

  /** Adds an item that could have begun at `since` (monotonic time), unless it has to wait for another. */
  add(item: Item, since = this.#monotonic()): void {
    this.#size += 1;
    const key = this.#keyOf(item);
    const behind = key === null ? undefined : this.#behind.get(key);
    if (behind !== undefined) {
      behind.push(item);
      return;
    }
    if (key !== null) this.#behind.set(key, []);
    this.#ready.push(item);
    this.#readySince.set(item, since);
  }

  /** The first item that is ready, without taking it. Null if there is none. */
  get first(): Item | null {
    return this.#ready[0] ?? null;
  }

  /** Takes the first item that is ready. Its ordering key stays busy until `ended`. */
  take(): Item | null {
    const item = this.#ready.shift();
    if (item === undefined) return null;
    this.#size -= 1;
    this.#readySince.delete(item);
    return item;
  }

  /** Puts an item that was taken and not tried back to the front; its ordering key stays busy. */
  putBack(item: Item): void {
    this.#size += 1;
    this.#ready.unshift(item);
    this.#readySince.set(item, this.#monotonic());
  }

  /** An item that was taken has ended: the next one of its ordering key is ready, before all others. */
  ended(item: Item): void {
    const key = this.#keyOf(item);
    if (key === null) return;
    const next = this.#behind.get(key)?.shift();
    if (next === undefined) this.#behind.delete(key);
    else {
      this.#ready.unshift(next);
      this.#readySince.set(next, this.#monotonic());
    }
  }

  /** Takes out every item that matches, in the order of their arrival within a key. Keys of running items stay busy. */
  remove(matches: (item: Item) => boolean): Item[] {
    const removed: Item[] = [];
    const keep = (item: Item) => !matches(item) || removed.push(item) === 0;
    const ready: Item[] = [];
    for (const first of this.#ready) {
      const key = this.#keyOf(first);
      const line = key === null ? [first] : [first, ...(this.#behind.get(key) ?? [])];
      const since = this.#readySince.get(first) ?? 0;
      const [head, ...rest] = line.filter(keep);
      if (head !== first) this.#readySince.delete(first);
      if (head !== undefined && head !== first) this.#readySince.set(head, since);
      if (head !== undefined) ready.push(head);
      if (key === null) continue;
      if (head === undefined) this.#behind.delete(key);
      else this.#behind.set(key, rest);
    }
    const heads = new Set(ready.map((item) => this.#keyOf(item)));
    // The other keys belong to items that are running.
    for (const [key, behind] of this.#behind) if (!heads.has(key)) this.#behind.set(key, behind.filter(keep));
    this.#ready = ready;
    this.#size -= removed.length;
    return removed;
  }
}
