/** The send attempts of one instance, as its provider notes and finds them. */

import type { InstanceId } from "../../core/id.ts";
import type { Message } from "../../core/message.ts";
import {
  AttemptEnded,
  attemptAfter,
  attemptedAt,
  notedAttempt,
  recordAttempt,
  type SendAttempts,
} from "../../core/send-attempt.ts";
import { findMessage } from "../../store/messages.ts";
import { listKnownReferences, listNoted } from "../../store/send-attempts.ts";
import type { With } from "../engine-deps.ts";
import { changeMessage, type MessageDecision } from "./change-message.ts";
import { MessageGone } from "./find.ts";

/** The attempts of an instance. `deps` are asked for at each call: the instance is made before all of them exist. */
export function attemptsOf(deps: () => With<"messageCache">, instanceId: InstanceId): SendAttempts {
  return {
    noted: async () => (await listNoted(deps().store.db, instanceId)).map(notedAttempt).filter((one) => one !== null),
    note: (attempt, text) => noteAttempt(deps(), { ...attempt, instanceId }, text),
    change: async ({ reference, text }) => {
      const where = { instanceId, reference };
      await deps().store.commit([{ op: "set", table: "sendAttempts", where, set: { note: text } }]);
    },
    known: (references) => listKnownReferences(deps().store.db, instanceId, references),
  };
}

type NotingAttempt = Parameters<SendAttempts["note"]>[0] & { instanceId: InstanceId };

async function noteAttempt(deps: With<"messageCache">, attempt: NotingAttempt, text: string): Promise<void> {
  const { messageId } = attempt;
  const message = deps.messageCache.get(messageId) ?? (await findMessage(deps.store.db, messageId));
  let isNoted = false;
  const decide = (fresh: Message): MessageDecision => {
    const state = isOf(fresh, attempt) ? attemptAfter(fresh, "note") : null;
    isNoted = state !== null;
    if (state === null) return null;
    const record = recordAttempt(fresh, { state, note: text }, deps.clock.now());
    return { message: fresh, events: [], also: [{ op: "put", table: "sendAttempts", record }] };
  };
  try {
    if (message !== null) await changeMessage(deps, message, decide);
  } catch (error) {
    if (!(error instanceof MessageGone)) throw error;
    isNoted = false;
  }
  if (!isNoted) throw new AttemptEnded(`the send attempt of ${messageId} has ended`);
}

/** Whether this is the message's present attempt. */
function isOf(message: Message, attempt: NotingAttempt): boolean {
  return message.instanceId === attempt.instanceId && attemptedAt(message) === attempt.attemptedAt;
}
