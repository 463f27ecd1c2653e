/** What an answer of the Mac to a hand-over means. Pure: a table, and how it is read. */

import type { Channel } from "../../../sdk/wire.ts";
import type { NotAccepted, Outcome } from "../provider.ts";
import { describeFailure, type Failure, isBlueBubblesError } from "./client.ts";
import type { MacMessage } from "./records.ts";

/**
 * `notAttempted`: provably not sent, and the Mac can hand over nothing now. `noChat`: provably not sent, since Messages
 * does not know the chat. `failedRow`: Messages has it, as a row that failed. `refused`: provably not sent, and never
 * will be. `unknown`: it may have been sent.
 */
export type FailureClass = "notAttempted" | "noChat" | "failedRow" | "refused" | "unknown";

interface FailureRule {
  status?: number;
  /** Of `error.message`. */
  says?: RegExp;
  /** Whether BlueBubbles itself says so, or what stands before it. */
  isOwn?: boolean;
  means: FailureClass;
}

/**
 * The first row that fits decides. BlueBubbles answers 500 for what was not tried, for what failed and for what it does
 * not know, so that the words decide there; what nothing is known of may have been sent.
 */
const FAILURE_RULES: readonly FailureRule[] = [
  { status: 401, means: "notAttempted" },
  { status: 400, says: /already queued/i, means: "unknown" },
  { status: 400, means: "refused" },
  { status: 404, isOwn: true, means: "refused" },
  // No error of BlueBubbles: what answers at this address is something else.
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

/** `message.error` of a recipient that is not on iMessage, or that Messages refuses to send to. */
export const NOT_ON_IMESSAGE_ERROR = 22;
/** The code of a message that was not handed over because Apple says that its recipient is not on iMessage. */
export const NOT_ON_IMESSAGE = "NOT_ON_IMESSAGE";

/** What a hand-over that got no good answer comes to. */
export function classifyFailure(failure: Failure): FailureClass {
  if (failure.kind === "refused") return "notAttempted";
  if (failure.kind === "lost") return "unknown";
  const { status, message } = failure;
  const own = isBlueBubblesError(failure);
  const fits = (row: FailureRule) =>
    (row.status ?? status) === status && (row.isOwn ?? own) === own && (row.says?.test(message) ?? true);
  return FAILURE_RULES.find(fits)?.means ?? "unknown";
}

/** The outcome of a message whose row is known, on the channel it was handed over on. */
export function outcomeOfRow({ guid, error }: Pick<MacMessage, "guid" | "error">, channel: Channel): Outcome {
  if (error === 0) return { outcome: "accepted", reference: guid };
  const code = String(error);
  if (error === NOT_ON_IMESSAGE_ERROR && channel === "imessage") {
    return { outcome: "rejected", code, reason: "Messages could not send it over iMessage", notReachable: true };
  }
  return { outcome: "rejected", code, reason: `Messages failed to send it (error ${code})` };
}

/** The outcome of a failure that needs nothing looked up. */
export function outcomeOfFailure(failure: Failure, meaning: Exclude<FailureClass, "noChat" | "failedRow">): Outcome {
  const reason = describeFailure(failure);
  switch (meaning) {
    case "notAttempted":
      return down(reason);
    case "refused":
      return { outcome: "rejected", code: failure.kind === "answered" ? String(failure.status) : "REFUSED", reason };
    case "unknown":
      return unknown(reason);
  }
}

/** Provably not sent; it is tried again when the engine thinks fit. */
export function deferred(reason: string): NotAccepted {
  return { outcome: "deferred", retryAfterMs: null, reason };
}

/** It may have been sent. */
export function unknown(reason: string): NotAccepted {
  return { outcome: "unknown", reason };
}

/** Not handed over, and nothing else could be either. When the instance is up again is told by its `changed`. */
export function down(reason: string): NotAccepted {
  return { outcome: "deferred", retryAfterMs: DOWN_RETRY_MS, reason, isDown: true };
}

const DOWN_RETRY_MS = 15_000;
