/** Opt-outs of contacts, changed by keywords, by providers and by the API. */

import type { InstanceId } from "../../core/id.ts";
import type { OptOut } from "../../core/opt-out.ts";
import { parseAddress } from "../../core/phone.ts";
import type { OptOutSignal } from "../../providers/provider.ts";
import type { Operation, Transaction } from "../../store/store.ts";
import { acknowledgementOf, acknowledgeOnly } from "../acknowledge.ts";
import { change, type Decision } from "../commit.ts";
import type { EngineDeps, With } from "../engine-deps.ts";
import { type OptOutCause, type OptOutPlace, optInOperations, optOutOperations, pairAt } from "./opt-out-change.ts";

/** Whether an opt-out of a contact holds for a number. Returns at once, from memory, after the first read of the lists. */
export function isOptedOut(deps: With<"optOutCache">, place: OptOutPlace): boolean | Promise<boolean> {
  return deps.optOutCache.has(pairAt(place));
}

/** Applies an opt-out or opt-in that the provider itself received. Resolves when the change is on disk. */
export async function receiveOptOut(
  deps: With<"configCache" | "optOutCache">,
  instanceId: InstanceId,
  { kind: _, ...signal }: OptOutSignal,
): Promise<void> {
  const number = await deps.configCache.numberAt(signal.to);
  const forgets = acknowledgementOf(instanceId, signal);
  if (number === null) {
    deps.observer.fault("opt-outs", new Error("an opt-out is about an address that is no number of this service"));
    await acknowledgeOnly(deps, forgets);
    return;
  }
  const contact = parseAddress(signal.from)?.address ?? signal.from;
  const place = { customerId: number.customerId, number: number.address, contact };
  const { keyword, channel } = signal;
  const cause: OptOutCause = { source: "provider", keyword, reason: null, channel };
  await changeList(deps, async () => {
    const { operations } =
      signal.request === "stop"
        ? await optOutOperations(deps, place, cause)
        : await optInOperations(deps, place, cause);
    const transaction = [...operations, ...forgets];
    return { transaction: transaction.length === 0 ? null : transaction, value: null };
  });
}

const BY_REQUEST: OptOutCause = { source: "api", keyword: null, reason: null, channel: null };

/** Opts a contact out. Returns the entry, or the existing entry of the same customer. */
export async function optOut(deps: With<"configCache" | "optOutCache">, place: OptOutPlace): Promise<OptOut> {
  return await changeList(deps, async () => {
    const { record, operations } = await optOutOperations(deps, place, BY_REQUEST);
    if (record === null) throw new Error("an opt-out that holds cannot be decoded");
    return { transaction: operations.length === 0 ? null : operations, value: record };
  });
}

/**
 * Ends the opt-outs that hold for a place, whoever made them. Returns them; empty if there is none. `check` may throw for those that are
 * about to end.
 */
export async function optIn(
  deps: With<"configCache" | "optOutCache">,
  place: OptOutPlace,
  reason: string | null,
  check: (ended: readonly OptOut[]) => void = () => {},
): Promise<OptOut[]> {
  return await changeList(deps, async () => {
    const { ended, operations } = await optInOperations(deps, place, { ...BY_REQUEST, reason });
    check(ended);
    return { transaction: operations.length === 0 ? null : operations, value: ended };
  });
}

async function changeList<Value>(deps: With<"optOutCache">, decision: () => Promise<Decision<Value>>): Promise<Value> {
  let committed: Transaction = [];
  const value = await change(deps, async () => {
    const decided = await decision();
    committed = decided.transaction ?? [];
    return decided;
  });
  invalidateOptOuts(deps, committed);
  return value;
}

/** Invalidates the cached lists that committed operations changed. */
export function invalidateOptOuts(deps: Pick<EngineDeps, "optOutCache">, operations: readonly Operation[]): void {
  for (const operation of operations) {
    if (!("table" in operation) || operation.table !== "optOuts") continue;
    if (operation.op === "put") deps.optOutCache.invalidate(operation.record.number, operation.record.customerId);
    if (operation.op !== "delete") continue;
    const { number, customerId } = operation.where;
    if (number !== undefined && customerId !== undefined) deps.optOutCache.invalidate(number, customerId);
    else deps.optOutCache.clear();
  }
}
