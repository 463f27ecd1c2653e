/** Messages that contacts write: each becomes one message with one event, in the chat that it was written to. */

import { type InstanceId, type MessageId, newCorrelationId } from "../../core/id.ts";
import { type Message, NEW_MESSAGE } from "../../core/message.ts";
import { arrive } from "../../core/message-revision.ts";
import type { CustomerNumber } from "../../core/number.ts";
import { parseAddress } from "../../core/phone.ts";
import type { InboundSignal } from "../../providers/provider.ts";
import type { Operation } from "../../store/store.ts";
import { acknowledgementOf, acknowledgeOnly } from "../acknowledge.ts";
import { keepInbound } from "../attachments/attach.ts";
import { prepareGroup } from "../chats/groups.ts";
import { duplicateThread, type PreparedChat, prepareThread, retryDuplicateThread } from "../chats/threads.ts";
import { endTyping } from "../chats/typing.ts";
import { decide } from "../commit.ts";
import { invalidateOptOuts, keywordOperations } from "../contacts/opt-outs.ts";
import { changeContext, type Deps } from "../deps.ts";
import { paidBy } from "../payments/payments.ts";
import { findByReference, isKnown, referenceTurn } from "./references.ts";

/**
 * Takes in a message of a contact; resolves when it is on disk with its event. One that was taken in before, by the
 * provider's reference, changes nothing, also where another instance at the same peer told of it; nor does one to an
 * address that nobody has.
 */
export async function receiveMessage(deps: Deps, instanceId: InstanceId, signal: InboundSignal): Promise<void> {
  await deps.serial.run(referenceTurn(deps, instanceId, signal.reference), async () => {
    const number = await deps.configCache.numberAt(signal.to);
    if (number !== null) return retryDuplicateThread(() => receive(deps, number, instanceId, signal));
    deps.observer.fault("inbound", new Error("a message came to an address that is no number of this service"));
    return acknowledgeOnly(deps, acknowledgementOf(instanceId, signal));
  });
}

async function receive(
  deps: Deps,
  number: CustomerNumber,
  instanceId: InstanceId,
  signal: InboundSignal,
): Promise<void> {
  const forgets = acknowledgementOf(instanceId, signal);
  const decided = await decide(deps, async () => {
    if (await isKnown(deps, instanceId, signal.reference)) {
      return { unit: forgets.length === 0 ? null : forgets, value: null };
    }
    const from = addressOf(signal.from);
    const { customerId, address } = number;
    await endTyping(deps, { customerId, from: address, reference: signal.group?.reference ?? null }, from);
    const { message, operations } = await arrival(deps, number, instanceId, signal);
    return { unit: [...operations, ...forgets], value: { message, operations } };
  });
  // It was told twice at once, or somebody else made its chat: looking again tells which.
  if (decided.taken) throw duplicateThread();
  if (decided.value === null) return;
  const { message, operations } = decided.value;
  deps.messageCache.keep(message);
  if (signal.group === null) deps.threadCache.senders.noteMessage(message.customerId, message.from, message.to);
  invalidateOptOuts(deps, operations);
  deps.observer.received(message.customerId);
}

/** The message as it is to be kept, and all that makes it so. */
async function arrival(
  deps: Deps,
  number: CustomerNumber,
  instanceId: InstanceId,
  signal: InboundSignal,
): Promise<{ message: Message; operations: Operation[] }> {
  const { customerId, address } = number;
  const { channel, reference, group } = signal;
  const messageId = deps.newId("msg");
  const from = addressOf(signal.from);
  const place = { customerId, from: address, channel };
  const { chat, make }: PreparedChat =
    group === null
      ? await prepareThread(deps, { ...place, contact: from, instanceId: number.instanceId })
      : await prepareGroup(deps, { ...place, sighting: group, instanceId });
  const kept = keepInbound(deps, { customerId, messageId, instanceId }, signal.attachments);
  const told = changeContext(deps);
  const base: Message = {
    ...NEW_MESSAGE,
    id: messageId,
    customerId,
    keyId: null,
    direction: "inbound",
    from,
    to: address,
    channel,
    channelsLeft: [],
    fallback: false,
    fallbackAfterMs: null,
    text: signal.text === "" ? null : signal.text,
    messageType: kept.attachments.length === 0 ? "text" : "media",
    attachments: kept.attachments,
    chatId: chat.id,
    effect: signal.effect,
    parentMessageId: await parentOf(deps, customerId, instanceId, signal.replyTo),
    metadata: null,
    externalMessageId: null,
    callbackUrl: null,
    correlationId: newCorrelationId(deps.random),
    instanceId,
    dueAt: null,
    expiresAt: null,
    scheduledAt: null,
    providerMessageId: reference,
    createdAt: told.now,
    updatedAt: told.now,
  };
  const { message, events } = arrive(base, group !== null, told);
  const handOver = { instanceId, reference, messageId, channel, createdAt: told.now };
  const operations: Operation[] = [
    { op: "insertUnique", table: "providerReferences", record: handOver },
    ...make,
    { op: "insert", table: "messages", record: message },
    ...kept.operations,
    ...events.map((event): Operation => ({ op: "event", event, callbackUrl: null })),
    // What is said in a group is said to everybody there: no word of it ends or pays anything.
    ...(group === null ? keywordOperations(deps, message) : []),
    ...(await paidBy(deps, message, signal)),
  ];
  return { message, operations };
}

/** The form that addresses are stored in; of what is none (a short code, a sender of letters) what it is. */
function addressOf(text: string): string {
  return parseAddress(text)?.address ?? text;
}

/** The message that it answers, where that is one of this customer's. */
async function parentOf(
  deps: Deps,
  customerId: Message["customerId"],
  instanceId: InstanceId,
  replyTo: string | null,
): Promise<MessageId | null> {
  if (replyTo === null) return null;
  const target = await findByReference(deps, instanceId, replyTo);
  return target?.customerId === customerId ? target.id : null;
}
