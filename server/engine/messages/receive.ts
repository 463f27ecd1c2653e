/** Receives what contacts do: each message becomes one message with one event in its chat; reactions, edits, unsends and kept audio become events of their message. */

import { makeEvent } from "../../core/event.ts";
import { type EventId, type InstanceId, type MessageId, newCorrelationId } from "../../core/id.ts";
import { type Message, NEW_MESSAGE } from "../../core/message.ts";
import { unsend } from "../../core/message-lifecycle.ts";
import {
  arrive,
  edit,
  keepAudio,
  type Reacting,
  reactionEventData,
  takeReaction,
} from "../../core/message-revision.ts";
import type { CustomerNumber } from "../../core/number.ts";
import { parseAddress } from "../../core/phone.ts";
import { entriesAhead } from "../../core/timeline.ts";
import type { AudioKeptSignal, InboundSignal, ReactionSignal, RevisionSignal } from "../../providers/provider.ts";
import { findArrival } from "../../store/arrivals.ts";
import type { Operation } from "../../store/store.ts";
import { acknowledgementOf, acknowledgeOnly } from "../acknowledge.ts";
import { keepInbound } from "../attachments/attach.ts";
import type { BoundedSignal } from "../bounded-signal.ts";
import { prepareGroup } from "../chats/groups.ts";
import { duplicateThread, type PreparedChat, prepareInboundThread, retryDuplicateThread } from "../chats/threads.ts";
import { endTyping } from "../chats/typing.ts";
import { decide } from "../commit.ts";
import { announceAnswer, type KeywordEffect, keywordEffect, NO_KEYWORD } from "../contacts/keyword.ts";
import { invalidateOptOuts } from "../contacts/opt-outs.ts";
import type { Deps } from "../deps.ts";
import { changeContext, type EngineDeps, type With } from "../engine-deps.ts";
import { paidBy } from "../payments/payments.ts";
import { changeMessage, transactionOf } from "./change-message.ts";
import { findByReference, isRecorded, referenceKey } from "./find.ts";
import { receiveAgain } from "./receive-again.ts";

/**
 * Receives a message of a contact; resolves when the message is on disk with its event. A repeat of a provider reference, also
 * from another instance with the same account, changes nothing, and neither does a message to an address of no customer.
 */
export async function receiveMessage(
  deps: EngineDeps,
  instanceId: InstanceId,
  signal: BoundedSignal<InboundSignal>,
): Promise<void> {
  await deps.serial.run(referenceKey(deps, instanceId, signal.reference), async () => {
    const number = await deps.configCache.numberAt(signal.to);
    if (number !== null) return retryDuplicateThread(() => receive(deps, number, instanceId, signal));
    deps.observer.fault("receive", new Error("a message came to an address that is no number of this service"));
    return acknowledgeOnly(deps, acknowledgementOf(instanceId, signal));
  });
}

async function receive(
  deps: With<
    | "configCache"
    | "connections"
    | "link"
    | "signedLinks"
    | "messageCache"
    | "optOutCache"
    | "providers"
    | "threadCache"
    | "typingContacts"
  >,
  number: CustomerNumber,
  instanceId: InstanceId,
  signal: BoundedSignal<InboundSignal>,
): Promise<void> {
  const forgets = acknowledgementOf(instanceId, signal);
  const decided = await decide(deps, async () => {
    if (await isRecorded(deps, instanceId, signal.reference)) {
      return { transaction: forgets.length === 0 ? null : forgets, value: null };
    }
    const from = addressOf(signal.from);
    const { customerId, address } = number;
    await endTyping(deps, { customerId, from: address, reference: signal.group?.reference ?? null }, from);
    const arrived = await arrival(deps, number, instanceId, signal);
    return { transaction: [...arrived.operations, ...forgets], value: arrived };
  });
  // The provider reported it twice at once, or another message created its chat: a new decision finds out which.
  if (decided.taken) throw duplicateThread();
  if (decided.value === null) return signal.grows === true ? receiveAgain(deps, instanceId, signal) : undefined;
  const { message, operations, answer } = decided.value;
  deps.messageCache.keep(message);
  if (signal.group === null) deps.threadCache.senders.noteMessage(message.customerId, message.from, message.to);
  invalidateOptOuts(deps, operations);
  deps.observer.received(message.customerId);
  announceAnswer(deps, answer);
}

/** The record of the message, the operations that store it, and the service's answer, which they store too. */
async function arrival(
  deps: With<"configCache" | "link" | "signedLinks" | "providers" | "threadCache">,
  number: CustomerNumber,
  instanceId: InstanceId,
  signal: BoundedSignal<InboundSignal>,
): Promise<KeywordEffect & { message: Message }> {
  const { customerId, address } = number;
  const { channel, reference, group } = signal;
  const messageId = deps.newId("msg");
  const from = addressOf(signal.from);
  const place = { customerId, from: address, channel };
  const { chat, make }: PreparedChat =
    group === null
      ? await prepareInboundThread(deps, { ...place, contact: from, instanceId: number.instanceId })
      : await prepareGroup(deps, { ...place, snapshot: group, instanceId });
  const kept = keepInbound(deps, { customerId, messageId, instanceId }, signal.attachments, signal.grows === true);
  const context = changeContext(deps);
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
    correlationId: newCorrelationId(deps.random),
    instanceId,
    dueAt: null,
    expiresAt: null,
    scheduledAt: null,
    providerMessageId: reference,
    createdAt: context.now,
    updatedAt: context.now,
  };
  const { message: arrived, events } = arrive(
    base,
    { isGroup: group !== null, textTruncated: signal.textTruncated === true },
    context,
  );
  const message = entriesAhead(arrived, 0, deps.clock.aheadMs());
  const providerReference = { instanceId, reference, messageId, channel, createdAt: context.now };
  // A text in a group is addressed to everybody: it neither opts out nor pays.
  const keyword = group === null ? await keywordEffect(deps, message) : NO_KEYWORD;
  const operations: Operation[] = [
    { op: "insertUnique", table: "providerReferences", record: providerReference },
    ...make,
    { op: "insert", table: "messages", record: message },
    ...kept.operations,
    ...events.map((event): Operation => ({ op: "event", event, callbackUrl: null })),
    ...keyword.operations,
    ...(await paidBy(deps, message, signal)),
  ];
  return { message, operations, answer: keyword.answer };
}

/** The stored form of an address; a short code or an alphanumeric sender stays as it is. */
function addressOf(text: string): string {
  return parseAddress(text)?.address ?? text;
}

/** The message that it replies to, if that is one of the customer's. */
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

/**
 * Receives a reaction of a contact; resolves when its event is on disk. A repeat of the provider's reference changes nothing,
 * and neither does a reaction to an address of no customer.
 */
export async function receiveReaction(
  deps: With<"configCache" | "connections" | "link" | "messageCache">,
  instanceId: InstanceId,
  signal: ReactionSignal,
): Promise<void> {
  await deps.serial.run(referenceKey(deps, instanceId, signal.target), async () => {
    const number = await deps.configCache.numberAt(signal.to);
    if (number !== null) return take(deps, number, instanceId, signal);
    deps.observer.fault("receive", new Error("a reaction came to an address that is no number of this service"));
    return acknowledgeOnly(deps, acknowledgementOf(instanceId, signal));
  });
}

async function take(
  deps: With<"link" | "messageCache">,
  number: CustomerNumber,
  instanceId: InstanceId,
  signal: ReactionSignal,
): Promise<void> {
  const forgets = acknowledgementOf(instanceId, signal);
  const reference = `reaction ${signal.reference}`;
  if ((await findArrival(deps.store.db, instanceId, reference)) !== null) return acknowledgeOnly(deps, forgets);
  const decided = await decide(deps, async () => {
    const arrival: Operation = {
      op: "insertUnique",
      table: "arrivals",
      record: { instanceId, reference, createdAt: deps.clock.real() },
    };
    const { message, operations } = await reaction(deps, number, instanceId, signal);
    return { transaction: [arrival, ...operations, ...forgets], value: message };
  });
  // The provider reported it twice at once, and the other report was first.
  if (decided.taken) return acknowledgeOnly(deps, forgets);
  if (decided.value !== null) deps.messageCache.keep(decided.value);
}

/** The operations of a reaction, and the message that it is about; null if that message is not known here. */
async function reaction(
  deps: With<"link">,
  { customerId, address }: CustomerNumber,
  instanceId: InstanceId,
  signal: ReactionSignal,
) {
  const { type, emoji = null, content, channel } = signal;
  const from = parseAddress(signal.from)?.address ?? signal.from;
  const reacting: Reacting = { type, emoji, content, from, to: address, channel };
  const context = changeContext(deps);
  const found = await findByReference(deps, instanceId, signal.target);
  if (found?.customerId === customerId) {
    const change = takeReaction(found, reacting, context);
    return { message: { ...change.message, version: found.version + 1 }, operations: transactionOf(found, change) };
  }
  const id: EventId = context.eventId();
  const correlationId = newCorrelationId(deps.random);
  const event = makeEvent(
    { id, customerId, type: "message.reaction", messageId: null, sequence: 0, correlationId, createdAt: context.now },
    reactionEventData(null, reacting, { sequence: 1, correlationId }),
  );
  const operation: Operation = { op: "event", event, callbackUrl: null };
  return { message: null, operations: [operation] };
}

/**
 * Receives an edit or unsend of a contact's own message; resolves when that is on disk. It changes nothing if the message is in
 * that state already, is not known here, or was deleted or unsent.
 */
export async function receiveRevision(
  deps: With<"connections" | "link" | "messageCache">,
  instanceId: InstanceId,
  signal: BoundedSignal<RevisionSignal>,
): Promise<void> {
  const { reference } = signal;
  await deps.serial.run(referenceKey(deps, instanceId, reference), () => revise(deps, instanceId, signal));
}

async function revise(
  deps: With<"link" | "messageCache">,
  instanceId: InstanceId,
  signal: BoundedSignal<RevisionSignal>,
): Promise<void> {
  const text = signal.text === "" ? null : signal.text;
  const forgets = acknowledgementOf(instanceId, signal);
  const message = await findByReference(deps, instanceId, signal.reference);
  // The customer's own messages change by the actions of this API only.
  if (message?.direction !== "inbound") {
    if (message === null) deps.observer.fault("receive", new Error("a revision names no message of this service"));
    return acknowledgeOnly(deps, forgets);
  }
  await changeMessage(deps, message, (fresh) => {
    const context = changeContext(deps);
    const isSo = fresh.deletedAt !== null || (signal.text !== null && fresh.text === text);
    const said = signal.textTruncated === true ? ({ textTruncated: true } as const) : {};
    const change = isSo ? null : signal.text === null ? unsend(fresh, context) : edit(fresh, text, context, said);
    if (forgets.length === 0) return change;
    return { ...(change ?? { message: fresh, events: [] }), also: forgets };
  });
}

/**
 * Receives a signal that a contact kept an audio message, once for each message; resolves when the event is on disk.
 */
export async function receiveAudioKept(
  deps: With<"connections" | "link" | "messageCache">,
  instanceId: InstanceId,
  signal: AudioKeptSignal,
): Promise<void> {
  await deps.serial.run(referenceKey(deps, instanceId, signal.reference), () => keepOnce(deps, instanceId, signal));
}

async function keepOnce(
  deps: With<"link" | "messageCache">,
  instanceId: InstanceId,
  signal: AudioKeptSignal,
): Promise<void> {
  const forgets = acknowledgementOf(instanceId, signal);
  const reference = `audioKept ${signal.reference}`;
  if ((await findArrival(deps.store.db, instanceId, reference)) !== null) return acknowledgeOnly(deps, forgets);
  const decided = await decide(deps, async () => {
    const message = await findByReference(deps, instanceId, signal.reference);
    if (message === null) return { transaction: forgets.length === 0 ? null : forgets, value: null };
    const record = { instanceId, reference, createdAt: deps.clock.real() };
    const arrival: Operation = { op: "insertUnique", table: "arrivals", record };
    const change = keepAudio(message, changeContext(deps));
    const kept = { ...change.message, version: message.version + 1 };
    return { transaction: [arrival, ...transactionOf(message, change), ...forgets], value: kept };
  });
  if (decided.taken) return acknowledgeOnly(deps, forgets);
  if (decided.value === null) {
    deps.observer.fault("receive", new Error("an audio message was kept that is none of this service"));
  } else deps.messageCache.keep(decided.value);
}
