/** Commits one change to a message: its new state, its events and their deliveries, in one unit. */

import { ApiError } from "../../core/error.ts";
import type { MessageId } from "../../core/id.ts";
import type { Message } from "../../core/message.ts";
import type { Change } from "../../core/message-lifecycle.ts";
import { findMessage } from "../../store/messages.ts";
import type { Operation, Transaction } from "../../store/store.ts";
import { change, difference } from "../commit.ts";
import type { Deps } from "../deps.ts";
import { failedWith } from "../payments/payments.ts";

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

/** The message is not there any more: its customer's sandbox was reset. Nothing is left to be done for it. */
export class MessageGone extends ApiError {
  constructor(id: MessageId) {
    super("NOT_FOUND", `The message ${id} is gone.`);
  }
}

/** What a decision about a message comes to: its change, and what else is committed with it. Null changes nothing. */
export type MessageDecision = (Change & { also?: Operation[] }) | null;

/**
 * Decides about a message and commits it; when it had changed in between, decides again from what it now is.
 * `known` is the message as the caller has it, `verdict` pure. Answers the message as it then stands. Throws
 * `MessageGone`, a 404, where it is not there any more.
 */
export async function changeMessage(
  deps: Deps,
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

/** A message that there must be, as it is stored. Throws where it is gone. */
export async function reread(deps: Deps, id: MessageId): Promise<Message> {
  const message = await findMessage(deps.store.db, id);
  if (message !== null) return message;
  deps.messageCache.forget(id);
  throw new MessageGone(id);
}
