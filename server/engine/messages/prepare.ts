/** Gets a queued message ready for its hand-over, or commits why there will be none, or none yet. */

import { isGroupId } from "../../core/chat.ts";
import type { MessageId } from "../../core/id.ts";
import type { Message } from "../../core/message.ts";
import { type FailureCause, fail } from "../../core/message-lifecycle.ts";
import { placeOf } from "../../core/message-routing.ts";
import { postpone, postponedSince } from "../../core/message-waiting.ts";
import { smsText } from "../../core/segment.ts";
import type { Outbound } from "../../providers/provider.ts";
import { findChat } from "../../store/chats.ts";
import { findMessage } from "../../store/messages.ts";
import { gatherAttachments } from "../attachments/gather.ts";
import { conversationOf } from "../chats/conversation.ts";
import { isOptedOut } from "../contacts/opt-outs.ts";
import type { Deps } from "../deps.ts";
import { changeContext, type With } from "../engine-deps.ts";
import type { Connection } from "../instances/connections.ts";
import { waitsForQuietHours } from "../routing/quiet-hours.ts";
import { changeMessage, hasLease, LEASE_MS } from "./change-message.ts";

/** Messages whose files are gathered at once; others are postponed. */
const GATHERED_AT_ONCE_MAX = 16;
/** A message whose files could not be had waits as long as it has waited so far, within these bounds, in milliseconds. */
const POSTPONED_MS_MIN = 1_000;
const POSTPONED_MS_MAX = 300_000;
/** A lease that has less left than this, in real milliseconds, is renewed before files are gathered. */
const GATHERING_MS_MAX = 40_000;

/** One claimed message in hand. */
export interface Hand {
  /** Calls off what is being done for it. */
  abort: AbortController;
  /** Its files are about to come, which may take long. */
  waitsForFiles(): void;
  /** Its provider has taken it. */
  wasTaken(): void;
  /** Messages whose files are being gathered. */
  gathering: Set<MessageId>;
}

/** A message as it is leased, and what is handed over with it; `release` is to be called when the hand-over has ended. */
export interface Ready {
  message: Message;
  gathered: Gathered;
  release(): void;
}

/** What a queued message needs for its hand-over. Null: it failed or waits, and that is on disk. */
export async function makeReady(
  deps: With<"configCache" | "connections" | "fetcher" | "link" | "messageCache" | "optOutCache">,
  message: Message,
  hand: Hand,
): Promise<Ready | null> {
  const expiry = expiryOf(deps, message);
  if (expiry !== null) return end(deps, message, expiry);
  if (await failsAsUnwanted(deps, message)) return null;
  if (await failsAsStranded(deps, message, deps.connections.of(message.instanceId))) return null;
  if (await waitsForQuietHours(deps, message)) return null;
  // Where nobody would take it, nothing is fetched either.
  if (!deps.connections.isUp(deps, message.instanceId)) return giveBack(deps, message);
  return isPlain(message) ? { message, gathered: NOTHING_GATHERED, release() {} } : gather(deps, message, hand);
}

/** What a message fails with that has waited too long to be handed over; null while it may wait. */
export function expiryOf({ clock, settings }: Deps, { expiresAt }: Message): FailureCause | null {
  if (expiresAt === null || expiresAt > clock.now()) return null;
  const hours = Math.round(settings.messageTtlMs / 3_600_000);
  return { code: "EXPIRED", message: `It waited for ${hours} hours and no provider could take it.` };
}

/** Its instance is down: it waits at its place, from where it may go elsewhere, after those before it. */
export async function giveBack(deps: With<"messageCache">, message: Message): Promise<null> {
  await changeMessage(deps, message, (fresh) => {
    if (!hasLease(fresh, message) || fresh.status !== "queued") return null;
    const dueAt = placeOf(fresh, deps.settings.messageTtlMs, deps.clock.now());
    return { message: { ...fresh, dueAt, claimedUntil: null }, events: [] };
  });
  deps.wake.pausedLanes();
  return null;
}

/** Fails a leased message whose recipient does not want it any more. Answers whether it did, and that is on disk. */
export async function failsAsUnwanted(
  deps: With<"link" | "messageCache" | "optOutCache">,
  message: Message,
): Promise<boolean> {
  if (isGroupId(message.to) || !(await isOptedOut(deps, message.from, message.to))) return false;
  const text = `${message.to} does not want messages from ${message.from}.`;
  await end(deps, message, { code: "RECIPIENT_OPTED_OUT", message: text });
  return true;
}

/**
 * Fails a leased message of which a part was sent by another peer than its instance has now: nobody else may send the
 * rest. Answers whether it did, and that is on disk.
 */
export async function failsAsStranded(
  deps: With<"link" | "messageCache">,
  message: Message,
  connection: Connection | null,
): Promise<boolean> {
  if (connection === null || !isStranded(message, connection)) return false;
  await end(deps, message, { code: "ATTACHMENT_FAILED", message: STRANDED });
  return true;
}

/** Why the rest of a message cannot be sent any more. */
export const STRANDED = "only the account that sent the one can send the other, and its instance has it no more";

/** Whether a part of the message was sent by another peer than that of `connection`. */
export function isStranded({ sentPart, account }: Message, connection: Connection): boolean {
  return sentPart !== null && account !== null && account !== connection.account;
}

async function gather(
  deps: With<"configCache" | "fetcher" | "link" | "messageCache">,
  claimed: Message,
  hand: Hand,
): Promise<Ready | null> {
  const message = hasFiles(claimed) ? await renewLease(deps, claimed) : claimed;
  if (message === null) return null;
  const prepared = await prepareInTurn(deps, message, hand);
  if ("gathered" in prepared) {
    // Files may have taken long, and a message that waits needs them again when it goes out.
    if (!hasFiles(message) || !(await waitsForQuietHours(deps, message))) return { message, ...prepared };
    prepared.release();
    return null;
  }
  if ("deferred" in prepared) return wait(deps, message, prepared.deferred);
  const { refused, code } = prepared;
  return end(deps, message, { code: "REJECTED", message: refused, providerErrorCode: code });
}

/** Its turn may have come late, and files take their time. Null when the lease was lost. */
async function renewLease(deps: With<"messageCache">, message: Message): Promise<Message | null> {
  const until = deps.clock.real() + LEASE_MS;
  if ((message.claimedUntil ?? 0) - deps.clock.real() >= GATHERING_MS_MAX) return message;
  let isRenewed = false;
  const renewed = await changeMessage(deps, message, (fresh) => {
    isRenewed = hasLease(fresh, message);
    return isRenewed ? { message: { ...fresh, claimedUntil: until }, events: [] } : null;
  });
  return isRenewed ? renewed : null;
}

async function prepareInTurn(
  deps: With<"fetcher" | "link" | "messageCache">,
  message: Message,
  { abort, waitsForFiles, gathering }: Hand,
): Promise<Prepared> {
  if (!hasFiles(message)) return prepare(deps, message, abort.signal);
  if (gathering.size >= GATHERED_AT_ONCE_MAX) return { deferred: "the files of other messages are being fetched" };
  gathering.add(message.id);
  waitsForFiles();
  try {
    return await prepare(deps, message, abort.signal);
  } finally {
    gathering.delete(message.id);
  }
}

/** It stays queued, and is looked at again after as long as it has waited for its files already. */
async function wait(deps: With<"messageCache">, message: Message, reason: string): Promise<null> {
  await changeMessage(deps, message, (fresh) => {
    if (!hasLease(fresh, message) || fresh.status !== "queued") return null;
    const now = deps.clock.now();
    const waitedMs = now - (postponedSince(fresh) ?? now);
    const waitMs = Math.min(Math.max(waitedMs, POSTPONED_MS_MIN), POSTPONED_MS_MAX);
    const dueAt = Math.min(now + waitMs, fresh.expiresAt ?? Number.POSITIVE_INFINITY);
    return { message: postpone(fresh, reason, dueAt, now), events: [] };
  });
  return null;
}

async function end(deps: With<"link" | "messageCache">, message: Message, cause: FailureCause): Promise<null> {
  await changeMessage(deps, message, (fresh) =>
    hasLease(fresh, message) ? fail(fresh, cause, changeContext(deps)) : null,
  );
  return null;
}

type Surroundings = Pick<Outbound, "group" | "replyTo">;
/** What of a message to be handed over does not stand in the message itself. */
export type Gathered = Surroundings & Pick<Outbound, "attachments">;

/** What goes with a plain message. */
export const NOTHING_GATHERED: Gathered = { group: null, replyTo: null, attachments: [] };

/**
 * The message as its provider is given it. Effects, mentions and replies are iMessage's, and left out elsewhere.
 * What goes out by SMS may be smart-encoded. Asked by `settle` what became of a hand-over, a provider is given no files.
 */
export function outbound(deps: Deps, message: Message, gathered: Gathered = NOTHING_GATHERED): Outbound {
  const text = message.text ?? "";
  const isRich = message.channel === "imessage";
  return {
    messageId: message.id,
    customerId: message.customerId,
    from: message.from,
    to: message.to,
    channel: message.channel,
    text: message.channel === "sms" ? smsText(text, deps.settings.smartEncoding) : text,
    group: gathered.group,
    attachments: gathered.attachments,
    effect: isRich ? message.effect : null,
    replyTo: isRich ? gathered.replyTo : null,
    mentions: isRich ? message.mentions : [],
    sentPart: message.sentPart === null ? null : { reference: message.sentPart.reference, what: message.sentPart.what },
    payment: message.payment,
    attempt: message.sendAttempts,
    attemptedAt: attemptedAt(message),
  };
}

/** When its present hand-over was recorded; when it was changed last where there is none. */
function attemptedAt({ timeline, updatedAt }: Message): number {
  return timeline.findLast(({ status, reason }) => status === "pending" && reason === undefined)?.at ?? updatedAt;
}

/** Whether the message is all that its provider needs. */
export function isPlain(message: Message): boolean {
  return message.replyTo === null && !isGroupId(message.to) && !hasFiles(message);
}

/** Whether something has to be fetched, or read from disk, before it can be handed over. */
export function hasFiles({ mediaUrls, attachments }: Message): boolean {
  return mediaUrls.length > 0 || attachments.length > 0;
}

/**
 * What has to be there before the hand-over: its files, the group it goes to, what it answers. `release` gives the
 * memory of the files back. `refused`: it can never be sent; `code` as in `providerErrorCode`. `deferred`: later it may.
 */
export type Prepared =
  | { gathered: Gathered; release: () => void }
  | { refused: string; code: string }
  | { deferred: string };

/** Prepares a message that is not plain. `abort` calls it off. */
export async function prepare(
  deps: With<"fetcher" | "link" | "messageCache">,
  message: Message,
  abort: AbortSignal,
): Promise<Prepared> {
  const around = await surroundingsOf(deps, message);
  if ("refused" in around) return around;
  if (!hasFiles(message)) return { gathered: { ...around, attachments: [] }, release: () => {} };
  const files = await gatherAttachments(deps, message, abort);
  if ("refused" in files) return { refused: files.refused, code: "MEDIA_REFUSED" };
  if ("deferred" in files) return files;
  return { gathered: { ...around, attachments: files.loaded }, release: files.release };
}

/** The message as its provider is asked about it: like `outbound`, without files. */
export async function askedAbout(deps: With<"messageCache">, message: Message): Promise<Outbound> {
  if (isPlain(message)) return outbound(deps, message);
  const around = await surroundingsOf(deps, message);
  return outbound(deps, message, "refused" in around ? NOTHING_GATHERED : { ...around, attachments: [] });
}

async function surroundingsOf(
  deps: With<"messageCache">,
  message: Message,
): Promise<Surroundings | { refused: string; code: string }> {
  const replyTo = await referenceOf(deps, message);
  if (!isGroupId(message.to)) return { group: null, replyTo };
  const chat = await findChat(deps.store.db, message.customerId, message.to);
  if (chat === null || chat.leftAt !== null) {
    return { refused: `${message.from} is no longer in the group ${message.to}.`, code: "GROUP_LEFT" };
  }
  return { group: conversationOf(chat, message.channel), replyTo };
}

/** What the provider calls the message that this one answers; null where it does not know that one. */
async function referenceOf(deps: With<"messageCache">, { replyTo, instanceId }: Message): Promise<string | null> {
  const answered =
    replyTo === null ? null : (deps.messageCache.get(replyTo) ?? (await findMessage(deps.store.db, replyTo)));
  if (answered === null || answered.instanceId !== instanceId || answered.channel !== "imessage") return null;
  return answered.providerMessageId;
}
