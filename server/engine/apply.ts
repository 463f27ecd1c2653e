/** Applies what providers tell of their own accord: receipts, early, late, twice and reversed. */

import type { InstanceId } from "../core/id.ts";
import { climb, type Message, note, sendFailedCode } from "../core/message.ts";
import type { ReceiptSignal, Signal } from "../providers/provider.ts";
import { findHandOver, findMessage } from "../store/messages.ts";
import type { HandOver } from "../store/schema.ts";
import type { Operation } from "../store/store.ts";
import { changeMessage, type Verdict } from "./change-message.ts";
import { type Context, changeContext } from "./context.ts";
import { giveUp } from "./give-up.ts";

/** Applies a signal of an instance; resolves when what came of it is on disk. A receipt for nobody changes nothing. */
export async function apply(context: Context, instanceId: InstanceId, signal: Signal): Promise<void> {
  const handOver = await findHandOver(context.store.db, instanceId, signal.reference);
  const messageId = handOver?.messageId ?? signal.messageId;
  const message = messageId === undefined ? null : await findMessage(context.store.db, messageId as Message["id"]);
  if (message === null)
    return context.observer.fault("receipt", new Error("a receipt names no message of this service"));
  await changeMessage(context, message, (fresh) => receiptOf(context, fresh, instanceId, handOver, signal));
}

function receiptOf(
  context: Context,
  message: Message,
  instanceId: InstanceId,
  handOver: HandOver | null,
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
  const also: Operation[] =
    handOver !== null
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
