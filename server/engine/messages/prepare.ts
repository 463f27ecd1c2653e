/** Prepares a queued message for sending: checks expiry, opt-out, quiet hours and instance status, then fetches its files. Fails or defers the message if one of them says no. */

import { isGroupId } from "../../core/chat.ts";
import type { MessageId } from "../../core/id.ts";
import type { Message } from "../../core/message.ts";
import { carriedFiles } from "../../core/message-files.ts";
import { type FailureCause, fail } from "../../core/message-lifecycle.ts";
import { placeOf } from "../../core/message-routing.ts";
import { postpone, postponedSince } from "../../core/message-waiting.ts";
import { smsText } from "../../core/segment.ts";
import { attemptedAt, isRestored } from "../../core/send-attempt.ts";
import type { Outbound } from "../../providers/provider.ts";
import { findChat } from "../../store/chats.ts";
import { findMessage } from "../../store/messages.ts";
import { gatherAttachments } from "../attachments/gather.ts";
import { conversationOf } from "../chats/conversation.ts";
import { isOptedOut } from "../contacts/opt-outs.ts";
import type { Deps } from "../deps.ts";
import { changeContext, type With } from "../engine-deps.ts";
import type { Connection } from "../instances/connections.ts";
import type { RunTimes } from "../lane-lag.ts";
import { waitsForQuietHours } from "../routing/quiet-hours.ts";
import { changeMessage, isAsClaimed } from "./change-message.ts";

/** Messages whose files are fetched at once; others are postponed. */
const FETCHED_AT_ONCE_MAX = 16;
/** A message whose files cannot be fetched waits as long as it has waited so far, within these bounds, in milliseconds. */
const POSTPONED_MS_MIN = 1_000;
const POSTPONED_MS_MAX = 300_000;

/** Progress of a message, for the next message of the same sender and recipient. */
export interface SendProgress {
  /** Resolves when this message may be given to its provider. */
  turn: Promise<unknown>;
  /** To be called as its send attempt begins, if its provider takes runs. */
  begins(): void;
  /** To be called when it was given to its provider. */
  given(): void;
  /** To be called when its provider has accepted it. */
  accepted(): void;
}

/** The handling of one claimed message. */
export interface Handling {
  /** End of its lease (monotonic time). */
  leasedUntil: number;
  /** Aborts its requests. */
  abort: AbortController;
  /** To be called before its files are fetched, which may take long. */
  waitsForFiles(): void;
  /** Send attempts that were to be recorded, by the ends of their leases on disk: the reply of a commit may have been lost. */
  recorded: Set<number>;
  /** To be called before it is given to its provider: from then on nothing is repeated. */
  gives(): void;
  /** To be called when its provider has accepted it: its permit may be free before the outcome is on disk. */
  accepted(): void;
  /** To be called when its provider has deferred it, and that is on disk: it is to be repeated at `dueAt`. */
  deferred(dueAt: number): void;
  progress: SendProgress;
  times: RunTimes;
  /** Messages whose files are being fetched. */
  fetching: Set<MessageId>;
}

/** A leased message with the files and references to send; `release` is to be called after the send attempt. */
export interface PreparedMessage {
  message: Message;
  parts: FetchedParts;
  release(): void;
}

/** Prepares a queued message. Null if it failed or was deferred, which is then on disk. */
export async function prepare(
  deps: With<"configCache" | "connections" | "fetcher" | "link" | "messageCache" | "optOutCache">,
  message: Message,
  handling: Handling,
): Promise<PreparedMessage | null> {
  const expiry = expiryOf(deps, message);
  if (expiry !== null) return failLeased(deps, message, expiry);
  if (await failIfOptedOut(deps, message)) return null;
  if (await failIfStranded(deps, message, deps.connections.of(message.instanceId))) return null;
  if (await waitsForQuietHours(deps, message)) return null;
  // If no instance could send it, no file is fetched.
  if (!deps.connections.isUp(deps, message.instanceId)) return deferWhileDown(deps, message);
  return isPlain(message) ? { message, parts: NO_PARTS, release() {} } : fetchFiles(deps, message, handling);
}

/** Failure cause of a message that has waited too long; null while it may wait. */
export function expiryOf({ clock, settings }: Deps, { expiresAt, origin }: Message): FailureCause | null {
  if (expiresAt === null || expiresAt > clock.now()) return null;
  const hours = Math.round(settings.messageTtlMs / 3_600_000);
  const time = origin === "service" ? "five minutes" : `${hours} hours`;
  return { code: "EXPIRED", message: `No provider could send it within ${time}.` };
}

/** Defers a message whose instance is down: it keeps its place and may move to another instance after the messages before it. */
export async function deferWhileDown(deps: With<"messageCache">, message: Message): Promise<null> {
  await changeMessage(deps, message, (fresh) => {
    if (!isAsClaimed(fresh, message) || fresh.status !== "queued") return null;
    const dueAt = placeOf(fresh, deps.settings.messageTtlMs, deps.clock.now());
    return dueAt === fresh.dueAt ? null : { message: { ...fresh, dueAt }, events: [] };
  });
  deps.wake.pausedLanes();
  return null;
}

/**
 * Fails a leased message whose recipient has opted out, unless the service itself answers it. Resolves to whether it did, once that is on
 * disk.
 */
export async function failIfOptedOut(
  deps: With<"link" | "messageCache" | "optOutCache">,
  message: Message,
): Promise<boolean> {
  const { customerId, from: number, to: contact } = message;
  if (message.origin === "service" || isGroupId(contact)) return false;
  if (!(await isOptedOut(deps, { customerId, number, contact }))) return false;
  const text = `${message.to} has opted out of messages from ${message.from}.`;
  await failLeased(deps, message, { code: "RECIPIENT_OPTED_OUT", message: text });
  return true;
}

/**
 * Fails a leased message if a part of it was sent by another account than its instance has now: no other account may send
 * the rest. Resolves to whether it did, once that is on disk.
 */
export async function failIfStranded(
  deps: With<"link" | "messageCache">,
  message: Message,
  connection: Connection | null,
): Promise<boolean> {
  if (connection === null || !isStranded(message, connection)) return false;
  await failLeased(deps, message, { code: "ATTACHMENT_FAILED", message: STRANDED });
  return true;
}

/** Why the rest of a message cannot be sent any more. */
export const STRANDED =
  "only the account that sent the one can send the other, and its instance no longer uses that account";

/** Whether a part of the message was sent by another account than that of `connection`. */
export function isStranded({ sentPart, account }: Message, connection: Connection): boolean {
  return sentPart !== null && account !== null && account !== connection.account;
}

async function fetchFiles(
  deps: With<"configCache" | "fetcher" | "link" | "messageCache">,
  message: Message,
  handling: Handling,
): Promise<PreparedMessage | null> {
  const fetched = await fetchWhenFree(deps, message, handling);
  if ("parts" in fetched) {
    // Files may have taken long, and a deferred message needs them again when it is sent.
    if (!hasFiles(message) || !(await waitsForQuietHours(deps, message))) return { message, ...fetched };
    fetched.release();
    return null;
  }
  if ("deferred" in fetched) return postponeForFiles(deps, message, fetched.deferred);
  const { refused, code } = fetched;
  return failLeased(deps, message, { code: "REJECTED", message: refused, providerErrorCode: code });
}

async function fetchWhenFree(
  deps: With<"fetcher" | "link" | "messageCache">,
  message: Message,
  { abort, waitsForFiles, times, fetching }: Handling,
): Promise<PartsResult> {
  if (!hasFiles(message)) return fetchParts(deps, message, abort.signal);
  if (fetching.size >= FETCHED_AT_ONCE_MAX) return { deferred: "the files of other messages are being fetched" };
  fetching.add(message.id);
  waitsForFiles();
  times.asks();
  try {
    return await fetchParts(deps, message, abort.signal);
  } finally {
    times.answered();
    fetching.delete(message.id);
  }
}

/** Postpones a message for as long as it has waited for its files already. */
async function postponeForFiles(deps: With<"messageCache">, message: Message, reason: string): Promise<null> {
  await changeMessage(deps, message, (fresh) => {
    if (!isAsClaimed(fresh, message) || fresh.status !== "queued") return null;
    const now = deps.clock.now();
    const waitedMs = now - (postponedSince(fresh) ?? now);
    const waitMs = Math.min(Math.max(waitedMs, POSTPONED_MS_MIN), POSTPONED_MS_MAX);
    const dueAt = Math.min(now + waitMs, fresh.expiresAt ?? Number.POSITIVE_INFINITY);
    return { message: postpone(fresh, reason, dueAt, now), events: [] };
  });
  return null;
}

async function failLeased(deps: With<"link" | "messageCache">, message: Message, cause: FailureCause): Promise<null> {
  await changeMessage(deps, message, (fresh) =>
    isAsClaimed(fresh, message) ? fail(fresh, cause, changeContext(deps)) : null,
  );
  return null;
}

type References = Pick<Outbound, "group" | "replyTo">;
/** The parts of an outbound message that are not in its record. */
export type FetchedParts = References & Pick<Outbound, "attachments">;

/** For a message without files, group and reply. */
const NO_PARTS: FetchedParts = { group: null, replyTo: null, attachments: [] };

/**
 * The message as its provider gets it. Effects, mentions and replies exist on iMessage only. The text of an SMS may be
 * smart-encoded. For a lookup of an unknown outcome there are no files.
 */
export function outbound(deps: Deps, message: Message, parts: FetchedParts = NO_PARTS): Outbound {
  const text = message.text ?? "";
  const isRich = message.channel === "imessage";
  return {
    messageId: message.id,
    customerId: message.customerId,
    from: message.from,
    to: message.to,
    channel: message.channel,
    text: message.channel === "sms" ? smsText(text, deps.settings.smartEncoding) : text,
    group: parts.group,
    attachments: parts.attachments,
    effect: isRich ? message.effect : null,
    replyTo: isRich ? parts.replyTo : null,
    mentions: isRich ? message.mentions : [],
    sentPart: message.sentPart === null ? null : { reference: message.sentPart.reference, what: message.sentPart.what },
    payment: message.payment,
    attempt: message.sendAttempts,
    attemptedAt: attemptedAt(message),
    ...(isRestored(message) ? { unrecorded: true } : {}),
  };
}

/** Whether the provider needs nothing but the message's record. */
export function isPlain(message: Message): boolean {
  return message.replyTo === null && !isGroupId(message.to) && !hasFiles(message);
}

/** Whether files are sent, which have to be fetched or read from disk before. */
export function hasFiles(message: Message): boolean {
  const { mediaUrls, attachments } = carriedFiles(message);
  return mediaUrls.length > 0 || attachments.length > 0;
}

/**
 * The result of fetching: the files, the group and the reply of a message. `release` frees the memory of the files.
 * `refused`: the message can never be sent; `code` is its `providerErrorCode`. `deferred`: it may be sent later.
 */
export type PartsResult =
  | { parts: FetchedParts; release: () => void }
  | { refused: string; code: string }
  | { deferred: string };

/** Fetches the parts of a message that are not in its record. */
async function fetchParts(
  deps: With<"fetcher" | "link" | "messageCache">,
  message: Message,
  abort: AbortSignal,
): Promise<PartsResult> {
  const references = await referencesOf(deps, message);
  if ("refused" in references) return references;
  if (!hasFiles(message)) return { parts: { ...references, attachments: [] }, release: () => {} };
  const files = await gatherAttachments(deps, message, abort);
  if ("refused" in files) return { refused: files.refused, code: "MEDIA_REFUSED" };
  if ("deferred" in files) return files;
  return { parts: { ...references, attachments: files.loaded }, release: files.release };
}

/** The message for a lookup: like `outbound`, without files. */
export async function outboundForLookup(deps: With<"messageCache">, message: Message): Promise<Outbound> {
  if (isPlain(message)) return outbound(deps, message);
  const references = await referencesOf(deps, message);
  return outbound(deps, message, "refused" in references ? NO_PARTS : { ...references, attachments: [] });
}

async function referencesOf(
  deps: With<"messageCache">,
  message: Message,
): Promise<References | { refused: string; code: string }> {
  const replyTo = await referenceOf(deps, message);
  if (!isGroupId(message.to)) return { group: null, replyTo };
  const chat = await findChat(deps.store.db, message.customerId, message.to);
  if (chat === null || chat.leftAt !== null) {
    return { refused: `${message.from} is no longer in the group ${message.to}.`, code: "GROUP_LEFT" };
  }
  return { group: conversationOf(chat, message.channel), replyTo };
}

/** The provider's reference of the message that this one replies to; null if the provider does not know it. */
async function referenceOf(deps: With<"messageCache">, { replyTo, instanceId }: Message): Promise<string | null> {
  const answered =
    replyTo === null ? null : (deps.messageCache.get(replyTo) ?? (await findMessage(deps.store.db, replyTo)));
  if (answered === null || answered.instanceId !== instanceId || answered.channel !== "imessage") return null;
  return answered.providerMessageId;
}
