/** Applies what providers tell of their own accord: receipts, early, late, twice and reversed. */

import type { InstanceId, MessageId } from "../core/id.ts";
import type { Message } from "../core/message.ts";
import { climb, note, sendFailedCode } from "../core/message-lifecycle.ts";
import type { ReceiptSignal, Signal } from "../providers/provider.ts";
import { findHandOver, findMessage } from "../store/messages.ts";
import type { Operation } from "../store/store.ts";
import { changeMessage, type Verdict } from "./change-message.ts";
import { type Context, changeContext } from "./context.ts";
import { giveUp } from "./give-up.ts";

/** Applies a signal of an instance; resolves when what came of it is on disk. */
export async function apply(context: Context, instanceId: InstanceId, signal: Signal): Promise<void> {
  switch (signal.kind) {
    case "receipt":
      return applyReceipt(context, instanceId, signal);
    default:
      context.observer.fault("signal", new Error(`nothing takes a signal of kind ${signal.kind}`));
  }
}

/** A receipt for nobody changes nothing. */
async function applyReceipt(context: Context, instanceId: InstanceId, signal: ReceiptSignal): Promise<void> {
  const subject = await findSubject(context, instanceId, signal);
  const forgets = forgetting(instanceId, signal);
  if (subject === null) {
    context.observer.fault("receipt", new Error("a receipt names no message of this service"));
    if (forgets.length > 0) await context.store.commit(forgets);
    return;
  }
  const { message, isRecorded } = subject;
  await changeMessage(context, message, (fresh) => {
    const verdict = receiptOf(context, fresh, instanceId, isRecorded, signal);
    if (forgets.length === 0) return verdict;
    const { also = [], ...change } = verdict ?? { message: fresh, events: [] };
    return { ...change, also: [...also, ...forgets] };
  });
}

/** What the provider need not remember any more, deleted with what the signal changes. */
function forgetting(instanceId: InstanceId, { forget }: ReceiptSignal): Operation[] {
  return forget === undefined ? [] : [{ op: "delete", table: "memory", where: { instanceId, key: forget } }];
}

/** The message that a signal is about, and whether its reference is on record. */
async function findSubject(context: Context, instanceId: InstanceId, { messageId, reference }: ReceiptSignal) {
  const recent = messageId === undefined ? null : context.recent.get(messageId);
  if (recent?.providerMessageId === reference) return { message: recent, isRecorded: true };
  const handOver = await findHandOver(context.store.db, instanceId, reference);
  const id = (handOver?.messageId as MessageId | undefined) ?? messageId;
  const message = id === undefined ? null : (context.recent.get(id) ?? (await findMessage(context.store.db, id)));
  return message === null ? null : { message, isRecorded: handOver !== null };
}

function receiptOf(
  context: Context,
  message: Message,
  instanceId: InstanceId,
  isRecorded: boolean,
  signal: ReceiptSignal,
): Verdict {
  const told = changeContext(context);
  if (!isCurrent(message, instanceId, signal)) {
    const reason = `${signal.receipt} receipt of a channel that was given up`;
    if (message.timeline.some((entry) => entry.reason === reason)) return null;
    return { message: note(message, signal.channel, message.status, reason, told.now), events: [] };
  }
  const { reference } = signal;
  const { id: messageId, channel } = message;
  const also: Operation[] = isRecorded
    ? []
    : [{ op: "put", table: "handOvers", record: { instanceId, reference, messageId, channel, createdAt: told.now } }];
  const referenced = { ...message, providerMessageId: reference };
  const change =
    signal.receipt === "failed" ? refused(context, referenced, signal) : climb(referenced, signal.receipt, told);
  return change === null ? null : { ...change, also };
}

/** Whether a receipt is of the message's present hand-over, not of a channel that was given up. */
function isCurrent(message: Message, instanceId: InstanceId, signal: ReceiptSignal): boolean {
  if (message.instanceId !== instanceId || message.channel !== signal.channel) return false;
  if (message.providerMessageId !== null) return message.providerMessageId === signal.reference;
  // Its outcome is not known yet, or never was: the receipt is the proof.
  return message.handOvers > 0 && (message.status === "pending" || message.status === "failed");
}

function refused(context: Context, message: Message, signal: ReceiptSignal): Verdict {
  const text = signal.reason ?? "The channel took it and could not deliver it.";
  const cause = { code: sendFailedCode(message.channel), message: text, providerErrorCode: signal.code ?? null };
  if (message.status !== "pending" && message.status !== "sent") return null;
  return giveUp(message, "REJECTED", cause, context.settings.messageTtlMs, changeContext(context));
}
