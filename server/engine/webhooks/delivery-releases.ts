/** Gives deliveries back to the store. Deliveries that arrive for their lane meanwhile come after them, so they are given back too. */

import type { ClaimedDelivery, Store } from "../../store/store.ts";

export class DeliveryReleases {
  readonly #store: Pick<Store, "release">;
  readonly #fault: (error: unknown) => void;
  /** Releases in progress by lane: how many, and the number of the last one. */
  readonly #lanes = new Map<string, { count: number; last: number }>();
  #requested = 0;

  constructor(store: Pick<Store, "release">, fault: (error: unknown) => void) {
    this.#store = store;
    this.#fault = fault;
  }

  /** Releases requested so far: a claim that is requested now comes after them. */
  get requested(): number {
    return this.#requested;
  }

  /** Ends the leases of deliveries that were not tried: they stay due. Never throws. */
  release(items: readonly ClaimedDelivery[]): void {
    void this.#release(items);
  }

  /**
   * Splits deliveries that have just been leased into those that may be run and the lanes of the others, which are given back.
   * `after`: `requested` when they were claimed; 0 for new deliveries.
   */
  accept<Item extends ClaimedDelivery>(items: readonly Item[], after: number): { accepted: Item[]; lanes: string[] } {
    if (this.#lanes.size === 0) return { accepted: [...items], lanes: [] };
    const { accepted = [], refused = [] } = Object.groupBy(items, ({ delivery }) =>
      (this.#lanes.get(delivery.lane)?.last ?? 0) > after ? "refused" : "accepted",
    );
    if (refused.length > 0) this.release(refused);
    return { accepted, lanes: lanesOf(refused) };
  }

  async #release(items: readonly ClaimedDelivery[]): Promise<void> {
    const lanes = lanesOf(items);
    this.#requested += 1;
    for (const lane of lanes) {
      this.#lanes.set(lane, { count: (this.#lanes.get(lane)?.count ?? 0) + 1, last: this.#requested });
    }
    try {
      const leases = items.map(({ lease }) => lease);
      await this.#store.release("deliveries", leases);
    } catch (error) {
      this.#fault(error);
    }
    for (const lane of lanes) {
      const state = this.#lanes.get(lane);
      if (state !== undefined && state.count > 1) state.count -= 1;
      else this.#lanes.delete(lane);
    }
  }
}

function lanesOf(items: readonly ClaimedDelivery[]): string[] {
  return [...new Set(items.map(({ delivery }) => delivery.lane))];
}
