/** Commits one change to a message: its new state, its events and their deliveries, in one unit. */

import type { Message } from "../../core/message.ts";
import type { Change } from "../../core/message-lifecycle.ts";
import type { Provider } from "../../providers/provider.ts";
import type { Operation, Transaction } from "../../store/store.ts";
import { change, difference } from "../commit.ts";
import type { Deps } from "../deps.ts";
import type { With } from "../engine-deps.ts";
import { failedWith } from "../payments/payments.ts";
import { reread } from "./find.ts";

/** The unit that leads from `before` to the change's message, with its events and whatever else belongs to it. */
export function transactionOf(
  before: Message,
  { message, events }: Change,
  also: readonly Operation[] = [],
): Transaction {
  const set = difference(before, message);
  const told = events.map((event): Operation => ({ op: "event", event, callbackUrl: message.callbackUrl }));
  return [{ op: "update", table: "messages", id: before.id, version: before.version, set }, ...told, ...also];
}

/** What a decision about a message comes to: its change, and what else is committed with it. Null changes nothing. */
export type MessageDecision = (Change & { also?: Operation[] }) | null;

/**
 * Decides about a message and commits it; when it had changed in between, decides again from what it now is.
 * `known` is the message as the caller has it, `verdict` pure. Answers the message as it then stands. Throws
 * `MessageGone`, a 404, where it is not there any more.
 */
export async function changeMessage(
  deps: With<"messageCache">,
  known: Message,
  verdict: (message: Message) => MessageDecision,
): Promise<Message> {
  let fresh: Message | null = known;
  const changed = await change(deps, async () => {
    let before = fresh ?? (await reread(deps, known.id));
    let decided = verdict(before);
    if (decided === null && fresh !== null) {
      // Only a commit would have shown that what the caller has is out of date.
      before = await reread(deps, known.id);
      decided = verdict(before);
    }
    fresh = null;
    if (decided === null) return { unit: null, value: before };
    const message = { ...decided.message, version: before.version + 1 };
    const also = [...(decided.also ?? []), ...(await alsoFails(deps, before, message))];
    return { unit: transactionOf(before, decided, also), value: message };
  });
  deps.messageCache.keep(changed);
  const { dueAt } = changed;
  if (dueAt !== null && dueAt <= deps.clock.now()) deps.wake.messages([changed.instanceId]);
  return changed;
}

/** A payment request ends with the message that asks for it, wherever that fails. */
async function alsoFails(deps: Deps, before: Message, after: Message): Promise<Operation[]> {
  return after.status === "failed" && before.status !== "failed" ? failedWith(deps, after) : [];
}

/** Length of a lease in real milliseconds (design: 45 s). What takes longer is cut off before, or leases anew. */
export const LEASE_MS = 45_000;
/** How much longer than the hand-over its lease is, in real milliseconds: its outcome is to be written within it. */
const WRITING_MS = 5_000;

/** Length of the lease of a message that is being handed to a provider, in real milliseconds. */
export function attemptLeaseMs({ capabilities }: Provider): number {
  return capabilities.sendTimeoutMs + WRITING_MS;
}

/** Whether the lease that was taken is still the message's; one that waited its turn for too long has lost it. */
export function hasLease(message: Message, leased: Message): boolean {
  return message.claimedUntil !== null && message.claimedUntil === leased.claimedUntil;
}

/** Nothing to do after all: the lease is given back, where it still is the one that was taken. */
export function releaseLease(message: Message, leased: Message): MessageDecision {
  if (!hasLease(message, leased)) return null;
  return { message: { ...message, claimedUntil: null }, events: [] };
}
