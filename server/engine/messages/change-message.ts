/** Commits one change of a message in one transaction: its new state, its events and their deliveries. */

import type { Message } from "../../core/message.ts";
import type { Change } from "../../core/message-lifecycle.ts";
import { entriesAhead } from "../../core/timeline.ts";
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

/** The change, whose new entries of the timeline say how far the sandbox's clock is ahead. */
export function aheadIn<Change_ extends { message: Message }>(
  { clock }: Pick<Deps, "clock">,
  before: Message,
  changed: Change_ | null,
): Change_ | null {
  if (changed === null) return null;
  return { ...changed, message: entriesAhead(changed.message, before.timeline.length, clock.aheadMs()) };
}

/**
 * The result of a decision about a message: its change, and other operations to commit with it. `gathered`: see
 * `Store.commitGathered`. Null changes nothing.
 */
export type MessageDecision = (Change & { also?: Operation[]; gathered?: boolean }) | null;

/**
 * Decides about a message and commits the decision; if the message has changed, decides again from its present state.
 * `known` is the caller's copy of the message; `decision` is pure. Returns the changed message. Throws `MessageGone`, a
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
    let decided = aheadIn(deps, before, decision(before));
    if (decided === null && fresh !== null) {
      // Without a commit nothing else shows that the caller's message is out of date.
      before = await reread(deps, known.id);
      decided = aheadIn(deps, before, decision(before));
    }
    fresh = null;
    if (decided === null) return { transaction: null, value: before };
    const message = { ...decided.message, version: before.version + 1 };
    const also = [...(decided.also ?? []), ...(await alsoFails(deps, before, message))];
    const { gathered = false } = decided;
    return { transaction: transactionOf(before, decided, also), value: message, gathered };
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

/** Length of a lease in real milliseconds. */
export const LEASE_MS = 45_000;
/** A send attempt's lease is this much longer than the attempt, in real milliseconds, so that its outcome is committed within it. */
const COMMIT_MS = 5_000;

/** Length of the lease of a send attempt, in real milliseconds. */
export function attemptLeaseMs({ capabilities }: Provider): number {
  return capabilities.sendTimeoutMs + COMMIT_MS;
}

/**
 * Whether the message is still as it was claimed. If not, another change has decided about it: the run that claimed it does
 * nothing more. Two runs may hold a message if the lease of the first ran out; the first to commit changes it for both.
 */
export function isAsClaimed(message: Message, claimed: Message): boolean {
  return CLAIMED_BY.every((property) => message[property] === claimed[property]);
}

const CLAIMED_BY = ["status", "dueAt", "sendAttempts", "channel", "instanceId"] as const;

/** Removes a message that needs nothing from the queue, if it is still as it was claimed. */
export function leaveQueue(message: Message, claimed: Message): MessageDecision {
  if (!isAsClaimed(message, claimed)) return null;
  return { message: { ...message, dueAt: null }, events: [] };
}
