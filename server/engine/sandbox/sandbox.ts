/** The sandbox of a customer: checks that the customer has one, and resets it. */

import { ApiError } from "../../core/error.ts";
import type { CustomerId } from "../../core/id.ts";
import { NotRunningHere } from "../../core/not-running-here.ts";
import { hasRealNumber } from "../../store/numbers.ts";
import type { EngineDeps, With } from "../engine-deps.ts";
import { type IdempotentRequest, idempotent } from "../idempotency.ts";

/** Records of each kind that one commit removes: a few milliseconds, so that others need not wait. */
const REMOVED_AT_ONCE = 500;

/** Throws 404 `NOT_FOUND` for a customer who can reach people through a number or a route, and so has no sandbox. */
export async function requireSandbox(
  { configCache, store }: Pick<EngineDeps, "configCache" | "store">,
  customerId: CustomerId,
): Promise<void> {
  const [numbers, { routes }] = await Promise.all([configCache.numbers(customerId), configCache.customer(customerId)]);
  const instances = routes.length === 0 ? [] : await configCache.instances();
  const routed = instances.filter(({ id }) => routes.some(({ instanceId }) => instanceId === id));
  const isSandbox = [...numbers, ...routed].every(({ provider }) => provider === "sandbox");
  // A number or instance with an undecodable row is missing here, and may reach people.
  const areKnown = routes.every(({ instanceId }) => routed.some(({ id }) => id === instanceId));
  const isKnown = areKnown && !(await hasRealNumber(store.db, customerId));
  if (isSandbox && isKnown) return;
  throw new ApiError("NOT_FOUND", "The sandbox is only for customers none of whose numbers and routes reaches people.");
}

/**
 * Removes the customer's messages, contacts and chats, and pending signals of phones; keys, numbers, endpoints, the
 * inbox and usage stay. Work in flight ends without effect. A repeat of an idempotency key removes nothing more, unless the first
 * request ended in the middle because its client had `gone`: then it removes the rest.
 */
export async function resetSandbox(
  deps: With<
    "configCache" | "membership" | "messageCache" | "optOutCache" | "providers" | "threadCache" | "typingContacts"
  >,
  request: IdempotentRequest & { customerId: CustomerId },
  gone: AbortSignal,
): Promise<void> {
  const { customerId } = request;
  await requireSandbox(deps, customerId);
  await requirePhones(deps, customerId);
  await deps.serial.run(`reset ${customerId}`, () =>
    idempotent(deps, request, async () => {
      await removeAll(deps, customerId, gone);
      // A second time: phones may have received and reported messages while the records were being removed.
      await removeAll(deps, customerId, gone);
      return { transaction: null, value: null, result: "", generation: deps.generation() };
    }),
  );
}

/** Throws `NotRunningHere` if another process has the phones of the customer's first number: the reset drops their signals too. */
async function requirePhones(
  { configCache, membership }: With<"configCache" | "membership">,
  customerId: CustomerId,
): Promise<void> {
  if (membership.isAlone) return;
  const [first] = await configCache.numbers(customerId);
  if (first === undefined || membership.owns(first.instanceId)) return;
  if (membership.ownerOf(first.instanceId) !== null)
    throw new NotRunningHere(first.instanceId, "The sandbox of this customer");
}

async function removeAll(
  deps: With<"configCache" | "messageCache" | "optOutCache" | "providers" | "threadCache" | "typingContacts">,
  customerId: CustomerId,
  gone: AbortSignal,
): Promise<void> {
  gone.throwIfAborted();
  await resetPhones(deps, customerId);
  try {
    // A decision from before the last `forget` is committed before the last `reset`, which then removes it too.
    for (let begins = true, removed = 1; removed > 0; begins = false) {
      gone.throwIfAborted();
      await forget(deps, customerId);
      removed = await deps.store.reset(customerId, REMOVED_AT_ONCE, begins);
    }
  } finally {
    await forget(deps, customerId);
  }
}

async function resetPhones(
  { configCache, providers }: With<"configCache" | "providers">,
  customerId: CustomerId,
): Promise<void> {
  const instances = new Set((await configCache.numbers(customerId)).map(({ instanceId }) => instanceId));
  for (const id of instances) await providers.get(id)?.phones?.reset(customerId);
}

/** Clears the caches of deleted records. */
async function forget(
  deps: With<"configCache" | "messageCache" | "optOutCache" | "threadCache" | "typingContacts">,
  customerId: CustomerId,
): Promise<void> {
  await deps.wake.resetDeliveries(customerId);
  deps.messageCache.clear();
  deps.threadCache.clear();
  deps.typingContacts.forget(customerId);
  for (const { address } of await deps.configCache.numbers(customerId))
    deps.optOutCache.invalidate(address, customerId);
}
