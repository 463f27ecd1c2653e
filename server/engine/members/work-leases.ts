/**
 * Makes the work of this process follow its leases: it connects the instances that this process serves, and no others.
 * The loop of deliveries forgets what it knew of lanes before this process acquired them.
 */

import type { InstanceId } from "../../core/id.ts";
import type { Instance } from "../../core/instance.ts";
import { findInstances } from "../../store/instances.ts";
import type { WantedLease } from "../../store/members.ts";
import type { EngineDeps } from "../engine-deps.ts";
import type { Dispatch } from "../messages/dispatch.ts";
import type { DeliverLoop } from "../webhooks/deliver-loop.ts";
import type { InstanceReport } from "./membership.ts";
import type { LeaseUse } from "./shared-membership.ts";

/** Work of this process that a lease has to outlast. */
export interface LeasedWork {
  dispatch: Pick<Dispatch, "isHandling" | "wake">;
  deliver: Pick<DeliverLoop, "lanesChanged" | "shardsInUse">;
}

export class WorkLeases implements LeaseUse {
  readonly #deps: EngineDeps;
  readonly #work: LeasedWork;
  /** All instances, as of the last read. */
  #instances: ReadonlyMap<InstanceId, Instance> = new Map();
  /** The epoch and settings that each instance was connected with. */
  readonly #connected = new Map<InstanceId, string>();
  /** The lanes that the loop of deliveries knows of (`Membership.lanesEpoch`). */
  #lanesEpoch = 0;
  /** Instances that are being connected or disconnected. */
  readonly #changing = new Set<Promise<void>>();

  constructor(deps: EngineDeps, work: LeasedWork) {
    this.#deps = deps;
    this.#work = work;
  }

  async leases(): Promise<readonly WantedLease[]> {
    const { connections, store } = this.#deps;
    const instances = await findInstances(store.db);
    connections.noteAccounts(this.#deps, instances);
    this.#instances = new Map(instances.map((instance) => [instance.id, instance]));
    const byLease = Map.groupBy(this.#instances.keys(), (id) => leaseName(connections.accountKey(id)));
    return [...byLease].map(([lease, ids]) => ({ lease, state: this.#reportOn(ids) }));
  }

  leaseOf(instanceId: InstanceId): string | null {
    return this.#instances.has(instanceId) ? leaseName(this.#deps.connections.accountKey(instanceId)) : null;
  }

  async follow(): Promise<void> {
    const { connections, membership } = this.#deps;
    if (membership.lanesEpoch !== this.#lanesEpoch) {
      this.#lanesEpoch = membership.lanesEpoch;
      this.#work.deliver.lanesChanged();
    }
    for (const instance of this.#instances.values()) {
      const { id, config } = instance;
      const isServed = membership.servesSince(id) !== null;
      const wanted = isServed ? `${membership.epochOf(id)?.epoch} ${config}` : undefined;
      if (this.#connected.get(id) === wanted) continue;
      if (wanted === undefined) {
        this.#connected.delete(id);
        this.#change(connections.disconnect(this.#deps, id));
      } else {
        this.#connected.set(id, wanted);
        this.#change(this.#takeOver(instance, wanted));
      }
    }
    for (const id of this.#connected.keys()) {
      if (this.#instances.has(id)) continue;
      this.#connected.delete(id);
      this.#change(connections.disconnect(this.#deps, id));
    }
    // This includes work that another call has begun.
    await Promise.all(this.#changing);
  }

  #change(work: Promise<void>): void {
    this.#changing.add(work);
    void work.finally(() => this.#changing.delete(work));
  }

  isUsed(lease: string): boolean {
    const { connections } = this.#deps;
    const ids = [...this.#instances.keys()].filter((id) => this.leaseOf(id) === lease);
    return ids.some((id) => connections.isRunning(id) || this.#work.dispatch.isHandling(id));
  }

  shardsInUse(): ReadonlySet<number> {
    return this.#work.deliver.shardsInUse();
  }

  /** Connects an instance. The next beat repeats a failed start, as when the database is out of reach. */
  async #takeOver(instance: Instance, wanted: string): Promise<void> {
    const { connections } = this.#deps;
    await connections.connect(this.#deps, instance);
    if (!connections.isRunning(instance.id) && this.#connected.get(instance.id) === wanted)
      this.#connected.delete(instance.id);
    this.#work.dispatch.wake([instance.id]);
  }

  /** A report on instances that this process serves, for the other members. */
  #reportOn(ids: readonly InstanceId[]): string {
    const { connections } = this.#deps;
    const reports = ids.map((id): [InstanceId, InstanceReport] => [
      id,
      { isUp: connections.isUp(this.#deps, id), lastEventAt: connections.lastEventHere(id) },
    ]);
    return JSON.stringify(Object.fromEntries(reports));
  }
}

function leaseName(account: string): string {
  return `account ${account}`;
}
