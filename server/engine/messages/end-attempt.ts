/** Makes the operations that record the end of a message's send attempt. */

import type { Message } from "../../core/message.ts";
import {
  type AttemptResult,
  type AttemptSignal,
  attemptAfter,
  openReference,
  recordAttempt,
} from "../../core/send-attempt.ts";
import type { Operation } from "../../store/store.ts";

/** Reference and note that the provider gave with the signal. */
interface GivenWithSignal extends Omit<AttemptResult, "state"> {
  /** No note was made before, so that there is no row yet. */
  isFresh?: boolean;
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
  const forget: Operation[] = isFresh ? [] : [{ op: "delete", table: "sendAttempts", where: open }];
  const put: Operation = {
    op: "put",
    table: "sendAttempts",
    record: recordAttempt(message, { ...result, state }, now),
  };
  if (signal === "reject") return forget;
  if (signal === "lose" && given.note === undefined)
    return [{ op: "set", table: "sendAttempts", where: open, set: { state } }];
  return signal === "accept" ? [...forget, put] : [put];
}
