/** Drafts a message: checks what only the database and the clock can tell, and makes the unit that accepts it. */

import { ApiError, invalidFields } from "../../core/error.ts";
import type { CustomerId, KeyId, MessageId, PaymentId } from "../../core/id.ts";
import { type Message, messageTypeOf, NEW_MESSAGE, pairOf } from "../../core/message.ts";
import { begin } from "../../core/message-lifecycle.ts";
import { PLAIN_SPELLING, problemsOf, type Spelling, type Understood, type Wanted } from "../../core/new-message.ts";
import { parseAddress } from "../../core/phone.ts";
import { findMessageOf } from "../../store/messages.ts";
import type { Operation } from "../../store/store.ts";
import { type AttachmentOwner, attach, type PreparedAttachments } from "../attachments/attach.ts";
import { type PreparedChat, prepareThread } from "../chats/threads.ts";
import { isOptedOut } from "../contacts/opt-outs.ts";
import { changeContext, type Deps } from "../deps.ts";
import { chooseOn } from "../routing/route.ts";
import { channelsFor, type Recipient, reasonFor, recipientOf, requireRecipient } from "./recipient.ts";
import { scheduleOf } from "./schedule.ts";

/** What is to be sent, and on whose behalf. */
export interface Sending {
  customerId: CustomerId;
  keyId: KeyId;
  correlationId: string;
  wanted: Wanted;
  /** What the caller called its fields; their plain names unless given. */
  spelling?: Spelling;
  /** The payment that the message asks for. */
  payment?: { id: PaymentId; amountCents: number };
  /** An id chosen before; a new one otherwise. */
  messageId?: MessageId;
}

/** A message that can be accepted: committed whole by `operations`, or not at all. */
export interface Draft {
  message: Message;
  recipient: Recipient;
  /** Why by its channel and instance. */
  way: string;
  /**
   * The thread, where it is new, then the message, its files, and its first event. A unit with them may be answered
   * `taken` for the thread's sake: throw `duplicateThread()` then, inside of `retryDuplicateThread`.
   */
  operations: Operation[];
  /** To be called once they are on disk: what is due is handed over at once. */
  committed(): void;
}

/** Makes a message and what accepts it, and commits nothing. Throws an `ApiError` for what is refused. */
export async function draft(deps: Deps, sending: Sending): Promise<Draft> {
  const { customerId, wanted, spelling = PLAIN_SPELLING } = sending;
  const { generation } = deps.threadCache;
  const told = changeContext(deps);
  const messageId = sending.messageId ?? deps.newId("msg");
  const coded = codedRefusals(wanted, told.now);
  const files = checkFields(deps, { customerId, messageId }, { wanted, spelling }, coded);
  const scheduledAt = scheduleOf(wanted.scheduledAt, told.now);
  const recipient = await recipientOf(deps, customerId, wanted);
  const [channel, ...channelsLeft] = channelsFor(recipient, wanted);
  await requireWilling(deps, recipient);
  const { number, to, chat, plan } = recipient;
  const chosen = chooseOn(deps, plan, channel);
  if (chosen === null) throw new Error(`${channel} is usable, and no instance has it`);
  const pair = { customerId, from: number.address, contact: to, channel, instanceId: number.instanceId };
  const thread: PreparedChat = chat === null ? await prepareThread(deps, pair) : { chat, make: [] };
  const way = reasonFor(recipient, wanted, channel, chosen);
  const change = begin(
    {
      ...NEW_MESSAGE,
      ...contentOf(wanted),
      attachments: files.attachments,
      ...whenOf(deps, wanted, scheduledAt, told.now),
      id: messageId,
      customerId,
      keyId: sending.keyId,
      from: number.address,
      to,
      channel,
      channelsLeft,
      chatId: thread.chat.id,
      replyTo: wanted.replyTo === undefined ? null : await requireReplied(deps, thread, wanted.replyTo),
      payment: sending.payment ?? null,
      correlationId: sending.correlationId,
      instanceId: chosen.instanceId,
    },
    [way, recipient.sender].filter((reason) => reason !== null).join("; "),
    told,
  );
  const { message } = change;
  const insert: Operation = { op: "insert", table: "messages", record: message };
  const operations = [...thread.make, insert, ...files.operations];
  for (const event of change.events) operations.push({ op: "event", event, callbackUrl: message.callbackUrl });
  return { message, recipient, way, operations, committed: () => committed(deps, message, thread, generation) };
}

function committed(deps: Deps, message: Message, { chat, make }: PreparedChat, age: number): void {
  if (make.length > 0 && age === deps.threadCache.generation) deps.threadCache.keep(chat);
  deps.observer.accepted();
  if (message.scheduledAt !== null) return;
  deps.threadCache.senders.noteMessage(message.customerId, message.to, message.from);
  deps.messageCache.keep(message);
  deps.wake.messages([message.instanceId], pairOf(message));
}

const NO_FILES: PreparedAttachments = { attachments: [], operations: [] };

/** Refusals of the fields that have codes of their own. */
function codedRefusals({ to, scheduledAt }: Wanted, now: number): ApiError[] {
  const checks = [() => scheduleOf(scheduledAt, now), () => (to === undefined ? null : requireRecipient(to))];
  return checks.flatMap((check) => {
    try {
      check();
      return [];
    } catch (error) {
      if (error instanceof ApiError) return [error];
      throw error;
    }
  });
}

/** Throws a 400 that names every field which is wrong by itself; else what the attachments come to. */
function checkFields(
  deps: Deps,
  owner: AttachmentOwner,
  understood: Understood,
  coded: readonly ApiError[],
): PreparedAttachments {
  const { attachments } = understood.wanted;
  const problems = problemsOf(understood, deps.settings);
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

/** What the message says, and how. */
function contentOf(wanted: Wanted) {
  const { content = {}, mentions = [] } = wanted;
  return {
    text: content.text ?? null,
    mediaUrls: content.mediaUrls ?? [],
    messageType: messageTypeOf(content.mediaUrls ?? [], wanted.attachments ?? []),
    effect: wanted.effect ?? null,
    mentions: mentions.map((one) => ({ ...one, address: parseAddress(one.address)?.address ?? one.address })),
    metadata: wanted.metadata ?? null,
    externalMessageId: wanted.externalMessageId ?? null,
    callbackUrl: wanted.callbackUrl ?? null,
  };
}

/** When it is handed over, given up and falls back. */
function whenOf({ settings }: Deps, { routing = {} }: Wanted, scheduledAt: number | null, now: number) {
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

/** A group has no opt-outs: what is said in it is said to everybody there. */
async function requireWilling(deps: Deps, { number, to, isGroup }: Recipient): Promise<void> {
  if (isGroup || !(await isOptedOut(deps, number.address, to))) return;
  throw new ApiError(
    "RECIPIENT_OPTED_OUT",
    `${to} does not want messages from ${number.address}; see GET /v1/opt-outs.`,
  );
}

/** The message that is answered: of the same conversation, and not deleted. */
async function requireReplied(deps: Deps, { chat }: PreparedChat, replyTo: string): Promise<MessageId> {
  const answered = await findMessageOf(deps.store.db, chat.customerId, replyTo);
  if (answered !== null && answered.deletedAt === null && answered.chatId === chat.id) return answered.id;
  const message = `there is no message ${replyTo.slice(0, 100)} in this conversation`;
  throw new ApiError("REPLY_NOT_FOUND", `replyTo: ${message}.`, { details: [{ path: "replyTo", message }] });
}
