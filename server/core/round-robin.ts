/** Items of several owners: owners are served in turn, and the items of one owner in the order in which they were added. */

/** An ordered set of items, each with its owner. */
export class RoundRobin<Item> {
  /** Items by owner; the first owner is served next. */
  readonly #items = new Map<string, Set<Item>>();

  /** Owners that have items here. */
  get owners(): number {
    return this.#items.size;
  }

  add(owner: string, item: Item): void {
    const items = this.#items.get(owner);
    if (items === undefined) this.#items.set(owner, new Set([item]));
    else items.add(item);
  }

  /** The owner to serve now; all others are served before it again. Null if there are no items. */
  nextOwner(): string | null {
    const [first] = this.#items;
    if (first === undefined) return null;
    const [owner, items] = first;
    this.#items.delete(owner);
    this.#items.set(owner, items);
    return owner;
  }

  /** Takes the first item of an owner. */
  take(owner: string): Item | null {
    const [first] = this.#items.get(owner) ?? [];
    if (first === undefined) return null;
    this.remove(owner, first);
    return first;
  }

  remove(owner: string, item: Item): void {
    const items = this.#items.get(owner);
    if (items?.delete(item) === true && items.size === 0) this.#items.delete(owner);
  }
}
