/** Caches what attempts need of their receivers: the endpoint of each lane of deliveries, and the customer's secrets. */

import { setBounded } from "../../core/bounded-map.ts";
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
  readonly #endpoints = new Map<string, LaneEndpoint>();
  readonly #signers = new Map<CustomerId, Signer | null>();
  #severalCustomers: boolean | null = null;
  /** For each read in progress the ids of the records that have changed since it began; null stands for any record. */
  readonly #reads = new Set<Set<string | null>>();

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
    const endpoint = this.#endpoints.get(lane);
    if (endpoint === undefined) return null;
    return endpoint === null || endpoint === "unreadable" ? lane : endpoint.customerId;
  }

  /** The endpoint's own `maxInFlight`, or null. */
  maxInFlight(lane: string): number | null {
    const endpoint = this.#endpoints.get(lane) ?? null;
    return endpoint === null || endpoint === "unreadable" ? null : endpoint.maxInFlight;
  }

  /** The receiver of a customer's lane; null: not loaded yet. */
  receiverOf(lane: string, customerId: CustomerId): Receiver | null {
    const endpoint = customerOfLane(lane) === null ? this.#endpoints.get(lane) : null;
    const signer = this.#signers.get(customerId);
    return endpoint === undefined || signer === undefined ? null : { endpoint, signer };
  }

  /** `receiverOf`, read if it is not cached. */
  async findReceiver(store: Pick<Store, "db">, lane: string, customerId: CustomerId): Promise<Receiver> {
    for (let reads = 0; reads < READS_MAX; reads += 1) {
      const known = this.receiverOf(lane, customerId);
      if (known !== null) return known;
      await this.load(store, [lane]);
      await this.#loadSigners(store, [customerId]);
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
    if (endpoints.some(({ active }) => active)) this.#drop(this.#endpoints, lane);
    return await this.findReceiver(store, lane, customerId);
  }

  /** Whether the endpoint of a delivery is off: paused or deleted. */
  async isOff(store: Pick<Store, "db">, delivery: Delivery): Promise<boolean> {
    return isClosed((await this.findReceiver(store, delivery.lane, delivery.customerId)).endpoint, delivery);
  }

  /** Loads the endpoints that are not cached, and their customers, except those that change during the read. */
  async load(store: Pick<Store, "db">, lanes: readonly string[]): Promise<void> {
    const wanted = lanes.filter((lane) => this.ownerOf(lane) === null);
    if (wanted.length === 0) return;
    const customerIds: CustomerId[] = [];
    const read = async () => await findEndpoints(store.db, wanted);
    await this.#read(read, ({ endpoints, unreadable }, isChanged) => {
      const found = new Map<string, LaneEndpoint>(endpoints.map((endpoint) => [endpoint.id, endpoint]));
      for (const lane of unreadable) found.set(lane, "unreadable");
      for (const lane of wanted)
        if (!isChanged(lane)) setBounded(this.#endpoints, lane, found.get(lane) ?? null, KEPT_MAX);
      customerIds.push(...endpoints.map(({ customerId }) => customerId));
    });
    await this.#loadSigners(store, customerIds);
  }

  async #loadSigners({ db }: Pick<Store, "db">, customerIds: readonly CustomerId[]): Promise<void> {
    const wanted = [...new Set(customerIds)].filter((id) => !this.#signers.has(id));
    if (wanted.length === 0) return;
    const read = async () => await findSigners(db, wanted);
    await this.#read(read, (signers, isChanged) => {
      const found = new Map(signers.map((signer) => [signer.id, signer]));
      for (const id of wanted) if (!isChanged(id)) setBounded(this.#signers, id, found.get(id) ?? null, KEPT_MAX);
    });
  }

  /** Whether there is more than one customer. */
  async hasSeveralCustomers({ db }: Pick<Store, "db">): Promise<boolean> {
    if (this.#severalCustomers !== null) return this.#severalCustomers;
    let found = true;
    const read = async () => await hasSeveralCustomers(db);
    await this.#read(read, (several, isChanged) => {
      found = several;
      if (!isChanged(null)) this.#severalCustomers = several;
    });
    return found;
  }

  /** Reads records and keeps them, except those that change during the read. `isChanged(null)`: any of them has changed. */
  async #read<Found>(
    read: () => Promise<Found>,
    keep: (found: Found, isChanged: (id: string | null) => boolean) => void,
  ): Promise<void> {
    const changed = new Set<string | null>();
    this.#reads.add(changed);
    try {
      keep(await read(), (id) => (id === null ? changed.size > 0 : changed.has(id) || changed.has(null)));
    } finally {
      this.#reads.delete(changed);
    }
  }

  /** A transaction was committed: drops the endpoints and customers that it changed. */
  changed(changes: readonly ReceiverChange[]): void {
    for (const { table, id } of changes) {
      if (table === "endpoints") this.#drop(this.#endpoints, id);
      else {
        this.#drop(this.#signers, id as CustomerId | null);
        this.#severalCustomers = null;
      }
    }
  }

  #drop<Key extends string>(cached: Map<Key, unknown>, key: Key | null): void {
    for (const changed of this.#reads) changed.add(key);
    if (key === null) cached.clear();
    else cached.delete(key);
  }

  /** Drops everything. */
  clear(): void {
    this.#drop(this.#endpoints, null);
    this.#drop(this.#signers, null);
    this.#severalCustomers = null;
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
