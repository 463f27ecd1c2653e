/** Commits one change of a message in one transaction: its new state, its events and their deliveries. Leases decide which worker may change it. */

import type { Message } from "../../core/message.ts";
import type { Change } from "../../core/message-lifecycle.ts";
import type { Provider } from "../../providers/provider.ts";
import type { Operation, Transaction } from "../../store/store.ts";
import { change, difference } from "../commit.ts";
import type { Deps } from "../deps.ts";
import type { With } from "../engine-deps.ts";
import { failedWith } from "../payments/payments.ts";
import { reread } from "./find.ts";

/** The transaction from `before` to the changed message, with its events and the operations of `also`. */
export function transactionOf(
  before: Message,
  { message, events }: Change,
  also: readonly Operation[] = [],
): Transaction {
  const set = difference(before, message);
  const emitted = events.map((event): Operation => ({ op: "event", event, callbackUrl: message.callbackUrl }));
  return [{ op: "update", table: "messages", id: before.id, version: before.version, set }, ...emitted, ...also];
}

/** The result of a decision about a message: its change, and other operations to commit with it. Null changes nothing. */
export type MessageDecision = (Change & { also?: Operation[] }) | null;

/**
 * Decides about a message and commits the decision; if the message changed meanwhile, decides again from its present state.
 * `known` is the message as the caller has it; `decision` is pure. Returns the message as it then is. Throws `MessageGone`, a
 * 404, if it no longer exists.
 */
export async function changeMessage(
  deps: With<"messageCache">,
  known: Message,
  decision: (message: Message) => MessageDecision,
): Promise<Message> {
  let fresh: Message | null = known;
  const changed = await change(deps, async () => {
    let before = fresh ?? (await reread(deps, known.id));
    let decided = decision(before);
    if (decided === null && fresh !== null) {
      // Without a commit nothing else shows that the caller's message is out of date.
      before = await reread(deps, known.id);
      decided = decision(before);
    }
    fresh = null;
    if (decided === null) return { transaction: null, value: before };
    const message = { ...decided.message, version: before.version + 1 };
    const also = [...(decided.also ?? []), ...(await alsoFails(deps, before, message))];
    return { transaction: transactionOf(before, decided, also), value: message };
  });
  deps.messageCache.keep(changed);
  const { dueAt } = changed;
  if (dueAt !== null && dueAt <= deps.clock.now()) deps.wake.messages([changed.instanceId]);
  return changed;
}

/** A payment request ends if its message fails. */
async function alsoFails(deps: Deps, before: Message, after: Message): Promise<Operation[]> {
  return after.status === "failed" && before.status !== "failed" ? failedWith(deps, after) : [];
}

/** Length of a lease in real milliseconds. Work that may take longer is aborted before, or renews its lease. */
export const LEASE_MS = 45_000;
/** A send attempt's lease is this much longer than the attempt, in real milliseconds, so that its outcome is committed within it. */
const COMMIT_MS = 5_000;

/** Length of the lease of a send attempt, in real milliseconds. */
export function attemptLeaseMs({ capabilities }: Provider): number {
  return capabilities.sendTimeoutMs + COMMIT_MS;
}

/** Whether the message still has the lease that `leased` was claimed with; a worker that waited too long has lost it. */
export function hasLease(message: Message, leased: Message): boolean {
  return message.claimedUntil !== null && message.claimedUntil === leased.claimedUntil;
}

/** Releases the lease of a message that needs nothing, if the message still has that lease. */
export function releaseLease(message: Message, leased: Message): MessageDecision {
  if (!hasLease(message, leased)) return null;
  return { message: { ...message, claimedUntil: null }, events: [] };
}
