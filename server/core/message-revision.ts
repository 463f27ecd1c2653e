/** Changes of a message outside its lifecycle: it arrives, is edited, reacted to, kept. Pure. */

import type {
  AttachmentsAddedEventData,
  Channel,
  Mention,
  Reaction,
  ReactionEventData,
  RevisionEventData,
} from "../../sdk/wire.ts";
import { attachmentRecord, type LinkBuilder, type MessageAttachment } from "./attachment.ts";
import { type Message, messageTypeOf, type TimelineEntry } from "./message.ts";
import { type Change, type ChangeContext, emit, withEvent } from "./message-lifecycle.ts";
import { type InboundFacts, inboundEventData, providerMessageIdOf } from "./message-record.ts";
import { segmentsOf } from "./segment.ts";
import { note } from "./timeline.ts";

/** An inbound message arrives: `received` from the start, with `message.inbound` as its first event. */
export function arrive(message: Message, about: InboundFacts, context: ChangeContext): Change {
  const { channel, instanceId } = message;
  const entry: TimelineEntry = { status: "received", at: context.now, channel, instanceId };
  const arrived: Message = { ...message, status: "received", deliveredAt: context.now, timeline: [entry] };
  return emit({ message: arrived, events: [] }, "message.inbound", context, (emitted) =>
    inboundEventData(emitted, about, context.link),
  );
}

/** New content, time or metadata of a scheduled message; omitted fields stay. */
export type ScheduledChange = Partial<Pick<Message, "text" | "mediaUrls" | "metadata">> & { scheduledAt?: number };

/**
 * Changes the content, time or metadata of a scheduled message: `message.scheduled` again, with its present state. Counts its
 * segments anew and keeps each mention whose place in the text reads as before. Null if nothing changes or the message is no
 * longer scheduled.
 */
export function changeScheduled(message: Message, given: ScheduledChange, context: ChangeContext): Change | null {
  const fields = CHANGEABLE.filter(({ field }) => field in given && !isSame(given[field], message[field]));
  if (message.status !== "scheduled" || fields.length === 0) return null;
  const { scheduledAt = message.scheduledAt } = given;
  const next: Message = { ...message, ...given, scheduledAt };
  // A claim in progress gives way to a new time; otherwise it goes on with the changed message.
  const isMoved = scheduledAt !== message.scheduledAt;
  const changed: Message = {
    ...next,
    ...(isMoved ? { dueAt: scheduledAt, claimedUntil: null } : {}),
    ...segmentsOf(next, context.smartEncoding),
    messageType: messageTypeOf(next.mediaUrls, next.attachments),
    mentions: next.mentions.filter((mention) => mentioned(next.text, mention) === mentioned(message.text, mention)),
  };
  const reason = `changed: ${fields.map(({ path }) => path).join(", ")}`;
  const noted = note(changed, changed.channel, "scheduled", reason, context.now);
  return withEvent({ message: noted, events: [] }, "message.scheduled", context);
}

const CHANGEABLE = [
  { field: "text", path: "content.text" },
  { field: "mediaUrls", path: "content.mediaUrls" },
  { field: "scheduledAt", path: "scheduledAt" },
  { field: "metadata", path: "metadata" },
] as const satisfies { field: keyof ScheduledChange; path: string }[];

function isSame(left: unknown, right: unknown): boolean {
  return JSON.stringify(left) === JSON.stringify(right);
}

function mentioned(text: string | null, { start, length }: Mention): string {
  return (text ?? "").slice(start, start + length);
}

/** Whether a message can be edited: neither unsent nor deleted. */
function canBeEdited({ status, deletedAt }: Message): boolean {
  return status !== "unsent" && deletedAt === null;
}

/** Its sender changed the text: `message.edited`. Null if the message was unsent or deleted. */
export function edit(
  message: Message,
  text: string | null,
  context: ChangeContext,
  said: Pick<RevisionEventData, "textTruncated"> = {},
): Change | null {
  if (!canBeEdited(message)) return null;
  const change = { message: { ...message, text, editedAt: context.now }, events: [] };
  return withEvent(change, "message.edited", context, said);
}

/** Files of an inbound message that came after it: `message.attachments_added` with the new ones. */
export function addAttachments(
  message: Message,
  attachments: MessageAttachment[],
  added: readonly MessageAttachment[],
  context: ChangeContext,
): Change {
  const grown: Message = { ...message, attachments, messageType: messageTypeOf(message.mediaUrls, attachments) };
  return emit({ message: grown, events: [] }, "message.attachments_added", context, (emitted) =>
    attachmentsAddedData(emitted, added, context.link),
  );
}

function attachmentsAddedData(
  { id: messageId, from, to, channel, sequence, correlationId, chatId }: Message,
  added: readonly MessageAttachment[],
  link: LinkBuilder,
): AttachmentsAddedEventData {
  const attachments = added.map((one) => attachmentRecord(one, link));
  return { messageId, from, to, channel, chatId, attachments, sequence, correlationId };
}

/** An edit was refused: `message.edit_failed` with the reason; of the message only `sequence` and `updatedAt` change. Null if it was unsent or deleted. */
export function failEdit(message: Message, reason: string, context: ChangeContext): Change | null {
  if (!canBeEdited(message)) return null;
  return withEvent({ message, events: [] }, "message.edit_failed", context, { reason });
}

/** The recipient kept an audio message: `message.audio_kept`. */
export function keepAudio(message: Message, context: ChangeContext): Change {
  return withEvent({ message, events: [] }, "message.audio_kept", context);
}

/** A reaction of a contact. */
export interface Reacting {
  type: Reaction | "emoji" | "remove";
  /** With the type `emoji`; null if unknown. */
  emoji: string | null;
  /** As a phone shows it: `Loved “Hi”`. */
  content: string;
  from: string;
  to: string;
  channel: Channel;
}

/** A contact reacted to the message: `message.reaction`. Of the message only `sequence` and `updatedAt` change. */
export function takeReaction(message: Message, reacting: Reacting, context: ChangeContext): Change {
  // A reaction quotes the message, and the text of a deleted message is erased.
  const content = message.deletedAt === null ? reacting.content : "";
  return emit({ message, events: [] }, "message.reaction", context, (emitted) =>
    reactionEventData(emitted, { ...reacting, content }, emitted),
  );
}

/** `data` of `message.reaction`; without a target, the reaction is about a message that is not known here. */
export function reactionEventData(
  target: Message | null,
  reacting: Reacting,
  { sequence, correlationId }: Pick<Message, "sequence" | "correlationId">,
): ReactionEventData {
  const { type, emoji, content, from, to, channel } = reacting;
  const messageId = target?.id ?? null;
  return {
    messageId,
    ...(target === null || target.externalMessageId === null ? {} : { externalMessageId: target.externalMessageId }),
    reaction: { type, ...(emoji === null ? {} : { emoji }), targetMessageId: messageId, content },
    from,
    to,
    channel,
    ...(target === null || target.metadata === null ? {} : { metadata: target.metadata }),
    ...(target === null ? {} : providerMessageIdOf(target)),
    sequence,
    correlationId,
  };
}
