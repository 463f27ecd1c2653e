/**
 * Receives messages that a person wrote in the peer's own program: each becomes one outbound message, `sent`, with one `message.sent`.
 *
 * | the peer's message is                                        | then                                           |
 * |--------------------------------------------------------------|------------------------------------------------|
 * | of a number of another instance, or of nobody                | nothing: the number's own instance reports it  |
 * | from before the last restore of the database, or soon after  | nothing: it may have been sent since the backup |
 * | in a chat with a send attempt without an outcome             | `unknown`: it is decided once that has one     |
 * | known to any instance: sent, refused, come in, recorded here | nothing                                        |
 * | none of these                                                | the record and its event, once by its reference |
 */

import type { ChatId, InstanceId } from "../../core/id.ts";
import { newCorrelationId } from "../../core/id.ts";
import { type Message, messageTypeOf, NEW_MESSAGE } from "../../core/message.ts";
import { climb } from "../../core/message-lifecycle.ts";
import type { CustomerNumber } from "../../core/number.ts";
import { parseAddress } from "../../core/phone.ts";
import { entriesAhead } from "../../core/timeline.ts";
import type { Applied, WrittenSignal } from "../../providers/provider.ts";
import { findMessage } from "../../store/messages.ts";
import { listKnownReferences, listNoted } from "../../store/send-attempts.ts";
import type { Operation } from "../../store/store.ts";
import { keepInbound } from "../attachments/attach.ts";
import { prepareGroup } from "../chats/groups.ts";
import { duplicateThread, type PreparedChat, prepareThread, retryDuplicateThread } from "../chats/threads.ts";
import { decide } from "../commit.ts";
import { changeContext, type With } from "../engine-deps.ts";
import { findByReference, referenceKey } from "./find.ts";
import { findRestoredAt } from "./held.ts";

/** The peer may complete a request of the process before the restore for this long: the longest that a Mac sends, and a margin. */
const AFTER_RESTORE_MS = 600_000;

type ReceivingWritten = With<"configCache" | "connections" | "link" | "signedLinks" | "messageCache" | "threadCache">;

/** Receives a message written by hand; resolves when it is on disk with its event, or when nothing is to be recorded. */
export async function receiveWritten(
  deps: ReceivingWritten,
  instanceId: InstanceId,
  signal: WrittenSignal,
): Promise<Applied> {
  return deps.serial.run(referenceKey(deps, instanceId, signal.reference), async () => {
    const number = await deps.configCache.numberAt(signal.to);
    // Two Macs with one Apple account show the same message.
    if (number?.instanceId !== instanceId) return "applied";
    if (signal.writtenAt < (await findRestoredAt(deps)) + AFTER_RESTORE_MS) return "applied";
    return retryDuplicateThread(() => take(deps, number, signal));
  });
}

async function take(deps: ReceivingWritten, number: CustomerNumber, signal: WrittenSignal): Promise<Applied> {
  const decided = await decide<DecidedWritten>(deps, async () => {
    const prepared = await chatOf(deps, number, signal);
    const instances = (await deps.configCache.instances()).map(({ id }) => id);
    // In this order: an attempt that has its outcome has its reference too.
    if (await mayBeSent(deps, instances, prepared.chat.id)) return { transaction: null, value: "unknown" };
    if (await isKnown(deps, instances, signal.reference)) return { transaction: null, value: null };
    const written = await record(deps, number, signal, prepared);
    return { transaction: written.operations, value: written.message };
  });
  // Another message created its chat: a new decision finds it.
  if (decided.taken) throw duplicateThread();
  if (decided.value === "unknown") return "unknown";
  if (decided.value === null) return "applied";
  const { customerId, from, to } = decided.value;
  deps.messageCache.keep(decided.value);
  if (signal.group === null) deps.threadCache.senders.noteMessage(customerId, to, from);
  return "applied";
}

/** The new message; null if there is nothing to record. */
type DecidedWritten = Message | "unknown" | null;

function chatOf(
  deps: ReceivingWritten,
  { customerId, address, instanceId }: CustomerNumber,
  { channel, contact, group }: WrittenSignal,
): Promise<PreparedChat> {
  const place = { customerId, from: address, channel, instanceId };
  if (group !== null) return prepareGroup(deps, { ...place, snapshot: group });
  const to = contact ?? "";
  return prepareThread(deps, { ...place, contact: parseAddress(to)?.address ?? to });
}

/** Whether an attempt to send to the chat has no outcome. Its provider noted it before the peer got anything of it. */
async function mayBeSent(
  { store }: ReceivingWritten,
  instances: readonly InstanceId[],
  chatId: ChatId,
): Promise<boolean> {
  for (const id of instances) {
    for (const { state, messageId } of await listNoted(store.db, id)) {
      if (state === "accepted" || state === "rejected") continue;
      if ((await findMessage(store.db, messageId))?.chatId === chatId) return true;
    }
  }
  return false;
}

async function isKnown(
  { store }: ReceivingWritten,
  instances: readonly InstanceId[],
  reference: string,
): Promise<boolean> {
  for (const id of instances) if ((await listKnownReferences(store.db, id, [reference])).size > 0) return true;
  return false;
}

async function record(
  deps: ReceivingWritten,
  { customerId, address, instanceId }: CustomerNumber,
  { channel, text, attachments, reference, replyTo, effect }: WrittenSignal,
  { chat, make }: PreparedChat,
): Promise<{ message: Message; operations: Operation[] }> {
  const context = changeContext(deps);
  const id = deps.newId("msg");
  const kept = keepInbound(deps, { customerId, messageId: id, instanceId }, attachments, false);
  const target = replyTo === null ? null : await findByReference(deps, instanceId, replyTo);
  const base: Message = {
    ...NEW_MESSAGE,
    id,
    customerId,
    keyId: null,
    origin: "device",
    status: "pending",
    from: address,
    to: chat.contact ?? chat.id,
    channel,
    channelsLeft: [],
    fallback: false,
    fallbackAfterMs: null,
    text: text === "" ? null : text,
    messageType: messageTypeOf([], kept.attachments),
    attachments: kept.attachments,
    chatId: chat.id,
    effect,
    replyTo: target?.customerId === customerId ? target.id : null,
    correlationId: newCorrelationId(deps.random),
    instanceId,
    providerMessageId: reference,
    dueAt: null,
    expiresAt: null,
    scheduledAt: null,
    createdAt: context.now,
    updatedAt: context.now,
  };
  const change = climb(base, "sent", context);
  if (change === null) throw new Error("a pending message can be sent");
  const message = entriesAhead(change.message, 0, deps.clock.aheadMs());
  const operations: Operation[] = [
    {
      op: "insertUnique",
      table: "providerReferences",
      record: { instanceId, reference, messageId: id, channel, createdAt: context.now },
    },
    ...make,
    { op: "insert", table: "messages", record: message },
    ...kept.operations,
    ...change.events.map((event): Operation => ({ op: "event", event, callbackUrl: null })),
  ];
  return { message, operations };
}
