/** Caches what attempts need of their receivers: the endpoint of each lane of deliveries, and the customer's secrets. */

import { Cached } from "../../core/cached.ts";
import { customerOfLane, type Delivery } from "../../core/delivery.ts";
import type { CustomerId } from "../../core/id.ts";
import { SharedRuns } from "../../core/shared-runs.ts";
import type { Endpoint } from "../../core/webhook.ts";
import { findSigners, hasSeveralCustomers, type Signer } from "../../store/customers.ts";
import type { ReceiverChange, Store } from "../../store/store.ts";
import { findEndpoints } from "../../store/webhooks.ts";

/** Most endpoints and most customers cached. */
const KEPT_MAX = 10_000;
/** Reads of a receiver that keeps changing; the next attempt then reads it again. */
const READS_MAX = 5;

/** The endpoint of a lane: null if it was deleted, `unreadable` if its row cannot be decoded. */
type LaneEndpoint = Endpoint | "unreadable" | null;

/** The receiver of a delivery. */
export interface Receiver {
  /** Null for a `callbackUrl`, and if the endpoint was deleted. */
  endpoint: LaneEndpoint;
  /** Null if the customer is gone or its row cannot be decoded. */
  signer: Signer | null;
}

function isClosed(endpoint: LaneEndpoint, { endpointId }: Delivery): boolean {
  return endpointId !== null && endpoint !== "unreadable" && endpoint?.active !== true;
}

/** Every change of an endpoint or customer by this process calls `changed` before its response. */
export class ReceiverCache {
  readonly #isCurrent: () => boolean;
  /** Otherwise each attempt of a process that is not current would read its receiver. */
  readonly #freshReads = new SharedRuns<Receiver>();
  readonly #endpoints = new Cached<string, LaneEndpoint>({ max: KEPT_MAX });
  readonly #signers = new Cached<CustomerId, Signer | null>({ max: KEPT_MAX });
  readonly #severalCustomers = new Cached<"all", boolean>({ max: 1 });

  /** `isCurrent`: whether what other processes changed has been dropped. If not, every receiver of an attempt is read. */
  constructor(isCurrent: () => boolean = () => true) {
    this.#isCurrent = isCurrent;
  }

  /**
   * The customer of the lane; for a deleted endpoint the lane itself, which shares permits with no other; null: not
   * loaded yet.
   */
  ownerOf(lane: string): string | null {
    const customerId = customerOfLane(lane);
    if (customerId !== null) return customerId;
    const endpoint = this.#endpoints.peek(lane);
    if (endpoint === undefined) return null;
    return endpoint === null || endpoint === "unreadable" ? lane : endpoint.customerId;
  }

  /** The endpoint's own `maxInFlight`, or null. */
  maxInFlight(lane: string): number | null {
    const endpoint = this.#endpoints.peek(lane) ?? null;
    return endpoint === null || endpoint === "unreadable" ? null : endpoint.maxInFlight;
  }

  /** The receiver of a customer's lane; null: not loaded yet. */
  receiverOf(lane: string, customerId: CustomerId): Receiver | null {
    const endpoint = customerOfLane(lane) === null ? this.#endpoints.peek(lane) : null;
    const signer = this.#signers.peek(customerId);
    return endpoint === undefined || signer === undefined ? null : { endpoint, signer };
  }

  /** `receiverOf`, read if it is not cached. */
  async findReceiver(store: Pick<Store, "db">, lane: string, customerId: CustomerId): Promise<Receiver> {
    for (let reads = 0; reads < READS_MAX; reads += 1) {
      const known = this.receiverOf(lane, customerId);
      if (known !== null) return known;
      await this.load(store, [lane]);
      await this.#loadSigners(store.db, [customerId]);
    }
    throw new Error(`the endpoint ${lane} keeps changing`);
  }

  /**
   * The receiver of a delivery. If its endpoint is paused or deleted as far as this cache knows, that is read again: a delivery comes
   * from the writer, and may overtake the change that came before it.
   */
  async findCurrent(store: Pick<Store, "db">, delivery: Delivery): Promise<Receiver> {
    const { lane, customerId } = delivery;
    if (!this.#isCurrent()) {
      const read = () => readReceiver(store, lane, customerId);
      return await this.#freshReads.run(`${lane} ${customerId}`, read);
    }
    const known = this.receiverOf(lane, customerId) ?? (await this.findReceiver(store, lane, customerId));
    if (!isClosed(known.endpoint, delivery)) return known;
    const { endpoints } = await findEndpoints(store.db, [lane]);
    if (endpoints.some(({ active }) => active)) this.#endpoints.forget(lane);
    return await this.findReceiver(store, lane, customerId);
  }

  /** Whether the endpoint of a delivery is off: paused or deleted. */
  async isOff(store: Pick<Store, "db">, delivery: Delivery): Promise<boolean> {
    return isClosed((await this.findReceiver(store, delivery.lane, delivery.customerId)).endpoint, delivery);
  }

  /** Loads the endpoints that are not cached, and their customers, except those that change during the read. */
  async load({ db }: Pick<Store, "db">, lanes: readonly string[]): Promise<void> {
    const wanted = lanes.filter((lane) => this.ownerOf(lane) === null);
    const loaded = await this.#endpoints.getAll(wanted, async (missing) => {
      const { endpoints, unreadable } = await findEndpoints(db, missing);
      const found = new Map<string, LaneEndpoint>(missing.map((lane) => [lane, null]));
      for (const endpoint of endpoints) found.set(endpoint.id, endpoint);
      for (const lane of unreadable) found.set(lane, "unreadable");
      return found;
    });
    const isRead = (endpoint: LaneEndpoint) => endpoint !== null && endpoint !== "unreadable";
    await this.#loadSigners(
      db,
      [...loaded.values()].filter(isRead).map(({ customerId }) => customerId),
    );
  }

  async #loadSigners(db: Store["db"], customerIds: readonly CustomerId[]): Promise<void> {
    await this.#signers.getAll(customerIds, async (missing) => {
      const found = new Map<CustomerId, Signer | null>(missing.map((id) => [id, null]));
      for (const signer of await findSigners(db, missing)) found.set(signer.id, signer);
      return found;
    });
  }

  /** Whether there is more than one customer. */
  hasSeveralCustomers({ db }: Pick<Store, "db">): Promise<boolean> {
    return this.#severalCustomers.get("all", () => hasSeveralCustomers(db));
  }

  /** A transaction was committed: drops the endpoints and customers that it changed. */
  changed(changes: readonly ReceiverChange[]): void {
    for (const { table, id } of changes) {
      if (table === "customers") this.#severalCustomers.clear();
      if (id === null) (table === "endpoints" ? this.#endpoints : this.#signers).clear();
      else if (table === "endpoints") this.#endpoints.forget(id);
      else this.#signers.forget(id as CustomerId);
    }
  }

  /** Drops everything. */
  clear(): void {
    for (const cached of [this.#endpoints, this.#signers, this.#severalCustomers]) cached.clear();
  }
}

/** Reads the receiver of a lane, and caches nothing. */
async function readReceiver(store: Pick<Store, "db">, lane: string, customerId: CustomerId): Promise<Receiver> {
  const ofEndpoint = customerOfLane(lane) === null;
  const [{ endpoints, unreadable }, [signer = null]] = await Promise.all([
    ofEndpoint ? findEndpoints(store.db, [lane]) : { endpoints: [], unreadable: [] },
    findSigners(store.db, [customerId]),
  ]);
  return { endpoint: unreadable.length > 0 ? "unreadable" : (endpoints[0] ?? null), signer };
}
