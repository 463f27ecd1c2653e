/**
 * Accepts messages: checks them against the records and the clock, then commits each with its first event before the
 * caller gets a response.
 */

import type { AcceptedCarousel, AcceptedMessage } from "../../../sdk/wire.ts";
import { isGroupId } from "../../core/chat.ts";
import { ApiError, invalidFields, refusedField } from "../../core/error.ts";
import type { MessageId } from "../../core/id.ts";
import { type Message, messageTypeOf, NEW_MESSAGE, pairOf } from "../../core/message.ts";
import { attachmentsRuleOf } from "../../core/message-files.ts";
import { begin } from "../../core/message-lifecycle.ts";
import { acceptedCarouselRecord, acceptedRecord } from "../../core/message-record.ts";
import { type NewMessage, problemsOf, requestedFields } from "../../core/new-message.ts";
import { parseAddress } from "../../core/phone.ts";
import { phoneKey, samePhoneIn } from "../../core/phone-forms.ts";
import { entriesAhead } from "../../core/timeline.ts";
import { findMessageOf } from "../../store/messages.ts";
import type { Operation } from "../../store/store.ts";
import { type AttachmentOwner, attach, type PreparedAttachments } from "../attachments/attach.ts";
import {
  duplicateThread,
  type PreparedChat,
  prepareThread,
  retryDuplicateThread,
  storedChat,
} from "../chats/threads.ts";
import { ensureContact } from "../contacts/contacts.ts";
import { isOptedOut } from "../contacts/opt-outs.ts";
import type { Deps } from "../deps.ts";
import { changeContext, type With } from "../engine-deps.ts";
import { idempotent } from "../idempotency.ts";
import { chooseOn } from "../routing/route.ts";
import { reread } from "./find.ts";
import {
  channelsFor,
  DEFAULT_PREFERENCE,
  filesOf,
  type Recipient,
  reasonFor,
  recipientOf,
  requireRecipient,
} from "./recipient.ts";
import { scheduleOf } from "./schedule.ts";

/** The parts that an accept uses. */
export type AcceptDeps = With<
  "configCache" | "connections" | "link" | "signedLinks" | "messageCache" | "optOutCache" | "providers" | "threadCache"
>;

/**
 * Accepts a message. When it resolves, message and event are on disk. If an earlier request with the same idempotency key
 * was accepted, `repeated` is true and `record` is the current state of the message created by that request. Throws an
 * `ApiError` for a message that cannot be accepted.
 */
export async function accept(
  deps: AcceptDeps,
  message: NewMessage,
  idempotencyKey: string | null,
): Promise<{ repeated: boolean; record: AcceptedMessage }> {
  const { repeated, accepted } = await acceptOnce(deps, "POST /v1/messages", message, idempotencyKey);
  return { repeated, record: acceptedRecord(accepted) };
}

/** Accepts a carousel like `accept`. */
export async function acceptCarousel(
  deps: AcceptDeps,
  message: NewMessage,
  idempotencyKey: string | null,
): Promise<{ repeated: boolean; record: AcceptedCarousel }> {
  const { repeated, accepted } = await acceptOnce(deps, "POST /v1/messages/carousel", message, idempotencyKey);
  return { repeated, record: acceptedCarouselRecord(accepted) };
}

async function acceptOnce(
  deps: AcceptDeps,
  route: string,
  message: NewMessage,
  key: string | null,
): Promise<{ repeated: boolean; accepted: Message }> {
  const { customerId } = message;
  const request = { key, customerId, route, body: withDefaults(message) };
  const work = async () => {
    const checked = await checkMessage(deps, message);
    if (message.createContact === true) await addContact(deps, checked);
    return { transaction: checked.operations, value: checked, result: checked.message.id };
  };
  const result = await retryDuplicateThread(() => idempotent(deps, request, work, duplicateThread));
  if (result.repeated) return { repeated: true, accepted: await reread(deps, result.firstResult as MessageId) };
  result.value.committed();
  return { repeated: false, accepted: result.value.message };
}

/** The request with the defaults of routing, for the comparison by idempotency key. */
function withDefaults(message: NewMessage): unknown {
  const fields = requestedFields(message);
  const { attachments, ...routing } = fields.routing ?? {};
  // The default is left out, as in the requests of versions that had no other.
  const isDefault = attachments === attachmentsRuleOf({ ...filesOf(message), attachmentsRule: null });
  const rule = attachments === undefined || isDefault ? {} : { attachments };
  // A repeat may name another form of the phone.
  const to = message.to === undefined ? {} : { to: phoneKey(message.to) };
  return { ...fields, ...to, routing: { preference: DEFAULT_PREFERENCE, fallback: true, ...routing, ...rule } };
}

/** Adds the recipient to the customer's contacts, unless it is a group. */
async function addContact(deps: Deps, { message }: CheckedMessage): Promise<void> {
  if (!isGroupId(message.to)) await ensureContact(deps, message.customerId, message.to);
}

/** A message that can be accepted: `operations` commit all of it or nothing. */
export interface CheckedMessage {
  message: Message;
  recipient: Recipient;
  /** Why its channel and instance were chosen. */
  reason: string;
  /**
   * Create the thread if it is new, or require that it exists; then the message, its files and its first event. The store may refuse them as a
   * duplicate because of the thread: throw `duplicateThread()` then, inside `retryDuplicateThread`.
   */
  operations: Operation[];
  /** Call this once the operations are on disk: a due message is then sent at once. */
  committed(): void;
}

/**
 * Checks a new message and builds its record. Commits nothing. Throws an `ApiError` for a message that cannot be
 * accepted.
 */
export async function checkMessage(deps: AcceptDeps, wanted: NewMessage): Promise<CheckedMessage> {
  const { customerId, correlationId, keyId } = wanted;
  const { generation } = deps.threadCache;
  const context = changeContext(deps);
  const messageId = wanted.messageId ?? deps.newId("msg");
  const coded = await codedRefusals(deps, wanted, context.now);
  const files = checkFields(deps, { customerId, messageId }, wanted, coded);
  const scheduledAt = scheduleOf(wanted.scheduledAt, context.now);
  const recipient = await recipientOf(deps, wanted);
  const [channel, ...channelsLeft] = channelsFor(recipient, wanted);
  await requireNoOptOut(deps, recipient);
  const { number, to, chat, plan } = recipient;
  const chosen = chooseOn(deps, plan, channel);
  if (chosen === null) throw new Error(`${channel} is usable, and no instance has it`);
  const thread: PreparedChat =
    chat === null
      ? await prepareThread(deps, {
          customerId,
          from: number.address,
          contact: to,
          channel,
          instanceId: number.instanceId,
        })
      : storedChat(chat);
  const reason = reasonFor(recipient, wanted, channel, chosen);
  const change = begin(
    {
      ...NEW_MESSAGE,
      ...givenFields(wanted, [to, ...thread.chat.participants]),
      attachments: files.attachments,
      attachmentsDropped: chosen.attachmentsDropped ?? 0,
      ...timesOf(deps, wanted, scheduledAt, context.now),
      id: messageId,
      customerId,
      keyId,
      from: number.address,
      to,
      channel,
      channelsLeft,
      chatId: thread.chat.id,
      replyTo: wanted.replyTo === undefined ? null : await requireReplied(deps, thread, wanted.replyTo),
      payment: wanted.payment ?? null,
      correlationId,
      instanceId: chosen.instanceId,
    },
    [reason, recipient.sender, recipient.form].filter((part) => part !== null).join("; "),
    context,
  );
  const message = entriesAhead(change.message, 0, deps.clock.aheadMs());
  const insert: Operation = { op: "insert", table: "messages", record: message };
  const events = change.events.map((event): Operation => ({ op: "event", event, callbackUrl: message.callbackUrl }));
  const operations = [...thread.make, insert, ...files.operations, ...events];
  return { message, recipient, reason, operations, committed: () => committed(deps, message, thread, generation) };
}

function committed(
  deps: With<"messageCache" | "threadCache">,
  message: Message,
  { chat }: PreparedChat,
  generation: number,
): void {
  if (!chat.isGroup && generation === deps.threadCache.generation) deps.threadCache.keep(chat);
  deps.observer.accepted();
  if (message.scheduledAt !== null) return;
  deps.threadCache.senders.noteMessage(message.customerId, message.to, message.from);
  deps.messageCache.keep(message);
  deps.wake.messages([message.instanceId], pairOf(message));
}

const NO_FILES: PreparedAttachments = { attachments: [], operations: [] };

/** Refusals of the fields that have an error code of their own. */
async function codedRefusals(
  deps: Deps,
  { customerId, to, scheduledAt }: NewMessage,
  now: number,
): Promise<ApiError[]> {
  const checks = [
    () => scheduleOf(scheduledAt, now),
    () => (to === undefined ? null : requireRecipient(deps, customerId, to)),
  ];
  const refusals: ApiError[] = [];
  for (const check of checks) {
    try {
      await check();
    } catch (error) {
      if (!(error instanceof ApiError)) throw error;
      refusals.push(error);
    }
  }
  return refusals;
}

/** Checks the fields and prepares the attachments. Throws one 400 that names every invalid field. */
function checkFields(
  deps: With<"signedLinks">,
  owner: AttachmentOwner,
  wanted: NewMessage,
  coded: readonly ApiError[],
): PreparedAttachments {
  const { attachments } = wanted;
  const problems = problemsOf(wanted, deps.settings);
  let files = NO_FILES;
  if (attachments !== undefined) {
    try {
      files = attach(deps, owner, attachments);
    } catch (error) {
      if (!(error instanceof ApiError) || error.details === undefined) throw error;
      problems.push(...error.details);
    }
  }
  const all = [...problems, ...coded.flatMap(({ details = [] }) => details)];
  if (problems.length > 0) throw invalidFields(all);
  const [first] = coded;
  if (first !== undefined) throw new ApiError(first.code, first.message, { details: all });
  return files;
}

/** The properties of the message that the recipient sees, and those that are returned to the caller unchanged. `people`: the addresses of the conversation. */
function givenFields(wanted: NewMessage, people: readonly string[]) {
  const { content = {}, mentions = [] } = wanted;
  const addressOf = (text: string) => {
    const address = parseAddress(text)?.address ?? text;
    return samePhoneIn(people, address) ?? address;
  };
  return {
    text: content.text ?? null,
    mediaUrls: content.mediaUrls ?? [],
    messageType: messageTypeOf(content.mediaUrls ?? [], wanted.attachments ?? []),
    attachmentsRule: wanted.routing?.attachments ?? null,
    effect: wanted.effect ?? null,
    mentions: mentions.map((one) => ({ ...one, address: addressOf(one.address) })),
    metadata: wanted.metadata ?? null,
    externalMessageId: wanted.externalMessageId ?? null,
    callbackUrl: wanted.callbackUrl ?? null,
  };
}

/** When the message is sent, falls back and expires. */
function timesOf({ settings }: Deps, { routing = {} }: NewMessage, scheduledAt: number | null, now: number) {
  const { fallback = true, fallbackAfterSeconds: afterSeconds } = routing;
  return {
    fallback,
    fallbackAfterMs: afterSeconds === undefined ? settings.fallbackAfterMs : afterSeconds * 1_000,
    scheduledAt,
    dueAt: scheduledAt ?? now,
    expiresAt: scheduledAt === null ? now + settings.messageTtlMs : null,
    createdAt: now,
    updatedAt: now,
  };
}

/** Throws `RECIPIENT_OPTED_OUT`. A group has no opt-outs: everybody in it gets each message. */
async function requireNoOptOut(deps: With<"optOutCache">, { number, to, isGroup }: Recipient): Promise<void> {
  const { customerId, address } = number;
  if (isGroup || !(await isOptedOut(deps, { customerId, number: address, contact: to }))) return;
  const message = `${to} has opted out of messages from ${number.address}; see GET /v1/opt-outs`;
  throw refusedField("RECIPIENT_OPTED_OUT", "to", message);
}

/** The message that the new one replies to. Throws `REPLY_NOT_FOUND` unless it is in the same conversation and not deleted. */
async function requireReplied(deps: Deps, { chat }: PreparedChat, replyTo: string): Promise<MessageId> {
  const target = await findMessageOf(deps.store.db, chat.customerId, replyTo);
  if (target !== null && target.deletedAt === null && target.chatId === chat.id) return target.id;
  const message = `there is no message ${replyTo.slice(0, 100)} in this conversation`;
  throw refusedField("REPLY_NOT_FOUND", "replyTo", message);
}
