/** Makes what a provider is given of a message: at once of a plain one, else with what has to be read and fetched first. */

import { isGroupId } from "../../core/chat.ts";
import type { Message } from "../../core/message.ts";
import { smsText } from "../../core/segment.ts";
import type { Outbound } from "../../providers/provider.ts";
import { findChat } from "../../store/chats.ts";
import { findMessage } from "../../store/messages.ts";
import { gatherAttachments } from "../attachments/gather.ts";
import { conversationOf } from "../chats/conversation.ts";
import type { Deps } from "../deps.ts";

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
export async function prepare(deps: Deps, message: Message, abort: AbortSignal): Promise<Prepared> {
  const around = await surroundingsOf(deps, message);
  if ("refused" in around) return around;
  if (!hasFiles(message)) return { gathered: { ...around, attachments: [] }, release: () => {} };
  const files = await gatherAttachments(deps, message, abort);
  if ("refused" in files) return { refused: files.refused, code: "MEDIA_REFUSED" };
  if ("deferred" in files) return files;
  return { gathered: { ...around, attachments: files.loaded }, release: files.release };
}

/** The message as its provider is asked about it: like `outbound`, without files. */
export async function askedAbout(deps: Deps, message: Message): Promise<Outbound> {
  if (isPlain(message)) return outbound(deps, message);
  const around = await surroundingsOf(deps, message);
  return outbound(deps, message, "refused" in around ? NOTHING_GATHERED : { ...around, attachments: [] });
}

async function surroundingsOf(deps: Deps, message: Message): Promise<Surroundings | { refused: string; code: string }> {
  const replyTo = await referenceOf(deps, message);
  if (!isGroupId(message.to)) return { group: null, replyTo };
  const chat = await findChat(deps.store.db, message.customerId, message.to);
  if (chat === null || chat.leftAt !== null) {
    return { refused: `${message.from} is no longer in the group ${message.to}.`, code: "GROUP_LEFT" };
  }
  return { group: conversationOf(chat, message.channel), replyTo };
}

/** What the provider calls the message that this one answers; null where it does not know that one. */
async function referenceOf(deps: Deps, { replyTo, instanceId }: Message): Promise<string | null> {
  const answered =
    replyTo === null ? null : (deps.messageCache.get(replyTo) ?? (await findMessage(deps.store.db, replyTo)));
  if (answered === null || answered.instanceId !== instanceId || answered.channel !== "imessage") return null;
  return answered.providerMessageId;
}
