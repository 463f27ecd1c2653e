/** Creates, changes and deletes provider instances. The settings of an instance are sealed as a whole. */

import type { CreateInstance } from "../../../sdk/wire.ts";
import { ApiError } from "../../core/error.ts";
import type { InstanceId } from "../../core/id.ts";
import { type Instance, isReal } from "../../core/instance.ts";
import { NotRunningHere } from "../../core/not-running-here.ts";
import { findCustomerRouting } from "../../store/customers.ts";
import { findInstance } from "../../store/instances.ts";
import { findNumbersOn } from "../../store/numbers.ts";
import type { Operation } from "../../store/store.ts";
import { change, difference } from "../commit.ts";
import type { Deps } from "../deps.ts";
import type { With } from "../engine-deps.ts";
import { idempotent } from "../idempotency.ts";
import { leaveSandboxEverywhere } from "../sandbox/leave-sandbox.ts";
import { instanceSecretPlace } from "../secret-places.ts";
import { openConfigOrNull } from "./connections.ts";

/** Dependencies of connecting an instance. */
type ConnectingDeps = With<"configCache" | "connections" | "signedLinks" | "membership" | "publicUrl" | "sealer">;

/** The requested instance; `repeated` if an earlier request with the same idempotency key created it. */
export interface InstanceResult {
  repeated: boolean;
  instance: Instance;
}

/** Creates an instance and connects it. Its settings must be valid for its provider's schema. */
export async function createInstance(
  deps: ConnectingDeps & With<"leaveSandbox">,
  request: { idempotencyKey: string | null; body: CreateInstance },
): Promise<InstanceResult> {
  const { idempotencyKey: key, body } = request;
  // Before the instance is stored, everything that only sandboxes allow must be closed.
  if (isReal(body)) await leaveSandboxEverywhere(deps);
  const idempotentRequest = { key, customerId: null, route: "POST /v1/admin/instances", body };
  const result = await idempotent(deps, idempotentRequest, async () => {
    const id = deps.newId("inst");
    const now = deps.clock.now();
    const { name, provider } = body;
    const config = seal(deps, id, body.config);
    const instance: Instance = { id, version: 1, name, provider, config, createdAt: now, updatedAt: now };
    return { transaction: [{ op: "insert", table: "instances", record: instance }], value: instance, result: id };
  });
  if (result.repeated) return { repeated: true, instance: await requireInstance(deps, result.firstResult) };
  const instance = result.value;
  // Again after it is stored, because the clock may have been moved in between.
  if (isReal(instance)) await deps.leaveSandbox();
  deps.configCache.clear();
  await connect(deps, instance);
  return { repeated: false, instance };
}

/**
 * Changes the name, the settings, or both, and connects again. `merge` derives the new settings from the old ones (from none, if
 * those cannot be opened), and throws a 400 for invalid settings. Throws 404 for an unknown instance.
 */
export async function updateInstance(
  deps: ConnectingDeps,
  id: string,
  wanted: {
    name: string | null;
    merge: ((instance: Instance, config: Record<string, unknown>) => Record<string, unknown>) | null;
  },
): Promise<Instance> {
  const updated = await change(deps, async () => {
    const before = await requireInstance(deps, id);
    const after: Instance = { ...before, updatedAt: deps.clock.now() };
    if (wanted.name !== null) after.name = wanted.name;
    if (wanted.merge !== null)
      after.config = seal(deps, before.id, wanted.merge(before, openConfigOrNull(deps, before) ?? {}));
    const set = difference(before, after);
    const value = { ...after, version: before.version + 1 };
    return { transaction: [{ op: "update", table: "instances", id: before.id, version: before.version, set }], value };
  });
  deps.configCache.clear();
  if (wanted.merge !== null) await connect(deps, updated);
  return updated;
}

/** Connects an instance, or has the process do so that is to own it. */
async function connect(deps: ConnectingDeps, instance: Instance): Promise<void> {
  if (deps.membership.isAlone) await deps.connections.connect(deps, instance);
  else await deps.membership.refresh();
}

/** Serial key for using and deleting instances in this process, so that its own requests do not refuse one another. */
export const INSTANCES_QUEUE = "instances";

/**
 * Makes a number or a route use an instance. Its version grows, so that a delete of the instance which was decided before is refused;
 * and after the delete this is refused.
 */
export function useInstance({ id, version }: Instance): Operation {
  return { op: "update", table: "instances", id, version, set: {} };
}

/**
 * Stops and deletes an instance. Throws 404, 400 `INVALID_STATUS` while a number or a route uses it, and `NotRunningHere` if another
 * process owns it: only the owner can remove its setup on the remote side.
 */
export async function deleteInstance(
  deps: With<"configCache" | "connections" | "signedLinks" | "membership" | "publicUrl" | "sealer">,
  id: string,
): Promise<void> {
  const removed = await deps.serial.run(INSTANCES_QUEUE, () =>
    change(deps, async () => {
      // Read the instance first: a use of it that follows increments the version, and the decision conflicts.
      const instance = await requireInstance(deps, id);
      await requireOwnership(deps, instance);
      await requireUnused(deps, instance);
      return {
        transaction: [
          useInstance(instance),
          { op: "delete", table: "instances", where: { id: instance.id } },
          { op: "delete", table: "memory", where: { instanceId: instance.id } },
        ],
        value: instance,
      };
    }),
  );
  deps.configCache.clear();
  await deps.connections.remove(deps, removed.id);
  // Its provider may have written until it was stopped.
  await deps.store.commit([{ op: "delete", table: "memory", where: { instanceId: removed.id } }]);
}

/** Throws 400 `INVALID_STATUS` while a number or a route uses the instance. */
async function requireUnused({ store }: Pick<Deps, "store">, { id }: Instance): Promise<void> {
  const [number] = await findNumbersOn(store.db, id);
  if (number !== undefined) {
    const message = `${id} has the number ${number.address}; remove its numbers from their customers first.`;
    throw new ApiError("INVALID_STATUS", message);
  }
  const customer = await findCustomerRouting(store.db, id);
  if (customer !== null) {
    const message = `${id} is named by a route of the customer ${customer.id}; change its routes first.`;
    throw new ApiError("INVALID_STATUS", message);
  }
}

/** Throws `NotRunningHere` if another process owns the instance. */
async function requireOwnership({ membership }: With<"membership">, { id }: Instance): Promise<void> {
  if (membership.owns(id)) return;
  // Another process may have begun to own it since the last beat.
  await membership.refresh();
  const owner = membership.ownerOf(id);
  if (owner !== null && owner.id !== membership.member.id) throw new NotRunningHere(id, "The instance");
}

/** The instance with this id. Throws 404 `NOT_FOUND`. */
export async function requireInstance({ store }: Pick<Deps, "store">, id: string): Promise<Instance> {
  const instance = await findInstance(store.db, id as InstanceId);
  if (instance !== null) return instance;
  throw new ApiError("NOT_FOUND", `There is no instance ${id.slice(0, 100)}.`);
}

function seal({ sealer }: With<"sealer">, id: InstanceId, config: Record<string, unknown>): string | null {
  return Object.keys(config).length === 0 ? null : sealer.seal(JSON.stringify(config), instanceSecretPlace(id));
}
