/** Opt-outs of contacts from numbers, changed by keywords, by providers and by the API. */

import type { InstanceId } from "../../core/id.ts";
import type { Message } from "../../core/message.ts";
import { keywordOf, type OptOut } from "../../core/opt-out.ts";
import { parseAddress } from "../../core/phone.ts";
import type { OptOutSignal } from "../../providers/provider.ts";
import { findOptOut } from "../../store/opt-outs.ts";
import type { Operation, Transaction } from "../../store/store.ts";
import { acknowledgementOf, acknowledgeOnly } from "../acknowledge.ts";
import { change, type Decision } from "../commit.ts";
import type { Deps } from "../deps.ts";
import type { EngineDeps, With } from "../engine-deps.ts";

/**
 * Whether a contact opted out of messages from a number. Returns at once, from memory, after the first read of the
 * list.
 */
export function isOptedOut(deps: With<"optOutCache">, number: string, contact: string): boolean | Promise<boolean> {
  return deps.optOutCache.has(number, contact);
}

/**
 * The change that an inbound message makes to the opt-out list of its number, on any channel. No change unless its
 * whole text is a keyword. The operations belong in the message's transaction; call `invalidateOptOuts` after the
 * commit. Only for one-to-one threads: a message in a group is addressed to everybody in it.
 */
export function keywordOperations(deps: Deps, message: Message): Operation[] {
  const { customerId, from: contact, to: number } = message;
  const keyword = keywordOf(message.text);
  if (keyword === null) return [];
  if (keyword.intent === "start") return [{ op: "delete", table: "optOuts", where: { number, contact } }];
  const createdAt = deps.clock.now();
  const record = { customerId, number, contact, source: "keyword" as const, keyword: keyword.word, createdAt };
  return [{ op: "put", table: "optOuts", record }];
}

/** Applies an opt-out or opt-in that the provider itself received. Resolves when the change is on disk. */
export async function receiveOptOut(
  deps: With<"configCache" | "optOutCache">,
  instanceId: InstanceId,
  signal: OptOutSignal,
): Promise<void> {
  const number = await deps.configCache.numberAt(signal.to);
  const forgets = acknowledgementOf(instanceId, signal);
  if (number === null) {
    deps.observer.fault("opt-outs", new Error("an opt-out is about an address that is no number of this service"));
    await acknowledgeOnly(deps, forgets);
    return;
  }
  const contact = parseAddress(signal.from)?.address ?? signal.from;
  const key = { number: number.address, contact };
  await changeList(deps, async () => {
    const known = await findOptOut(deps.store.db, key.number, contact);
    if (signal.request === "start")
      return { transaction: [{ op: "delete", table: "optOuts", where: key }, ...forgets], value: null };
    if (known !== null) return { transaction: forgets.length === 0 ? null : forgets, value: null };
    const createdAt = deps.clock.now();
    const record: OptOut = {
      ...key,
      customerId: number.customerId,
      source: "keyword",
      keyword: signal.keyword,
      createdAt,
    };
    return { transaction: [{ op: "put", table: "optOuts", record }, ...forgets], value: null };
  });
}

/**
 * Adds a contact to the opt-out list of a customer's number. Returns the entry, or the existing entry of the same
 * customer.
 */
export async function optOut(
  deps: With<"optOutCache">,
  { customerId, number, contact }: Pick<OptOut, "customerId" | "number" | "contact">,
): Promise<OptOut> {
  return await changeList(deps, async () => {
    const known = await findOptOut(deps.store.db, number, contact);
    if (known?.customerId === customerId) return { transaction: null, value: known };
    const createdAt = deps.clock.now();
    const record: OptOut = { customerId, number, contact, source: "api", keyword: null, createdAt };
    return { transaction: [{ op: "put", table: "optOuts", record }], value: record };
  });
}

/** Removes a contact from a number's list. Returns whether the contact was on the list. */
export async function optIn(deps: With<"optOutCache">, number: string, contact: string): Promise<boolean> {
  return await changeList(deps, async () => {
    if ((await findOptOut(deps.store.db, number, contact)) === null) return { transaction: null, value: false };
    return { transaction: [{ op: "delete", table: "optOuts", where: { number, contact } }], value: true };
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
    if (operation.op === "delete") deps.optOutCache.invalidate(operation.where.number ?? "");
    else if ("record" in operation) deps.optOutCache.invalidate(operation.record.number);
  }
}
