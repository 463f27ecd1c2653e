/** Concludes a hand-over: commits what its outcome means for the message. */

import type { FallbackReason } from "../../../sdk/wire.ts";
import type { Message } from "../../core/message.ts";
import {
  becomeUnknown,
  type Change,
  type ChangeContext,
  climb,
  defer,
  type FailureCause,
  fail,
  fallBack,
  sendInPart,
} from "../../core/message-lifecycle.ts";
import { withPart, wordsOfParts } from "../../core/message-parts.ts";
import { failOver, placeOf } from "../../core/message-routing.ts";
import { backoffMs } from "../../core/retry.ts";
import { wayOf } from "../../core/routing.ts";
import { type Outcome, outcomeOfRest, type Provider } from "../../providers/provider.ts";
import type { Operation } from "../../store/store.ts";
import { commitInTime } from "../commit.ts";
import { changeContext, type With } from "../engine-deps.ts";
import { chooseOn, nextChannel, planOf, type RoutePlan } from "../routing/route.ts";
import { changeMessage, type MessageDecision } from "./change-message.ts";
import { referenceTurn } from "./find.ts";

/** Commits what `provider` said of a hand-over, then or asked for it later. Answers the message as it then stands. */
export async function conclude(
  deps: With<"chance" | "configCache" | "connections" | "link" | "messageCache" | "providers" | "typingIndicators">,
  provider: Provider,
  handed: Message,
  outcome: Outcome,
): Promise<Message> {
  const { instanceId } = handed;
  const rest = outcomeOfRest(outcome);
  const waitMs = rest.outcome === "deferred" ? (rest.retryAfterMs ?? pauseMs(deps, handed)) : 0;
  const isDown = rest.outcome === "deferred" && rest.isDown === true;
  // Before its messages are due again, so that they wait for it and are not handed to it one by one.
  if (isDown) deps.connections.reportDown(deps, instanceId, provider, waitMs);
  const write = () =>
    commitInTime(deps, handed.claimedUntil, async () => {
      const plan = await planOf(deps, handed);
      const ended = { provider, handed, outcome, waitMs };
      return changeMessage(deps, handed, (fresh) => afterOutcome(deps, plan, fresh, ended));
    });
  // Receipts and reactions that come while this is written wait for it: they find the message by its reference then.
  const reference = referenceOf(outcome);
  const changed =
    reference === null ? await write() : await deps.serial.run(referenceTurn(deps, instanceId, reference), write);
  if (isDown) deps.wake.pausedLanes();
  if (rest.outcome === "accepted" || changed.status === "sent") {
    deps.observer.sent(changed.customerId, changed.keyId, changed.segments ?? 0);
    if (changed.chatId !== null) deps.typingIndicators.end(changed.chatId);
  } else if (rest.outcome === "unknown") deps.observer.unknownOutcome();
  return changed;
}

/** The provider's name of what it has of the message now; null where it has nothing. */
function referenceOf(outcome: Outcome): string | null {
  if (outcome.outcome === "accepted") return outcome.reference;
  return outcome.outcome === "partly" ? outcome.part.reference : null;
}

function pauseMs(deps: With<"chance">, { sendAttempts }: Message): number {
  return backoffMs(sendAttempts, deps.chance());
}

/** A hand-over that has ended: by whom, of which message as it then was, and how long it is to wait where it is deferred. */
interface Ended {
  provider: Provider;
  handed: Message;
  outcome: Outcome;
  waitMs: number;
}

function afterOutcome(
  deps: With<"connections" | "link">,
  plan: RoutePlan,
  fresh: Message,
  ended: Ended,
): MessageDecision {
  const { handed, outcome } = ended;
  // A receipt may have been faster, and may have ended this hand-over already.
  if (fresh.sendAttempts !== handed.sendAttempts || fresh.channel !== handed.channel) return null;
  if (fresh.instanceId !== handed.instanceId) return null;
  if (fresh.status !== "pending" && outcome.outcome !== "accepted") return null;
  const part = "part" in outcome ? outcome.part : undefined;
  const verdict = afterRest(deps, plan, withPart(fresh, part), ended);
  if (verdict === null || part === undefined) return verdict;
  return { ...verdict, also: [...(verdict.also ?? []), recordOf(fresh, part.reference, deps.clock.now())] };
}

function afterRest(
  deps: With<"connections" | "link">,
  plan: RoutePlan,
  message: Message,
  { provider, outcome, waitMs }: Ended,
): MessageDecision {
  const told = changeContext(deps);
  const { now } = told;
  const { sentPart } = message;
  const rest = outcomeOfRest(outcome);
  switch (rest.outcome) {
    case "accepted":
      return taken(message, rest, told);
    case "rejected": {
      // A part that did not arrive after all was not sent, and the message is free to go elsewhere.
      if (sentPart === null || sentPart.hasFailed === true)
        return refused(deps, plan, { ...message, sentPart: null }, rest);
      return sendInPart(message, sentPart, { message: rest.reason, providerErrorCode: rest.code }, told);
    }
    case "deferred": {
      const laterAt = Math.min(now + waitMs, message.expiresAt ?? Number.POSITIVE_INFINITY);
      const dueAt = rest.isDown === true ? placeOf(message, deps.settings.messageTtlMs, now) : laterAt;
      // Why an instance is down is its operator's matter, who reads it in its health.
      const reason = rest.isDown === true ? `${plan.nameOf(message.instanceId)} is down` : rest.reason;
      const words = sentPart === null ? reason : `${wordsOfParts(message, sentPart)} yet: ${reason}`;
      const deferred = defer(message, words, dueAt, now);
      return deferred === null ? null : { message: deferred, events: [] };
    }
    case "unknown": {
      const askAt = now + provider.capabilities.reconcileAfterMs;
      return { message: becomeUnknown(message, askAt, rest.reason, now), events: [] };
    }
  }
}

/** What receipts find a message by. */
function recordOf({ id: messageId, instanceId, channel }: Message, reference: string, createdAt: number): Operation {
  return { op: "put", table: "providerReferences", record: { instanceId, reference, messageId, channel, createdAt } };
}

/** The provider took it: `sent`, its reference is where receipts will find it, and what it says of segments counts. */
function taken(
  message: Message,
  accepted: Extract<Outcome, { outcome: "accepted" }>,
  deps: ChangeContext,
): MessageDecision {
  const { reference, segments = message.segments, encoding = message.encoding } = accepted;
  const also = [recordOf(message, reference, deps.now)];
  const said = message.channel === "sms" ? { segments, encoding } : {};
  const referenced = { ...message, ...said, providerMessageId: reference, claimedUntil: null };
  const change = climb(referenced, "sent", deps) ?? { message: referenced, events: [] };
  return { ...change, also };
}

type Rejected = Extract<Outcome, { outcome: "rejected" }>;

/**
 * It was provably not sent, nor will be: another instance of the channel gets it, else the channel is given up. Where
 * the recipient is not on the channel no other instance of it helps.
 */
function refused(
  deps: With<"connections" | "link">,
  plan: RoutePlan,
  message: Message,
  outcome: Rejected,
): MessageDecision {
  const [reason, cause] = refusal(outcome);
  const tried = [...message.instancesTried, message.instanceId];
  const other = reason === "NOT_REACHABLE" ? null : chooseOn(deps, plan, message.channel, tried);
  if (other === null) return giveUp(deps, plan, message, reason, cause);
  const now = deps.clock.now();
  const dueAt = placeOf(message, deps.settings.messageTtlMs, now);
  const from = plan.nameOf(message.instanceId);
  const moved = failOver({ message, from, to: wayOf(other), dueAt }, cause, now);
  return moved === null ? null : { message: moved, events: [] };
}

function refusal(outcome: Rejected): [FallbackReason, FailureCause] {
  const { code, reason } = outcome;
  if (outcome.notReachable === true) {
    return ["NOT_REACHABLE", { code: "NO_CHANNEL_AVAILABLE", message: reason, providerErrorCode: code }];
  }
  return ["REJECTED", { code: "REJECTED", message: reason, providerErrorCode: code }];
}

/**
 * The change of a message whose channel is given up for `reason`. `cause` is what it fails
 * with when no channel is left. Null when it had already ended otherwise.
 */
export function giveUp(
  deps: With<"connections" | "link">,
  plan: RoutePlan,
  message: Message,
  reason: FallbackReason,
  cause: FailureCause,
): Change | null {
  const told = changeContext(deps);
  const next = nextChannel(deps, plan, message);
  if (next === null) return fail(message, cause, told);
  const { channel, chosen } = next;
  return fallBack(message, { channel, ...wayOf(chosen) }, reason, deps.settings.messageTtlMs, told);
}
