/** Who has the lanes of deliveries, and how many attempts each takes at once: kept at hand for the loop. */

import { customerOfLane } from "../../core/delivery.ts";
import type { CustomerId } from "../../core/id.ts";
import type { Store } from "../../store/store.ts";
import { findReceivers } from "../../store/webhooks.ts";

/** Endpoints that are kept at hand; beyond it all are read again. */
const ENDPOINTS_KEPT_MAX = 10_000;

interface Receiver {
  /** The customer; of an endpoint that is gone, its lane: it shares with nobody. */
  owner: CustomerId | string;
  /** Null: what the settings say. */
  maxInFlight: number | null;
}

/** What is known of the lanes of deliveries. One process owns the database, so nothing changes behind it. */
export class ReceiverCache {
  readonly #receivers = new Map<string, Receiver>();
  /** Grows with each change of an endpoint: what was read before it is not kept. */
  #age = 0;

  /** The customer whose endpoint or callback it is; null for an endpoint that has to be learnt first. */
  ownerOf(lane: string): string | null {
    return customerOfLane(lane) ?? this.#receivers.get(lane)?.owner ?? null;
  }

  /** Attempts of the lane at once where its endpoint says how many, else null. */
  maxInFlight(lane: string): number | null {
    return this.#receivers.get(lane)?.maxInFlight ?? null;
  }

  /** Reads what is not known of lanes. Keeps nothing if an endpoint changed meanwhile. */
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

  /** Called after each change of an endpoint: it is read again before the next claim of its lane. */
  forget(lane: string): void {
    this.#age += 1;
    this.#receivers.delete(lane);
  }
}
