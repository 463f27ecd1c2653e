/**
 * Lanes that may have due items, by owner: owners are served in turn, and the lanes of one owner in the order they were
 * woken.
 */

/** An ordered set of lanes, each with its owner. */
export class ReadyLanes {
  /** Lanes by owner; the first owner is served next. */
  readonly #lanes = new Map<string, Set<string>>();

  /** Owners that have lanes here. */
  get owners(): number {
    return this.#lanes.size;
  }

  add(owner: string, lane: string): void {
    const lanes = this.#lanes.get(owner);
    if (lanes === undefined) this.#lanes.set(owner, new Set([lane]));
    else lanes.add(lane);
  }

  /** The owner to serve now; all others are served before it again. Null if there are no lanes. */
  nextOwner(): string | null {
    const [first] = this.#lanes;
    if (first === undefined) return null;
    const [owner, lanes] = first;
    this.#lanes.delete(owner);
    this.#lanes.set(owner, lanes);
    return owner;
  }

  /** Takes the first lane of an owner. */
  take(owner: string): string | null {
    const lanes = this.#lanes.get(owner);
    const lane = lanes?.values().next().value;
    if (lanes === undefined || lane === undefined) return null;
    lanes.delete(lane);
    if (lanes.size === 0) this.#lanes.delete(owner);
    return lane;
  }
}
