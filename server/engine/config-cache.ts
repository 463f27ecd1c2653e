/** Caches keys, customers, numbers and instances, which every request needs and which rarely change. Cleared on change. */

import { setBounded } from "../core/bounded-map.ts";
import type { Customer } from "../core/customer.ts";
import type { CustomerId, InstanceId } from "../core/id.ts";
import type { Instance } from "../core/instance.ts";
import type { ApiKey } from "../core/key.ts";
import type { CustomerNumber } from "../core/number.ts";
import { parseAddress } from "../core/phone.ts";
import { SharedRuns } from "../core/shared-runs.ts";
import { findCustomer, findRoutedNumbers, hasSeveralCustomers } from "../store/customers.ts";
import { findInstances } from "../store/instances.ts";
import { findKeyByHash } from "../store/keys.ts";
import { findNumberByAddress, findNumbers, findNumbersOn } from "../store/numbers.ts";
import type { Store } from "../store/store.ts";

/** Most cached entries of each kind; the oldest is dropped. */
const KEPT_MAX = 10_000;

/** How a customer wants its messages sent. */
type CustomerSettings = Pick<Customer, "routes" | "quietHours" | "optOuts">;

const NO_SETTINGS: CustomerSettings = { routes: [], quietHours: null, optOuts: null };

export class ConfigCache {
  readonly #db: Store["db"];
  readonly #isCurrent: () => boolean;
  readonly #keys = new Map<string, ApiKey>();
  /** Otherwise each request of a process that is not current would read its key, and the comparison would wait behind them all. */
  readonly #keyReads = new SharedRuns<ApiKey | null>();
  readonly #customers = new Map<CustomerId, CustomerSettings>();
  readonly #numbers = new Map<CustomerId, readonly CustomerNumber[]>();
  readonly #addresses = new Map<string, CustomerNumber>();
  readonly #onInstances = new Map<InstanceId, readonly CustomerNumber[]>();
  readonly #senders = new Map<InstanceId, readonly CustomerNumber[]>();
  #instances: readonly Instance[] | null = null;
  #severalCustomers: boolean | null = null;
  /** Incremented by `clear`. A record read before it must not be cached afterwards. */
  #age = 0;

  /** `isCurrent`: whether what other processes changed has been dropped. If not, every key is read from the database. */
  constructor(db: Store["db"], isCurrent: () => boolean = () => true) {
    this.#db = db;
    this.#isCurrent = isCurrent;
  }

  /** The cached key with this hash. Undefined if it is not cached; call `findKey` then. */
  key(hash: string): ApiKey | undefined {
    return this.#isCurrent() ? this.#keys.get(hash) : undefined;
  }

  /** The key with this hash, or null. An unknown hash is not cached, because anybody could fill the memory. */
  async findKey(hash: string): Promise<ApiKey | null> {
    const known = this.key(hash);
    if (known !== undefined) return known;
    const age = this.#age;
    const key = await this.#keyReads.run(hash, () => findKeyByHash(this.#db, hash));
    if (key !== null && age === this.#age) setBounded(this.#keys, hash, key, KEPT_MAX);
    return key;
  }

  /** How a customer wants its messages sent: its routes, quiet hours and opt-outs. None for a customer that is gone. */
  async customer(customerId: CustomerId): Promise<CustomerSettings> {
    const known = this.#customers.get(customerId);
    if (known !== undefined) return known;
    const age = this.#age;
    const { routes, quietHours, optOuts } = (await findCustomer(this.#db, customerId)) ?? NO_SETTINGS;
    const customer = { routes, quietHours, optOuts };
    if (age === this.#age) setBounded(this.#customers, customerId, customer, KEPT_MAX);
    return customer;
  }

  /** Numbers of a customer, the default first. */
  async numbers(customerId: CustomerId): Promise<readonly CustomerNumber[]> {
    const known = this.#numbers.get(customerId);
    if (known !== undefined) return known;
    const age = this.#age;
    const numbers = await findNumbers(this.#db, customerId);
    if (age === this.#age) setBounded(this.#numbers, customerId, numbers, KEPT_MAX);
    return numbers;
  }

  /** The number with this address in any spelling, of any customer. Null if there is none; null is not cached. */
  async numberAt(text: string): Promise<CustomerNumber | null> {
    const address = parseAddress(text)?.address ?? text;
    const known = this.#addresses.get(address);
    if (known !== undefined) return known;
    const age = this.#age;
    const number = await findNumberByAddress(this.#db, address);
    if (number !== null && age === this.#age) setBounded(this.#addresses, address, number, KEPT_MAX);
    return number;
  }

  /** The numbers that are on an instance. */
  async numbersOn(instanceId: InstanceId): Promise<readonly CustomerNumber[]> {
    const known = this.#onInstances.get(instanceId);
    if (known !== undefined) return known;
    const age = this.#age;
    const numbers = await findNumbersOn(this.#db, instanceId);
    if (age === this.#age) setBounded(this.#onInstances, instanceId, numbers, KEPT_MAX);
    return numbers;
  }

  /** The numbers whose messages an instance carries: those on it, and those of customers that route SMS to it. */
  async sendersOver(instanceId: InstanceId): Promise<readonly CustomerNumber[]> {
    const known = this.#senders.get(instanceId);
    if (known !== undefined) return known;
    const age = this.#age;
    const own = await this.numbersOn(instanceId);
    const routed = await findRoutedNumbers(this.#db, instanceId);
    const senders = [...own, ...routed.filter((number) => number.instanceId !== instanceId)];
    if (age === this.#age) setBounded(this.#senders, instanceId, senders, KEPT_MAX);
    return senders;
  }

  async instances(): Promise<readonly Instance[]> {
    if (this.#instances !== null) return this.#instances;
    const age = this.#age;
    const instances = await findInstances(this.#db);
    if (age === this.#age) this.#instances = instances;
    return instances;
  }

  /** Whether there is more than one customer. */
  async hasSeveralCustomers(): Promise<boolean> {
    if (this.#severalCustomers !== null) return this.#severalCustomers;
    const age = this.#age;
    const several = await hasSeveralCustomers(this.#db);
    if (age === this.#age) this.#severalCustomers = several;
    return several;
  }

  async instance(id: InstanceId): Promise<Instance | null> {
    return (await this.instances()).find((instance) => instance.id === id) ?? null;
  }

  /** Drops everything, after a key, number, customer or instance changed. */
  clear(): void {
    this.#age += 1;
    this.#keys.clear();
    this.#customers.clear();
    this.#numbers.clear();
    this.#addresses.clear();
    this.#onInstances.clear();
    this.#senders.clear();
    this.#instances = null;
    this.#severalCustomers = null;
  }
}
