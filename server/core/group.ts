/** What becomes of a group when somebody comes, goes or names it, and the events that tell of it. Pure. */

import type { ChatEventData, EventType } from "../../sdk/wire.ts";
import type { Chat } from "./chat.ts";
import { type Event, makeEvent } from "./event.ts";
import type { EventId } from "./id.ts";

/** The state of a group as the provider sees it. A group that the service does not know becomes a chat. */
export interface GroupSnapshot {
  reference: string;
  name: string | null;
  /** All members except the customer's own address. */
  participants: readonly string[];
}

/** How a group is to be; what is not named stays. */
export interface GroupPatch {
  name?: string | null;
  /** All members except the customer's own address. */
  participants?: readonly string[];
  /** Whether the customer is out of it. */
  left?: boolean;
}

/** A group and the events of one change to it, to be committed together. */
export interface GroupChange {
  chat: Chat;
  events: Event[];
}

/** What a change needs from outside: the shifted time, ids for its events, and what they go with. */
export interface GroupContext {
  now: number;
  eventId: () => EventId;
  correlationId: string;
}

/**
 * The group as it is to be: one event for each participant who came or went, and one for a new name. `actor` is who
 * did it, null where that is not known. What is so already is told of by nothing: that is how the echo of a change of
 * our own comes to no second event.
 */
export function patchGroup(chat: Chat, to: GroupPatch, actor: string | null, context: GroupContext): GroupChange {
  const { name = chat.name, participants = chat.participants, left = chat.leftAt !== null } = to;
  const added = participants.filter((one) => !chat.participants.includes(one));
  const gone = chat.participants.filter((one) => !participants.includes(one));
  if (left !== (chat.leftAt !== null)) (left ? gone : added).push(chat.from);
  const events = [
    ...added.map((participant) => groupEvent(chat, "chat.participant.added", { participant, actor }, context)),
    ...gone.map((participant) => groupEvent(chat, "chat.participant.left", { participant, actor }, context)),
  ];
  if (name !== chat.name) events.push(groupEvent(chat, "chat.title.changed", { title: name, actor }, context));
  if (events.length === 0) return { chat, events };
  const leftAt = left ? (chat.leftAt ?? context.now) : null;
  // Who stays keeps the place in the list.
  const stayed = chat.participants.filter((one) => participants.includes(one));
  const came = participants.filter((one) => !stayed.includes(one));
  return { chat: { ...chat, name, participants: [...stayed, ...came], leftAt, updatedAt: context.now }, events };
}

/** An event of a group. */
export function groupEvent(
  chat: Chat,
  type: Extract<EventType, `chat.${string}`>,
  data: Pick<ChatEventData, "participant" | "title" | "actor">,
  { now, eventId, correlationId }: GroupContext,
): Event {
  const { id: chatId, customerId, from: to, channel } = chat;
  const { actor, ...subject } = data;
  const told: ChatEventData = { chatId, ...subject, actor, to, channel };
  return makeEvent(
    { id: eventId(), customerId, type, messageId: null, sequence: 0, correlationId, createdAt: now },
    told,
  );
}
