/** Caches the owner of each lane of deliveries and how many attempts the lane may have at once. */

import { customerOfLane } from "../../core/delivery.ts";
import type { CustomerId } from "../../core/id.ts";
import type { Store } from "../../store/store.ts";
import { findReceivers } from "../../store/webhooks.ts";

/** Most endpoints cached; beyond it all are read again. */
const ENDPOINTS_KEPT_MAX = 10_000;

interface Receiver {
  /** The customer; for a deleted endpoint its lane, which shares with nobody. */
  owner: CustomerId | string;
  /** Null: the setting applies. */
  maxInFlight: number | null;
}

/** Owners and permits by lane. One process owns the database, so no other process changes them. */
export class ReceiverCache {
  readonly #receivers = new Map<string, Receiver>();
  /** Grows with each change of an endpoint: a value read before is not cached. */
  #age = 0;

  /** The customer of the lane; null for an endpoint that is not loaded yet. */
  ownerOf(lane: string): string | null {
    return customerOfLane(lane) ?? this.#receivers.get(lane)?.owner ?? null;
  }

  /** The endpoint's own `maxInFlight`, or null. */
  maxInFlight(lane: string): number | null {
    return this.#receivers.get(lane)?.maxInFlight ?? null;
  }

  /** Loads the lanes that are not cached. Caches nothing if an endpoint changed meanwhile. */
  async load({ db }: Pick<Store, "db">, lanes: readonly string[]): Promise<void> {
    const age = this.#age;
    const wanted = lanes.filter((lane) => this.ownerOf(lane) === null);
    const found = new Map((await findReceivers(db, wanted)).map((endpoint) => [endpoint.id as string, endpoint]));
    if (age !== this.#age) return;
    if (this.#receivers.size + wanted.length > ENDPOINTS_KEPT_MAX) this.#receivers.clear();
    for (const lane of wanted) {
      const endpoint = found.get(lane);
      this.#receivers.set(lane, {
        owner: endpoint?.customerId ?? lane,
        maxInFlight: endpoint?.maxInFlight ?? null,
      });
    }
  }

  /** Drops an endpoint after a change: it is loaded again before the next claim of its lane. */
  forget(lane: string): void {
    this.#age += 1;
    this.#receivers.delete(lane);
  }
}
