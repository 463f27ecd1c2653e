/** The send attempts of one instance, as its provider notes and finds them. */

import { boundName, boundNames } from "../../core/bound-names.ts";
import { isErased } from "../../core/erasure.ts";
import type { InstanceId } from "../../core/id.ts";
import type { Message } from "../../core/message.ts";
import {
  AttemptEnded,
  type AttemptName,
  attemptAfter,
  attemptedAt,
  notedAttempt,
  openReference,
  recordAttempt,
  type SendAttempts,
} from "../../core/send-attempt.ts";
import { findMessage } from "../../store/messages.ts";
import { listKnownReferences, listNoted } from "../../store/send-attempts.ts";
import type { Operation } from "../../store/store.ts";
import type { Deps } from "../deps.ts";
import type { With } from "../engine-deps.ts";
import { changeMessage, type MessageDecision } from "./change-message.ts";
import { MessageGone } from "./find.ts";

/** The attempts of an instance. `deps` are asked for at each call: the instance is made before all of them exist. Nothing is written unless `required` holds. */
export function attemptsOf(
  deps: () => With<"messageCache">,
  instanceId: InstanceId,
  required: readonly Operation[] = [],
): SendAttempts {
  const of = { instanceId, required };
  return {
    noted: async () => (await listNoted(deps().store.db, instanceId)).map(notedAttempt).filter((one) => one !== null),
    note: (attempt, text) => noteAttempt(deps(), { ...attempt, ...of }, text),
    change: (attempt, text) => changeNote(deps(), { ...boundNames(attempt), ...of }, text),
    end: (attempt, refused) =>
      endGivenUp(deps(), { ...attempt, ...of }, refused === undefined ? undefined : boundName(refused)),
    known: (references) => knownOf(deps(), instanceId, references),
  };
}

/** Those of some references that attempts of the instance have, as they were given. */
async function knownOf(
  { store }: Pick<Deps, "store">,
  instanceId: InstanceId,
  references: readonly string[],
): Promise<ReadonlySet<string>> {
  const known = await listKnownReferences(store.db, instanceId, references.map(boundName));
  return new Set(references.filter((reference) => known.has(boundName(reference))));
}

type NotingAttempt = AttemptName & { instanceId: InstanceId; required: readonly Operation[] };

async function noteAttempt(deps: With<"messageCache">, attempt: NotingAttempt, text: string): Promise<void> {
  const { messageId } = attempt;
  const message = deps.messageCache.get(messageId) ?? (await findMessage(deps.store.db, messageId));
  let isNoted = false;
  const decide = (fresh: Message): MessageDecision => {
    const state = isOf(fresh, attempt) ? attemptAfter(fresh, "note") : null;
    isNoted = state !== null;
    if (state === null) return null;
    const record = recordAttempt(fresh, { state, note: text }, deps.clock.now());
    return { message: fresh, events: [], also: [...attempt.required, { op: "put", table: "sendAttempts", record }] };
  };
  try {
    if (message !== null) await changeMessage(deps, message, decide);
  } catch (error) {
    if (!(error instanceof MessageGone)) throw error;
    isNoted = false;
  }
  if (!isNoted) throw new AttemptEnded(`the send attempt of ${messageId} has ended`);
}

/** An attempt that nobody proved has its note under the reference that it had while it was open. */
async function changeNote(
  deps: With<"messageCache">,
  { reference, ...attempt }: NotingAttempt & { reference: string },
  text: string | null,
): Promise<void> {
  const { instanceId, messageId, required } = attempt;
  const isNamed = (await listKnownReferences(deps.store.db, instanceId, [reference])).has(reference);
  const where = isNamed ? { instanceId, reference } : await findOpen(deps, attempt);
  if (where === null || (text !== null && (await isErasedOrGone(deps, messageId)))) return;
  const operation: Operation =
    text === null && !isNamed
      ? { op: "delete", table: "sendAttempts", where }
      : { op: "set", table: "sendAttempts", where, set: { note: text } };
  await deps.store.commitGathered([...required, operation]);
}

/** A note may hold an address: none is made about an erased message. */
async function isErasedOrGone(deps: With<"messageCache">, id: NotingAttempt["messageId"]): Promise<boolean> {
  const message = deps.messageCache.get(id) ?? (await findMessage(deps.store.db, id));
  return message === null || isErased(message);
}

/** Deletes the note of an attempt without an outcome; `refused`: the reference that the attempt is then known by. */
async function endGivenUp(
  deps: With<"messageCache">,
  attempt: NotingAttempt,
  refused: string | undefined,
): Promise<void> {
  const where = await findOpen(deps, attempt);
  if (where === null) return;
  const ended = { state: "rejected", endedAt: deps.clock.now(), note: null } as const;
  const operation: Operation =
    refused === undefined
      ? { op: "delete", table: "sendAttempts", where }
      : { op: "set", table: "sendAttempts", where, set: { ...ended, reference: refused } };
  await deps.store.commit([...attempt.required, operation]);
}

/** Where the note of an attempt is that its provider has not named; null if its message is gone. */
async function findOpen(deps: With<"messageCache">, { messageId, attemptedAt, instanceId }: NotingAttempt) {
  const message = deps.messageCache.get(messageId) ?? (await findMessage(deps.store.db, messageId));
  return message === null ? null : { instanceId, reference: openReference(message, attemptedAt) };
}

/** Whether this is the message's present attempt. */
function isOf(message: Message, attempt: NotingAttempt): boolean {
  return message.instanceId === attempt.instanceId && attemptedAt(message) === attempt.attemptedAt;
}
