/** Applies receipts of providers: early, late, repeated and reversed ones. */

import { isErased } from "../../core/erasure.ts";
import type { InstanceId, MessageId } from "../../core/id.ts";
import type { Message, SentPart } from "../../core/message.ts";
import { climb, sendFailedCode } from "../../core/message-lifecycle.ts";
import { note } from "../../core/timeline.ts";
import type { Applied, ReceiptSignal } from "../../providers/provider.ts";
import { findMessage } from "../../store/messages.ts";
import { findProviderReference } from "../../store/send-attempts.ts";
import { acknowledgementOf, acknowledgeOnly } from "../acknowledge.ts";
import { changeContext, type With } from "../engine-deps.ts";
import { planOf, type RoutePlan } from "../routing/route.ts";
import { changeMessage, type MessageDecision } from "./change-message.ts";
import { giveUp } from "./conclude.ts";
import { endAttempt } from "./end-attempt.ts";
import { MessageGone, referenceKey } from "./find.ts";

/** Applies a receipt; resolves when its effect is on disk. A receipt that belongs to no message changes nothing and is `unknown`. */
export async function receiveReceipt(
  deps: With<"configCache" | "connections" | "link" | "messageCache" | "providers">,
  instanceId: InstanceId,
  signal: ReceiptSignal,
): Promise<Applied> {
  return deps.serial.run(referenceKey(deps, instanceId, signal.reference), () => take(deps, instanceId, signal));
}

/** A note may hold an address: a signal of an erased message only deletes it. */
function withoutAddress(signal: ReceiptSignal, message: Message | null): Pick<ReceiptSignal, "forget" | "note"> {
  const { note } = signal;
  return note === undefined || message === null || !isErased(message)
    ? signal
    : { ...signal, note: { ...note, text: null } };
}

async function take(
  deps: With<"configCache" | "connections" | "link" | "messageCache" | "providers">,
  instanceId: InstanceId,
  signal: ReceiptSignal,
): Promise<Applied> {
  const subject = await findSubject(deps, instanceId, signal);
  const forgets = acknowledgementOf(instanceId, withoutAddress(signal, subject?.message ?? null));
  if (subject === null) {
    await acknowledgeOnly(deps, forgets);
    return "unknown";
  }
  const { message, isRecorded } = subject;
  if (message.origin === "device") {
    await acknowledgeOnly(deps, forgets);
    return "applied";
  }
  const plan = await planOf(deps, message);
  const decide = (fresh: Message): MessageDecision => {
    const verdict = receiptOf(deps, plan, fresh, { instanceId, isRecorded, signal });
    if (verdict === null && forgets.length === 0) return null;
    const { also = [], ...change } = verdict ?? { message: fresh, events: [] };
    return { ...change, also: [...also, ...forgets], gathered: true };
  };
  try {
    await changeMessage(deps, message, decide);
  } catch (error) {
    if (!(error instanceof MessageGone)) throw error;
    await acknowledgeOnly(deps, forgets);
  }
  return "applied";
}

/** The message of a receipt, and whether its reference is recorded. */
async function findSubject(
  deps: With<"messageCache">,
  instanceId: InstanceId,
  { messageId, reference }: ReceiptSignal,
) {
  const recent = messageId === undefined ? null : deps.messageCache.get(messageId);
  if (recent?.providerMessageId === reference) return { message: recent, isRecorded: true };
  const found = await findProviderReference(deps.store.db, instanceId, reference);
  const id = (found?.messageId as MessageId | undefined) ?? messageId;
  const message = id === undefined ? null : (deps.messageCache.get(id) ?? (await findMessage(deps.store.db, id)));
  return message === null ? null : { message, isRecorded: found !== null };
}

/** A receipt with its instance, and whether its reference is recorded. */
interface ReceivedReceipt {
  instanceId: InstanceId;
  isRecorded: boolean;
  signal: ReceiptSignal;
}

function receiptOf(
  deps: With<"connections" | "link">,
  plan: RoutePlan,
  message: Message,
  { instanceId, isRecorded, signal }: ReceivedReceipt,
): MessageDecision {
  const context = changeContext(deps);
  const { sentPart } = message;
  if (sentPart !== null && sentPart.reference === signal.reference && message.instanceId === instanceId)
    return receiptOfPart(deps, plan, message, { part: sentPart, signal });
  if (!isCurrent(message, instanceId, signal)) {
    const reason = `${signal.receipt} receipt of a channel that was given up`;
    if (message.timeline.some((entry) => entry.reason === reason)) return null;
    return { message: note(message, signal.channel, message.status, reason, context.now), events: [] };
  }
  const { reference } = signal;
  const also = isRecorded ? [] : endAttempt(message, "accept", { reference }, context.now);
  const referenced = { ...message, providerMessageId: reference };
  const change =
    signal.receipt === "failed" ? refused(deps, plan, referenced, signal) : climb(referenced, signal.receipt, context);
  return change === null ? null : { ...change, also };
}

/**
 * A receipt of the part that was sent by itself is noted; it says nothing about the rest. If the part failed and the rest did
 * too, nothing of the message was sent: the channel is given up.
 */
function receiptOfPart(
  deps: With<"connections" | "link">,
  plan: RoutePlan,
  message: Message,
  { part, signal }: { part: SentPart; signal: ReceiptSignal },
): MessageDecision {
  const { receipt, channel, reason: why = "the provider gave no reason" } = signal;
  if (receipt === "sent") return null;
  const reason = receipt === "failed" ? `${part.what} did not arrive: ${why}` : `${part.what} was ${receipt}`;
  if (message.timeline.some((entry) => entry.reason === reason)) return null;
  const noted = note(message, channel, message.status, reason, deps.clock.now());
  if (receipt !== "failed") return { message: noted, events: [] };
  const isRestUnsent = message.status === "sent" && message.errorCode === "ATTACHMENT_FAILED";
  if (isRestUnsent) return refused(deps, plan, { ...noted, sentPart: null }, signal);
  return { message: { ...noted, sentPart: { ...part, hasFailed: true } }, events: [] };
}

/** Whether a receipt belongs to the present send attempt, not to a channel that was given up. */
function isCurrent(message: Message, instanceId: InstanceId, signal: ReceiptSignal): boolean {
  if (message.instanceId !== instanceId || message.channel !== signal.channel) return false;
  if (message.providerMessageId !== null) return message.providerMessageId === signal.reference;
  // The outcome is still unknown, or was never known: the receipt proves it.
  return message.sendAttempts > 0 && (message.status === "pending" || message.status === "failed");
}

/** The channel had accepted the message, so no other instance of the channel may get it: the channel is given up. */
function refused(
  deps: With<"connections" | "link">,
  plan: RoutePlan,
  fresh: Message,
  signal: ReceiptSignal,
): MessageDecision {
  // If the part failed too, the message may go by another channel.
  const message = fresh.sentPart?.hasFailed === true ? { ...fresh, sentPart: null } : fresh;
  const text = signal.reason ?? "The channel accepted it and could not deliver it.";
  const cause = { code: sendFailedCode(message.channel), message: text, providerErrorCode: signal.code ?? null };
  if (message.status !== "pending" && message.status !== "sent") return null;
  return giveUp(deps, plan, message, signal.notReachable === true ? "NOT_REACHABLE" : "REJECTED", cause);
}
