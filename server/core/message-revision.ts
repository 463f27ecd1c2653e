/** What happens to a message beside its lifecycle: it arrives, is edited, reacted to, kept. Pure. */

import type { Channel, Reaction, ReactionEventData } from "../../sdk/wire.ts";
import type { Message, TimelineEntry } from "./message.ts";
import { type Change, type ChangeContext, tell, withEvent } from "./message-lifecycle.ts";
import { inboundEventData, providerMessageIdOf } from "./message-record.ts";

/** An inbound message comes in: `received` from the first, with `message.inbound` as its first event. */
export function arrive(message: Message, isGroup: boolean, context: ChangeContext): Change {
  const { channel, instanceId } = message;
  const entry: TimelineEntry = { status: "received", at: context.now, channel, instanceId };
  const arrived: Message = { ...message, status: "received", deliveredAt: context.now, timeline: [entry] };
  return tell({ message: arrived, events: [] }, "message.inbound", context, (told) =>
    inboundEventData(told, isGroup, context.link),
  );
}

/** Whether a message is there to be edited: neither taken back nor deleted. */
function canBeEdited({ status, deletedAt }: Message): boolean {
  return status !== "unsent" && deletedAt === null;
}

/** Its sender gave it another text: `message.edited`. Null when it was taken back or deleted. */
export function edit(message: Message, text: string | null, context: ChangeContext): Change | null {
  if (!canBeEdited(message)) return null;
  const { now } = context;
  return withEvent(
    { message: { ...message, text, editedAt: now, updatedAt: now }, events: [] },
    "message.edited",
    context,
  );
}

/** An edit was refused: `message.edit_failed` with the reason; the message stays as it is. Null as with `edit`. */
export function failEdit(message: Message, reason: string, context: ChangeContext): Change | null {
  if (!canBeEdited(message)) return null;
  return withEvent({ message, events: [] }, "message.edit_failed", context, { reason });
}

/** The recipient kept an audio message: `message.audio_kept`. */
export function keepAudio(message: Message, context: ChangeContext): Change {
  return withEvent({ message, events: [] }, "message.audio_kept", context);
}

/** A reaction as it reached a customer's address. */
export interface Reacting {
  type: Reaction | "remove";
  emoji: string | null;
  /** As a phone shows it: `Loved “Hi”`. */
  content: string;
  from: string;
  to: string;
  channel: Channel;
}

/** Somebody reacted to the message: `message.reaction`, the next event of it. The message itself stays as it is. */
export function takeReaction(message: Message, reacting: Reacting, context: ChangeContext): Change {
  // The words of a deleted message are gone, and a reaction quotes them.
  const content = message.deletedAt === null ? reacting.content : "";
  return tell({ message, events: [] }, "message.reaction", context, (told) =>
    reactionEventData(told, { ...reacting, content }, told),
  );
}

/** `data` of `message.reaction`; without a target it is about a message that is not known here. */
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
