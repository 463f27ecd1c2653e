/** Caches keys, customers, numbers and instances, which every request needs and which rarely change. Cleared on change. */

import { Cached } from "../core/cached.ts";
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

/** Most cached entries of each kind. */
const KEPT_MAX = 10_000;

/** How a customer wants its messages sent. */
type CustomerSettings = Pick<Customer, "routes" | "quietHours" | "optOuts">;

const NO_SETTINGS: CustomerSettings = { routes: [], quietHours: null, optOuts: null };

export class ConfigCache {
  readonly #db: Store["db"];
  readonly #isCurrent: () => boolean;
  /** An unknown hash is not kept, because anybody could fill the memory. */
  readonly #keys = new Cached<string, ApiKey | null>({ max: KEPT_MAX, keeps: (key) => key !== null });
  /** Otherwise each request of a process that is not current would read its key, and the comparison would wait behind them all. */
  readonly #freshKeys = new SharedRuns<ApiKey | null>();
  readonly #customers = new Cached<CustomerId, CustomerSettings>({ max: KEPT_MAX });
  readonly #numbers = new Cached<CustomerId, readonly CustomerNumber[]>({ max: KEPT_MAX });
  readonly #addresses = new Cached<string, CustomerNumber | null>({
    max: KEPT_MAX,
    keeps: (number) => number !== null,
  });
  readonly #onInstances = new Cached<InstanceId, readonly CustomerNumber[]>({ max: KEPT_MAX });
  readonly #senders = new Cached<InstanceId, readonly CustomerNumber[]>({ max: KEPT_MAX });
  readonly #instances = new Cached<"all", readonly Instance[]>({ max: 1 });
  readonly #severalCustomers = new Cached<"all", boolean>({ max: 1 });

  /** `isCurrent`: whether what other processes changed has been dropped. If not, every key is read from the database. */
  constructor(db: Store["db"], isCurrent: () => boolean = () => true) {
    this.#db = db;
    this.#isCurrent = isCurrent;
  }

  /** The cached key with this hash. Undefined if it is not cached; call `findKey` then. */
  key(hash: string): ApiKey | undefined {
    return (this.#isCurrent() ? this.#keys.peek(hash) : null) ?? undefined;
  }

  /** The key with this hash, or null. */
  findKey(hash: string): Promise<ApiKey | null> {
    const read = () => findKeyByHash(this.#db, hash);
    return this.#isCurrent() ? this.#keys.get(hash, read) : this.#freshKeys.run(hash, read);
  }

  /** How a customer wants its messages sent: its routes, quiet hours and opt-outs. None for a customer that is gone. */
  customer(customerId: CustomerId): Promise<CustomerSettings> {
    return this.#customers.get(customerId, async () => {
      const { routes, quietHours, optOuts } = (await findCustomer(this.#db, customerId)) ?? NO_SETTINGS;
      return { routes, quietHours, optOuts };
    });
  }

  /** Numbers of a customer, the default first. */
  numbers(customerId: CustomerId): Promise<readonly CustomerNumber[]> {
    return this.#numbers.get(customerId, () => findNumbers(this.#db, customerId));
  }

  /** The number with this address in any spelling, of any customer. Null if there is none. */
  numberAt(text: string): Promise<CustomerNumber | null> {
    const address = parseAddress(text)?.address ?? text;
    return this.#addresses.get(address, () => findNumberByAddress(this.#db, address));
  }

  /** The numbers that are on an instance. */
  numbersOn(instanceId: InstanceId): Promise<readonly CustomerNumber[]> {
    return this.#onInstances.get(instanceId, () => findNumbersOn(this.#db, instanceId));
  }

  /** The numbers whose messages an instance carries: those on it, and those of customers that route SMS to it. */
  sendersOver(instanceId: InstanceId): Promise<readonly CustomerNumber[]> {
    return this.#senders.get(instanceId, async () => {
      const own = await this.numbersOn(instanceId);
      const routed = await findRoutedNumbers(this.#db, instanceId);
      return [...own, ...routed.filter((number) => number.instanceId !== instanceId)];
    });
  }

  instances(): Promise<readonly Instance[]> {
    return this.#instances.get("all", () => findInstances(this.#db));
  }

  /** Whether there is more than one customer. */
  hasSeveralCustomers(): Promise<boolean> {
    return this.#severalCustomers.get("all", () => hasSeveralCustomers(this.#db));
  }

  async instance(id: InstanceId): Promise<Instance | null> {
    return (await this.instances()).find((instance) => instance.id === id) ?? null;
  }

  /** Drops everything, after a key, number, customer or instance changed. */
  clear(): void {
    for (const cached of [this.#keys, this.#customers, this.#numbers, this.#addresses, this.#onInstances])
      cached.clear();
    for (const cached of [this.#senders, this.#instances, this.#severalCustomers]) cached.clear();
  }
}
