/** Makes the operations that record the end of a message's send attempt. */

import type { Message } from "../../core/message.ts";
import { type Change, defer } from "../../core/message-lifecycle.ts";
import { placeOf } from "../../core/message-routing.ts";
import {
  type AttemptResult,
  type AttemptSignal,
  attemptAfter,
  openReference,
  recordAttempt,
} from "../../core/send-attempt.ts";
import type { NotedPart } from "../../providers/provider.ts";
import type { Operation } from "../../store/store.ts";
import type { Deps } from "../deps.ts";

/** Reference and note that the provider gave with the signal. */
interface GivenWithSignal extends Omit<AttemptResult, "state"> {
  /** No note was made before, so that there is no row yet. */
  isFresh?: boolean;
}

/** Deletes the note about an attempt that its provider has not named. */
export function forgetNote(message: Pick<Message, "id" | "instanceId" | "timeline">): Operation {
  const where = { instanceId: message.instanceId, reference: openReference(message) };
  return { op: "delete", table: "sendAttempts", where };
}

/**
 * Deletes every note about the message's present attempt and about a part of it: a provider may have noted an address. The
 * references stay.
 */
export function eraseNotes(message: Message): Operation[] {
  const { instanceId, providerMessageId, sentPart } = message;
  const references = [providerMessageId, sentPart?.reference ?? null].filter((one) => one !== null);
  const erased = references.map((reference): Operation => {
    return { op: "set", table: "sendAttempts", where: { instanceId, reference }, set: { note: null } };
  });
  return [forgetNote(message), ...erased];
}

/**
 * The operations for a signal of the message's present attempt, to be committed with the message's change; none if the attempt
 * has ended. An attempt that nobody must find gets no row.
 */
export function endAttempt(message: Message, signal: AttemptSignal, given: GivenWithSignal, now: number): Operation[] {
  const state = attemptAfter(message, signal);
  if (state === null) return [];
  const { isFresh = false, ...result } = given;
  const open = { instanceId: message.instanceId, reference: openReference(message) };
  const forget = isFresh ? [] : [forgetNote(message)];
  const put: Operation = {
    op: "put",
    table: "sendAttempts",
    record: recordAttempt(message, { ...result, state: signal === "reject" ? "rejected" : state }, now),
  };
  // A receipt of what the peer refused finds no message, while its provider finds that it is ours.
  if (signal === "reject" && given.reference === undefined) return forget;
  if (signal === "lose" && given.note === undefined)
    return [{ op: "set", table: "sendAttempts", where: open, set: { state } }];
  return signal === "accept" || signal === "reject" ? [...forget, put] : [put];
}

/**
 * Queues a message again whose present attempt is known not to have sent it, at its place: before the messages that were accepted after it.
 * Null if it is in no attempt.
 */
export function queueAgain(
  { clock, settings }: Pick<Deps, "clock" | "settings">,
  message: Message,
  reason: string,
): (Change & { also: Operation[] }) | null {
  const now = clock.now();
  const queued = defer(message, reason, placeOf(message, settings.messageTtlMs, now), now);
  return queued && { message: queued, events: [], also: endAttempt(message, "reject", {}, now) };
}

/** The operations that record a part which was sent by itself; none if one is recorded already. */
export function recordPart(message: Message, { reference, note }: NotedPart, now: number): Operation[] {
  if (message.sentPart !== null) return [];
  return endAttempt(message, "sendPart", { reference, note: note?.(), isFresh: true }, now);
}
