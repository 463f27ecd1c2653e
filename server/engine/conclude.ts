/** Concludes a hand-over: commits what its outcome means for the message. */

import type { FallbackReason } from "../../sdk/wire.ts";
import type { Message } from "../core/message.ts";
import { becomeUnknown, type ChangeContext, climb, defer, type FailureCause } from "../core/message-lifecycle.ts";
import { backoffMs } from "../core/retry.ts";
import type { Outcome } from "../providers/provider.ts";
import type { Operation } from "../store/store.ts";
import { changeMessage, type Verdict } from "./change-message.ts";
import { commitInTime } from "./commit.ts";
import { type Context, changeContext } from "./context.ts";
import { giveUp } from "./give-up.ts";
import { referenceTurn } from "./references.ts";

/** Commits the outcome of a hand-over, or of asking for it later. Answers the message as it then stands. */
export async function conclude(context: Context, handed: Message, outcome: Outcome): Promise<Message> {
  const write = () =>
    commitInTime(context, handed.claimedUntil, () =>
      changeMessage(context, handed, (fresh) => afterOutcome(context, fresh, handed, outcome)),
    );
  const { instanceId } = handed;
  // Receipts and reactions that come while this is written wait for it: they find the message by its reference then.
  const changed =
    outcome.outcome === "accepted"
      ? await context.turns.take(referenceTurn(instanceId, outcome.reference), write)
      : await write();
  if (outcome.outcome === "accepted") {
    context.observer.sent(changed.customerId, changed.keyId, changed.segments ?? 0);
    if (changed.chatId !== null) context.shownTyping.end(changed.chatId);
  } else if (outcome.outcome === "unknown") context.observer.unknownOutcome();
  return changed;
}

function afterOutcome(context: Context, message: Message, handed: Message, outcome: Outcome): Verdict {
  const told = changeContext(context);
  const { now } = told;
  // A receipt may have been faster, and may have ended this hand-over already.
  if (message.handOvers !== handed.handOvers || message.channel !== handed.channel) return null;
  if (message.status !== "pending" && outcome.outcome !== "accepted") return null;
  switch (outcome.outcome) {
    case "accepted":
      return taken(message, outcome.reference, told);
    case "rejected":
      return giveUp(message, ...refusal(outcome), context.settings.messageTtlMs, told);
    case "deferred": {
      const waitMs = outcome.retryAfterMs ?? backoffMs(message.handOvers, context.chance());
      const dueAt = Math.min(now + waitMs, message.expiresAt ?? Number.POSITIVE_INFINITY);
      const deferred = defer(message, outcome.reason, dueAt, now);
      return deferred === null ? null : { message: deferred, events: [] };
    }
    case "unknown": {
      const waitMs = context.providers.get(message.instanceId)?.capabilities.settleAfterMs ?? 0;
      return { message: becomeUnknown(message, now + waitMs, outcome.reason, now), events: [] };
    }
  }
}

/** The provider took it: `sent`, and its reference is where receipts will find it. */
function taken(message: Message, reference: string, context: ChangeContext): Verdict {
  const { id: messageId, instanceId, channel } = message;
  const also: Operation[] = [
    { op: "put", table: "handOvers", record: { instanceId, reference, messageId, channel, createdAt: context.now } },
  ];
  const referenced = { ...message, providerMessageId: reference, claimedUntil: null };
  const change = climb(referenced, "sent", context) ?? { message: referenced, events: [] };
  return { ...change, also };
}

function refusal(outcome: Extract<Outcome, { outcome: "rejected" }>): [FallbackReason, FailureCause] {
  const { code, reason } = outcome;
  if (outcome.notReachable === true) {
    return ["NOT_REACHABLE", { code: "NO_CHANNEL_AVAILABLE", message: reason, providerErrorCode: code }];
  }
  return ["REJECTED", { code: "REJECTED", message: reason, providerErrorCode: code }];
}
