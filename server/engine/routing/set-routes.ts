/** Sets which instances carry a customer's SMS, by the recipient's number. */

import type { Route } from "../../../sdk/wire.ts";
import { invalidFields } from "../../core/error.ts";
import type { CustomerId } from "../../core/id.ts";
import type { Instance } from "../../core/instance.ts";
import { findInstances } from "../../store/instances.ts";
import type { Operation } from "../../store/store.ts";
import { change } from "../commit.ts";
import { requireCustomer } from "../customers/require-customer.ts";
import type { Deps } from "../deps.ts";
import type { With } from "../engine-deps.ts";
import { INSTANCES_QUEUE, useInstance } from "../instances/instances.ts";
import { offered } from "./route.ts";

/** The customer's routes, in its order. Throws 404 for an unknown customer. */
export async function findRoutes(deps: Deps, customerId: CustomerId): Promise<Route[]> {
  return (await requireCustomer(deps, customerId)).routes;
}

/**
 * Replaces the routes of a customer. They apply from the next message on, and to messages that wait for an instance that is
 * down. Throws 404 for an unknown customer, and a 400 that names each entry which is repeated or whose instance does not exist
 * or has no SMS.
 */
export async function setRoutes(
  deps: With<"configCache" | "providers">,
  customerId: CustomerId,
  routes: readonly Route[],
): Promise<void> {
  await deps.serial.run(INSTANCES_QUEUE, () =>
    change(deps, async () => {
      const { id, version } = await requireCustomer(deps, customerId);
      const used = await requireUsable(deps, routes);
      const set = { routes: [...routes], updatedAt: deps.clock.now() };
      const update: Operation = { op: "update", table: "customers", id, version, set };
      return { transaction: [update, ...used.map(useInstance)], value: undefined };
    }),
  );
  deps.configCache.clear();
  deps.wake.pausedLanes();
}

/** The instances that the routes name. */
async function requireUsable(deps: With<"providers">, routes: readonly Route[]): Promise<Instance[]> {
  const instances = await findInstances(deps.store.db);
  const used = new Set<Instance>();
  const seen = new Map<string, number>();
  const details = [];
  for (const [index, { prefix, instanceId }] of routes.entries()) {
    const key = `${prefix} ${instanceId}`;
    const first = seen.get(key);
    if (first !== undefined) details.push({ path: `[${index}]`, message: `is there already, as [${first}]` });
    else seen.set(key, index);
    const instance = instances.find(({ id }) => id === instanceId);
    const problem = problemOf(deps, instanceId, instance);
    if (problem !== null) details.push({ path: `[${index}].instanceId`, message: problem });
    else if (instance !== undefined) used.add(instance);
  }
  if (details.length > 0) throw invalidFields(details);
  return [...used];
}

function problemOf(deps: With<"providers">, instanceId: string, instance: Instance | undefined): string | null {
  if (instance === undefined) return `there is no instance ${instanceId}`;
  const { id, provider } = instance;
  return offered(deps, { instanceId: id, provider }).includes("sms") ? null : `${id} has no SMS`;
}
