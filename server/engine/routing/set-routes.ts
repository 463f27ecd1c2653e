/** Sets which instances carry a customer's SMS, by the recipient's number. */

import type { Route } from "../../../sdk/wire.ts";
import { invalidFields } from "../../core/error.ts";
import type { CustomerId, InstanceId } from "../../core/id.ts";
import { change } from "../commit.ts";
import { requireCustomer } from "../customers/require-customer.ts";
import type { Deps } from "../deps.ts";
import type { With } from "../engine-deps.ts";
import { INSTANCES_QUEUE } from "../instances/instances.ts";
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
  // Instances must not be deleted before the routes that name them are on disk.
  await deps.serial.run(INSTANCES_QUEUE, () =>
    change(deps, async () => {
      const { id, version } = await requireCustomer(deps, customerId);
      await requireUsable(deps, routes);
      const set = { routes: [...routes], updatedAt: deps.clock.now() };
      return { transaction: [{ op: "update", table: "customers", id, version, set }], value: undefined };
    }),
  );
  deps.configCache.clear();
  deps.wake.pausedLanes();
}

async function requireUsable(deps: With<"configCache" | "providers">, routes: readonly Route[]): Promise<void> {
  const seen = new Map<string, number>();
  const details = [];
  for (const [index, { prefix, instanceId }] of routes.entries()) {
    const key = `${prefix} ${instanceId}`;
    const first = seen.get(key);
    if (first !== undefined) details.push({ path: `[${index}]`, message: `is there already, as [${first}]` });
    else seen.set(key, index);
    const problem = await problemOf(deps, instanceId as InstanceId);
    if (problem !== null) details.push({ path: `[${index}].instanceId`, message: problem });
  }
  if (details.length > 0) throw invalidFields(details);
}

async function problemOf(deps: With<"configCache" | "providers">, instanceId: InstanceId): Promise<string | null> {
  const instance = await deps.configCache.instance(instanceId);
  if (instance === null) return `there is no instance ${instanceId}`;
  const { provider } = instance;
  return offered(deps, { instanceId, provider }).includes("sms") ? null : `${instanceId} has no SMS`;
}
