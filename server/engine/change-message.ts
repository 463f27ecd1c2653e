/** Commits one change to a message: its new state, its events and their deliveries, in one unit. */

import type { MessageId } from "../core/id.ts";
import type { Message } from "../core/message.ts";
import type { Change } from "../core/message-lifecycle.ts";
import { findMessage } from "../store/messages.ts";
import type { Operation, Unit } from "../store/store.ts";
import { change, difference } from "./commit.ts";
import type { Context } from "./context.ts";

/** The unit that leads from `before` to the change's message, with its events and whatever else belongs to it. */
export function unitOf(before: Message, { message, events }: Change, also: readonly Operation[] = []): Unit {
  const set = difference(before, message);
  const told = events.map((event): Operation => ({ op: "event", event, callbackUrl: message.callbackUrl }));
  return [{ op: "update", table: "messages", id: before.id, version: before.version, set }, ...told, ...also];
}

/** What a decision about a message comes to: its change, and what else is committed with it. Null changes nothing. */
export type Verdict = (Change & { also?: Operation[] }) | null;

/**
 * Decides about a message and commits it; when it had changed in between, decides again from what it now is.
 * `known` is the message as the caller has it, `verdict` pure. Answers the message as it then stands.
 */
export async function changeMessage(
  context: Context,
  known: Message,
  verdict: (message: Message) => Verdict,
): Promise<Message> {
  let fresh: Message | null = known;
  const changed = await change(context, async () => {
    let before = fresh ?? (await reread(context, known.id));
    let decided = verdict(before);
    if (decided === null && fresh !== null) {
      // Only a commit would have shown that what the caller has is out of date.
      before = await reread(context, known.id);
      decided = verdict(before);
    }
    fresh = null;
    if (decided === null) return { unit: null, value: before };
    const message = { ...decided.message, version: before.version + 1 };
    return { unit: unitOf(before, decided, decided.also), value: message };
  });
  context.recent.keep(changed);
  const { dueAt } = changed;
  if (dueAt !== null && dueAt <= context.clock.now()) context.wake.messages([changed.instanceId]);
  return changed;
}

async function reread(context: Context, id: MessageId): Promise<Message> {
  const message = await findMessage(context.store.db, id);
  if (message === null) throw new Error(`${id} is gone`);
  return message;
}
