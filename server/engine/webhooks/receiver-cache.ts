/** Caches the receivers of attempts: the endpoint of each lane of deliveries, and the customer's secrets. */

import { setBounded } from "../../core/bounded-map.ts";
import { customerOfLane } from "../../core/delivery.ts";
import type { CustomerId } from "../../core/id.ts";
import type { Endpoint } from "../../core/webhook.ts";
import { findSigners, type Signer } from "../../store/customers.ts";
import type { Operation, Store, Transaction } from "../../store/store.ts";
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

/** One process owns the database: every change of an endpoint or customer calls `changed` before its response. */
export class ReceiverCache {
  readonly #endpoints = new Map<string, LaneEndpoint>();
  readonly #signers = new Map<CustomerId, Signer | null>();
  /** Incremented by each change: an earlier read is not cached. */
  #age = 0;

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
   * Loads the endpoints that are not cached, and their customers. Caches nothing if one of them changed during the
   * read.
   */
  async load(store: Pick<Store, "db">, lanes: readonly string[]): Promise<void> {
    const age = this.#age;
    const wanted = lanes.filter((lane) => this.ownerOf(lane) === null);
    if (wanted.length === 0) return;
    const { endpoints, unreadable } = await findEndpoints(store.db, wanted);
    if (age !== this.#age) return;
    const found = new Map<string, LaneEndpoint>(endpoints.map((endpoint) => [endpoint.id, endpoint]));
    for (const lane of unreadable) found.set(lane, "unreadable");
    for (const lane of wanted) setBounded(this.#endpoints, lane, found.get(lane) ?? null, KEPT_MAX);
    await this.#loadSigners(
      store,
      endpoints.map(({ customerId }) => customerId),
    );
  }

  async #loadSigners({ db }: Pick<Store, "db">, customerIds: readonly CustomerId[]): Promise<void> {
    const age = this.#age;
    const wanted = [...new Set(customerIds)].filter((id) => !this.#signers.has(id));
    if (wanted.length === 0) return;
    const found = new Map((await findSigners(db, wanted)).map((signer) => [signer.id, signer]));
    if (age !== this.#age) return;
    for (const id of wanted) setBounded(this.#signers, id, found.get(id) ?? null, KEPT_MAX);
  }

  /** A transaction was committed: drops the endpoints and customers that it changed. */
  changed(transaction: Transaction): void {
    this.#age += 1;
    for (const operation of transaction) {
      if (!("table" in operation)) continue;
      const id = idOf(operation);
      if (operation.table === "endpoints") drop(this.#endpoints, id);
      if (operation.table === "customers") drop(this.#signers, id as CustomerId | null);
    }
  }

  /** Drops everything. */
  clear(): void {
    this.#age += 1;
    this.#endpoints.clear();
    this.#signers.clear();
  }
}

/** The id of the one record that an operation changes; null if it does not name one. */
function idOf(operation: Extract<Operation, { table: string }>): string | null {
  if (operation.op === "update") return operation.id;
  const record: object = operation.op === "delete" ? operation.where : operation.record;
  return "id" in record && typeof record.id === "string" ? record.id : null;
}

function drop<Key>(cached: Map<Key, unknown>, key: Key | null): void {
  if (key === null) cached.clear();
  else cached.delete(key);
}
