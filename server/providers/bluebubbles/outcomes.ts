/** Turns the Mac's responses to a send into outcomes, by a table of failures. Pure. */

import type { Channel } from "../../../sdk/wire.ts";
import type { NotAccepted, Outcome } from "../provider.ts";
import { describeFailure, type Failure, isBlueBubblesError } from "./client.ts";
import type { MacMessage } from "./records.ts";

/**
 * `notAttempted`: provably not sent, and the Mac can send nothing at present. `noChat`: provably not sent, because Messages
 * does not know the chat. `failedRow`: Messages has a row of the message that failed. `refused`: provably not sent, and a
 * retry would fail again. `unknown`: the Mac may have sent the message.
 */
export type FailureClass = "notAttempted" | "noChat" | "failedRow" | "refused" | "unknown";

interface FailureRule {
  status?: number;
  /** Pattern of the error message. */
  says?: RegExp;
  /** Whether the error comes from BlueBubbles itself, and not from a proxy before it. */
  isOwn?: boolean;
  means: FailureClass;
}

/**
 * The first matching rule decides. BlueBubbles responds with 500 to requests that it did not try, to failed requests and to
 * unknown results, so the error message tells them apart. An unlisted error may mean that the message was sent.
 */
const FAILURE_RULES: readonly FailureRule[] = [
  { status: 401, means: "notAttempted" },
  { status: 400, says: /already queued/i, means: "unknown" },
  { status: 400, means: "refused" },
  { status: 404, isOwn: true, means: "refused" },
  // Without BlueBubbles' error format, another server responds at this address.
  { status: 403, isOwn: false, means: "notAttempted" },
  { status: 404, means: "notAttempted" },
  { status: 405, means: "notAttempted" },
  { status: 413, means: "refused" },
  { status: 500, says: /^(\[\d+\] )?Message sent with an error/i, means: "failedRow" },
  { status: 500, says: /^Chat does not exist/i, means: "noChat" },
  { status: 500, says: /Helper is not connected/i, means: "notAttempted" },
  { status: 500, says: /Private API is not enabled/i, means: "notAttempted" },
  { status: 500, says: /^Failed to invoke Private API/i, means: "notAttempted" },
  { status: 500, says: /^Failed to find all handles/i, means: "refused" },
  { status: 500, says: /^A message is required when creating chats/i, means: "refused" },
  { status: 500, says: /Transaction timeout/i, means: "unknown" },
  { status: 500, says: /not found in database after/i, means: "unknown" },
  { status: 500, says: /See attached message error code/i, means: "unknown" },
  { means: "unknown" },
];

/** `message.error` for a recipient without iMessage, or one that Messages refuses to send to. */
export const NOT_ON_IMESSAGE_ERROR = 22;
/** Code of a message that was not sent because Apple reports that the recipient is not on iMessage. */
export const NOT_ON_IMESSAGE = "NOT_ON_IMESSAGE";

/** Classifies the failure of a send. */
export function classifyFailure(failure: Failure): FailureClass {
  if (failure.kind === "unreachable") return "notAttempted";
  if (failure.kind === "noResponse") return "unknown";
  const { status, message } = failure;
  const own = isBlueBubblesError(failure);
  const fits = (row: FailureRule) =>
    (row.status ?? status) === status && (row.isOwn ?? own) === own && (row.says?.test(message) ?? true);
  return FAILURE_RULES.find(fits)?.means ?? "unknown";
}

/** Outcome of a message whose row is known, on the channel of the attempt. */
export function outcomeOfRow({ guid, error }: Pick<MacMessage, "guid" | "error">, channel: Channel): Outcome {
  if (error === 0) return { outcome: "accepted", reference: guid };
  const code = String(error);
  const reference = guid;
  if (error === NOT_ON_IMESSAGE_ERROR && channel === "imessage") {
    const reason = "Messages could not send it over iMessage";
    return { outcome: "rejected", code, reason, notReachable: true, reference };
  }
  return { outcome: "rejected", code, reason: `Messages failed to send it (error ${code})`, reference };
}

/** Outcome of a failure that needs no lookup. */
export function outcomeOfFailure(
  failure: Failure,
  failureClass: Exclude<FailureClass, "noChat" | "failedRow">,
): Outcome {
  const reason = describeFailure(failure);
  switch (failureClass) {
    case "notAttempted":
      return down(reason);
    case "refused":
      return {
        outcome: "rejected",
        code: failure.kind === "errorResponse" ? String(failure.status) : "REFUSED",
        reason,
      };
    case "unknown":
      return unknown(reason);
  }
}

/** Provably not sent. The engine decides when to retry. */
export function deferred(reason: string): NotAccepted {
  return { outcome: "deferred", retryAfterMs: null, reason };
}

/** The message may have been sent. */
export function unknown(reason: string): NotAccepted {
  return { outcome: "unknown", reason };
}

/** Not sent, because the Mac can send nothing at present. `changed` reports when it is up again. */
export function down(reason: string): NotAccepted {
  return { outcome: "deferred", retryAfterMs: DOWN_RETRY_MS, reason, isDown: true };
}

const DOWN_RETRY_MS = 15_000;
