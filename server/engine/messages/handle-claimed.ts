/** Handles a claimed message by its status: it becomes due, is sent, is reconciled, gives its channel up, or leaves the queue. */

import type { Message } from "../../core/message.ts";
import { becomeDue } from "../../core/message-lifecycle.ts";
import { RowUnreadable } from "../../store/rows.ts";
import { changeContext, type EngineDeps, type With } from "../engine-deps.ts";
import { nextChannel, planOf, type RoutePlan, wayNow } from "../routing/route.ts";
import type { RunResult } from "../run-result.ts";
import { changeMessage, isAsClaimed, leaveQueue, type MessageDecision } from "./change-message.ts";
import { giveUp } from "./conclude.ts";
import { MessageGone } from "./find.ts";
import { makeAttempt } from "./make-attempt.ts";
import type { Handling } from "./prepare.ts";
import { reconcile } from "./reconcile.ts";

/** A message that needs an undecodable record is tried again after this, in milliseconds. */
const UNREADABLE_RETRY_MS = 60_000;

/**
 * The status of a claimed message decides what happens. Nothing happens if something else has decided about it since the claim
 * (`isAsClaimed`).
 *
 * | Status | Event | The message |
 * |---|---|---|
 * | `scheduled` | its time has come | is `queued` |
 * | `queued` | it has expired, its recipient has opted out, or its files can never be had | is `failed` |
 * | `queued` | quiet hours, its instance is down, or its files cannot be had now | is `queued`, and due later |
 * | `queued` | a send attempt begins (`makeAttempt`) | is `pending` until the outcome is on disk |
 * | `pending` | its provider is asked about the attempt (`reconcile`) | has its outcome, or is `pending`, and due later |
 * | `sent` | no receipt has come in time | is `queued` for its next channel, or waits for its receipt without a limit |
 * | any other | it needs nothing | is not due any more |
 * | any | a record that it needs cannot be read | is due in a minute |
 * | any | a reset of the sandbox has deleted it | is gone |
 */
export async function handleClaimed(deps: EngineDeps, message: Message, handling: Handling): Promise<RunResult> {
  switch (message.status) {
    case "scheduled": {
      // Routes and instances may have changed since the message was accepted.
      const plan = await planOf(deps, message);
      const due = await changeMessage(deps, message, (fresh) =>
        // A change of its time ends this claim.
        isAsClaimed(fresh, message)
          ? becomeDue(fresh, wayNow(deps, plan, fresh), deps.settings.messageTtlMs, changeContext(deps))
          : null,
      );
      if (due.status === "queued") deps.threadCache.senders.noteMessage(due.customerId, due.to, due.from);
      return "good";
    }
    case "queued":
      return makeAttempt(deps, message, handling);
    case "pending":
      return reconcile(deps, message, handling);
    case "sent": {
      const plan = await planOf(deps, message);
      await changeMessage(deps, message, (fresh) => noReceipt(deps, plan, fresh, message));
      return "good";
    }
    default:
      await changeMessage(deps, message, (fresh) => leaveQueue(fresh, message));
      return "good";
  }
}

/** No receipt of delivery came in time: gives the channel up, unless a receipt came first or no other channel is left. */
function noReceipt(
  deps: With<"connections" | "link">,
  plan: RoutePlan,
  message: Message,
  claimed: Message,
): MessageDecision {
  if (!isAsClaimed(message, claimed)) return null;
  if (nextChannel(deps, plan, message) === null) return leaveQueue(message, claimed);
  const cause = { code: "NO_CHANNEL_AVAILABLE", message: "No channel delivered it in time." } as const;
  return giveUp(deps, plan, message, "NO_DELIVERY", cause);
}

/**
 * Ends the handling of a message after an error: the message is gone, or it needs an undecodable record and is postponed, so that
 * it does not take a permit again and again. Throws any other error.
 */
export async function handleError(deps: With<"messageCache">, message: Message, error: unknown): Promise<RunResult> {
  if (error instanceof MessageGone) return "good";
  if (!(error instanceof RowUnreadable)) throw error;
  const dueAt = deps.clock.now() + UNREADABLE_RETRY_MS;
  await changeMessage(deps, message, (fresh) =>
    isAsClaimed(fresh, message) ? { message: { ...fresh, dueAt }, events: [] } : null,
  );
  return "bad";
}
