/** Concludes a send attempt: commits the consequences of its outcome for the message. */

import type { FallbackReason } from "../../../sdk/wire.ts";
import { boundNames } from "../../core/bound-names.ts";
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
import { type NotAccepted, type Outcome, outcomeOfRest, type Provider } from "../../providers/provider.ts";
import { findMessage } from "../../store/messages.ts";
import type { Operation } from "../../store/store.ts";
import { commitInTime, repeatWhileRefused } from "../commit.ts";
import type { Deps } from "../deps.ts";
import { changeContext, type With } from "../engine-deps.ts";
import { chooseOn, nextChannel, planOf, type RoutePlan } from "../routing/route.ts";
import { changeMessage, type MessageDecision } from "./change-message.ts";
import { endAttempt, recordPart } from "./end-attempt.ts";
import { referenceKey } from "./find.ts";

type ConcludeDeps = With<
  "chance" | "configCache" | "connections" | "link" | "messageCache" | "providers" | "typingIndicators"
>;

/**
 * Commits the outcome of a send attempt, as the provider returned it or looked it up later, and tries until `leasedUntil`
 * (monotonic time) while the store cannot take it. Returns the message as it then is.
 */
export async function conclude(
  deps: ConcludeDeps,
  provider: Provider,
  attempted: Message,
  given: Outcome,
  leasedUntil: number,
): Promise<Message> {
  const outcome = boundNames(given);
  const store = (bounded: Outcome) => commitOutcome(deps, provider, attempted, bounded, leasedUntil);
  if (!("memory" in outcome) || outcome.memory === undefined) return store(outcome);
  const stored = deps.connections.storeMemory(attempted.instanceId, provider, async () => {
    try {
      return await store(outcome);
    } catch (error) {
      // The reply to a commit may have been lost. An outcome on disk is not looked up again, so nobody else would report it.
      if (outcome.outcome === "accepted") void reportIfStored(deps, provider, attempted, outcome);
      throw error;
    }
  });
  // The successor has read the memory, or is about to: it is asked what has become of the message.
  return stored ?? store({ outcome: "unknown", reason: "its instance was connected anew" });
}

/**
 * Reports to the provider that an accepted message is on disk as such, if it is: reads the message as soon as the store can be
 * read, while the provider runs. Never throws. Its successor reads the memory itself, and an unknown outcome is looked up.
 */
async function reportIfStored(
  deps: ConcludeDeps,
  provider: Provider,
  { id, instanceId }: Message,
  { memory, reference }: Extract<Outcome, { outcome: "accepted" }>,
): Promise<void> {
  const runs = () => deps.connections.of(instanceId)?.provider === provider;
  try {
    const found = await repeatWhileRefused(deps, runs, () => findMessage(deps.store.db, id));
    if (found === null || found.status === "pending" || found.providerMessageId !== reference) return;
    if (runs()) memory?.stored();
  } catch (error) {
    if (runs()) deps.observer.fault("conclude", error);
  }
}

async function commitOutcome(
  deps: ConcludeDeps,
  provider: Provider,
  attempted: Message,
  outcome: Outcome,
  leasedUntil: number,
): Promise<Message> {
  const { instanceId } = attempted;
  const rest = outcomeOfRest(outcome);
  const waitMs = rest.outcome === "deferred" ? (rest.retryAfterMs ?? pauseMs(deps, attempted)) : 0;
  const isDown = rest.outcome === "deferred" && rest.isDown === true;
  // Before its messages are due again: they then wait for the instance and are not sent to it one by one.
  if (isDown) deps.connections.reportDown(deps, instanceId, provider, waitMs);
  let isRecorded = false;
  const write = () =>
    commitInTime(deps, leasedUntil, async () => {
      const ended = { provider, attempted, outcome, waitMs };
      const decideRest = await decisionOf(deps, ended);
      return changeMessage(deps, newest(deps, attempted), (fresh) => {
        const decision = afterOutcome(deps, fresh, ended, decideRest);
        isRecorded = decision !== null;
        if (decision === null) return null;
        return { ...decision, also: [...deps.connections.requireOwner(provider), ...(decision.also ?? [])] };
      });
    });
  // Receipts and reactions that arrive meanwhile wait for this transaction, so that they find the message by its reference.
  const reference = referenceOf(outcome);
  const changed =
    reference === null ? await write() : await deps.serial.run(referenceKey(deps, instanceId, reference), write);
  if (isRecorded && "memory" in outcome) outcome.memory?.stored();
  if (isDown) deps.wake.pausedLanes();
  if (rest.outcome === "accepted" || changed.status === "sent") {
    deps.observer.sent(changed.customerId, changed.keyId, changed.segments ?? 0);
    if (changed.chatId !== null) deps.typingIndicators.end(changed.chatId);
  } else if (rest.outcome === "unknown") deps.observer.unknownOutcome();
  return changed;
}

/** The message as it is now, if the cache has it: a note of its provider has changed its version. */
function newest({ messageCache }: With<"messageCache">, attempted: Message): Message {
  const cached = messageCache.get(attempted.id);
  return cached !== null && cached.version > attempted.version ? cached : attempted;
}

/** The provider's reference of what it has of the message; null if it has nothing. */
function referenceOf(outcome: Outcome): string | null {
  if (outcome.outcome === "accepted") return outcome.reference;
  return outcome.outcome === "partly" ? outcome.part.reference : null;
}

function pauseMs(deps: With<"chance">, { sendAttempts }: Message): number {
  return backoffMs(sendAttempts, deps.chance());
}

/** A send attempt that has ended: its provider, the message as it was attempted, and the wait if it was deferred. */
interface EndedAttempt {
  provider: Provider;
  attempted: Message;
  outcome: Outcome;
  waitMs: number;
}

/** Decides about what is not sent yet of a message: the whole message, or the rest of one that was sent in part. */
type RestDecision = (message: Message) => MessageDecision;

/** An accepted message needs no route, so it is `sent` even if a record that its route needs cannot be read. */
async function decisionOf(
  deps: With<"configCache" | "connections" | "link" | "providers">,
  ended: EndedAttempt,
): Promise<RestDecision> {
  const rest = outcomeOfRest(ended.outcome);
  if (rest.outcome === "accepted") return (message) => accept(message, rest, changeContext(deps));
  const plan = await planOf(deps, ended.attempted);
  return (message) => afterRest(deps, plan, message, { ...ended, rest });
}

function afterOutcome(
  deps: Pick<Deps, "clock">,
  fresh: Message,
  { attempted, outcome }: EndedAttempt,
  decideRest: RestDecision,
): MessageDecision {
  // A receipt may have arrived first and ended this attempt already.
  if (fresh.sendAttempts !== attempted.sendAttempts || fresh.channel !== attempted.channel) return null;
  if (fresh.instanceId !== attempted.instanceId) return null;
  if (fresh.status !== "pending" && outcome.outcome !== "accepted") return null;
  const part = "part" in outcome ? outcome.part : undefined;
  const verdict = decideRest(withPart(fresh, part));
  if (verdict === null) return null;
  const now = deps.clock.now();
  const parts = part === undefined ? [] : recordPart(fresh, part, now);
  // A note is a new version of the message.
  const isFresh = fresh.version === attempted.version && attempted.unknownSince === null;
  const ends = endedBy(fresh, outcomeOfRest(outcome), isFresh, now);
  const also = [...(verdict.also ?? []), ...parts, ...ends, ...memoryOf(fresh.instanceId, outcome)];
  return { ...verdict, also, gathered: true };
}

const SIGNALS = { accepted: "accept", rejected: "reject", deferred: "reject", unknown: "lose" } as const;

/** The operations that record the outcome of the message's attempt, or of its rest. */
function endedBy(
  message: Message,
  outcome: ReturnType<typeof outcomeOfRest>,
  isFresh: boolean,
  now: number,
): Operation[] {
  const { reference, note } = { reference: undefined, note: undefined, ...outcome };
  const given = { ...(reference === undefined ? {} : { reference }), note: note?.(), isFresh };
  return endAttempt(message, SIGNALS[outcome.outcome], given, now);
}

/** The operations that store what the provider remembers of the attempt. */
function memoryOf(instanceId: Message["instanceId"], outcome: Outcome): Operation[] {
  const entries = "memory" in outcome ? (outcome.memory?.entries ?? []) : [];
  return entries.map((entry) => ({ op: "put", table: "memory", record: { instanceId, ...entry } }));
}

/** An attempt that did not send the rest, or of which that is unknown. */
interface UnsentAttempt extends EndedAttempt {
  rest: NotAccepted;
}

function afterRest(
  deps: With<"connections" | "link">,
  plan: RoutePlan,
  message: Message,
  { provider, rest, waitMs }: UnsentAttempt,
): MessageDecision {
  const context = changeContext(deps);
  const { now } = context;
  const { sentPart } = message;
  switch (rest.outcome) {
    case "rejected": {
      // If the part turned out not to have arrived, nothing was sent, and the message may go by another instance.
      if (sentPart === null || sentPart.hasFailed === true)
        return reject(deps, plan, { ...message, sentPart: null }, rest);
      return sendInPart(message, sentPart, { message: rest.reason, providerErrorCode: rest.code }, context);
    }
    case "deferred": {
      const laterAt = Math.min(now + waitMs, message.expiresAt ?? Number.POSITIVE_INFINITY);
      const dueAt = rest.isDown === true ? placeOf(message, deps.settings.messageTtlMs, now) : laterAt;
      // Only the operator sees in the instance's health why it is down.
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

/** The provider accepted the message: `sent`, with its reference for receipts, and with the segments that the provider counted. */
function accept(
  message: Message,
  accepted: Extract<Outcome, { outcome: "accepted" }>,
  context: ChangeContext,
): MessageDecision {
  const { reference, segments = message.segments, encoding = message.encoding } = accepted;
  const said = message.channel === "sms" ? { segments, encoding } : {};
  const referenced = { ...message, ...said, providerMessageId: reference, claimedUntil: null };
  return climb(referenced, "sent", context) ?? { message: referenced, events: [] };
}

type Rejected = Extract<Outcome, { outcome: "rejected" }>;

/**
 * The message was provably not sent and never will be: another instance of the channel gets it, else the channel is given up.
 * If the recipient is not on the channel, no other instance of the channel can help.
 */
function reject(
  deps: With<"connections" | "link">,
  plan: RoutePlan,
  message: Message,
  outcome: Rejected,
): MessageDecision {
  const [reason, cause] = rejectionOf(outcome);
  const tried = [...message.instancesTried, message.instanceId];
  const other = reason === "NOT_REACHABLE" ? null : chooseOn(deps, plan, message.channel, tried);
  if (other === null) return giveUp(deps, plan, message, reason, cause);
  const now = deps.clock.now();
  const dueAt = placeOf(message, deps.settings.messageTtlMs, now);
  const from = plan.nameOf(message.instanceId);
  const moved = failOver({ message, from, to: wayOf(other), dueAt }, cause, now);
  return moved === null ? null : { message: moved, events: [] };
}

function rejectionOf(outcome: Rejected): [FallbackReason, FailureCause] {
  const { code, reason } = outcome;
  if (outcome.notReachable === true) {
    return ["NOT_REACHABLE", { code: "NO_CHANNEL_AVAILABLE", message: reason, providerErrorCode: code }];
  }
  return ["REJECTED", { code: "REJECTED", message: reason, providerErrorCode: code }];
}

/**
 * Gives the present channel up for `reason`: the next channel if one is left, else the message fails with `cause`. Null if the
 * message had ended otherwise already.
 */
export function giveUp(
  deps: With<"connections" | "link">,
  plan: RoutePlan,
  message: Message,
  reason: FallbackReason,
  cause: FailureCause,
): Change | null {
  const context = changeContext(deps);
  const next = nextChannel(deps, plan, message);
  if (next === null) return fail(message, cause, context);
  const { channel, chosen } = next;
  return fallBack(message, { channel, ...wayOf(chosen) }, reason, deps.settings.messageTtlMs, context);
}
