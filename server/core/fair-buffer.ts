/** A bounded buffer that owners share: when it is full, the owner with more than its share loses its oldest item. Pure. */

interface OwnItems<Item> {
  items: { number: number; item: Item }[];
  /** Items before it were dropped. */
  first: number;
}

export class FairBuffer<Item> {
  readonly #max: number;
  #owners = new Map<string, OwnItems<Item>>();
  #size = 0;
  #added = 0;

  constructor(max: number) {
    this.#max = max;
  }

  get size(): number {
    return this.#size;
  }

  /** Adds an item. Returns whether another one was dropped for it. */
  add(owner: string, item: Item): boolean {
    const isFull = this.#size >= this.#max;
    if (isFull) this.#drop(owner);
    const own = this.#owners.get(owner) ?? { items: [], first: 0 };
    this.#owners.set(owner, own);
    own.items.push({ number: this.#added, item });
    this.#added += 1;
    this.#size += 1;
    return isFull;
  }

  /** Removes all items and returns them in the order in which they were added. */
  take(): Item[] {
    const lists = [...this.#owners.values()].map(({ items, first }) => items.slice(first));
    this.#owners = new Map();
    this.#size = 0;
    const [only = [], ...others] = lists;
    const all = others.length === 0 ? only : lists.flat().sort((a, b) => a.number - b.number);
    return all.map(({ item }) => item);
  }

  /** Drops the oldest item of the owner if it has its share already, else of the owner with the most. */
  #drop(owner: string): void {
    const own = this.#owners.get(owner);
    const isOverShare = countOf(own) * this.#owners.size >= this.#max;
    const dropped = isOverShare && own !== undefined ? own : this.#largest();
    if (dropped === undefined) return;
    dropped.first += 1;
    this.#size -= 1;
    // Dropped items are let go a few at a time.
    if (dropped.first * 2 > dropped.items.length) {
      dropped.items.splice(0, dropped.first);
      dropped.first = 0;
    }
  }

  #largest(): OwnItems<Item> | undefined {
    let largest: OwnItems<Item> | undefined;
    for (const one of this.#owners.values()) if (countOf(one) > countOf(largest)) largest = one;
    return largest;
  }
}

function countOf<Item>(own: OwnItems<Item> | undefined): number {
  return own === undefined ? 0 : own.items.length - own.first;
}
