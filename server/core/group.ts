/** Changes of a group (participants and name) and their events. Pure. */

import type { ChatEventData, EventType } from "../../sdk/wire.ts";
import type { Chat } from "./chat.ts";
import { type Event, makeEvent } from "./event.ts";
import type { EventId } from "./id.ts";
import { distinctPhones, samePhoneIn, withoutPhones } from "./phone-forms.ts";
import { withoutStepBack } from "./step-back.ts";

/** The state of a group as the provider sees it. A group that the service does not know becomes a chat. */
export interface GroupSnapshot {
  reference: string;
  name: string | null;
  /** All members except the customer's own address. */
  participants: readonly string[];
}

/** A change of a group; omitted fields stay. */
export interface GroupPatch {
  name?: string | null;
  /** All members except the customer's own address. */
  participants?: readonly string[];
  /** Whether the customer has left the group. */
  left?: boolean;
}

/** A group and the events of one change to it, to be committed together. */
export interface GroupChange {
  chat: Chat;
  events: Event[];
}

/** Parameters of a change: shifted time, ids for its events, and the correlation id. */
export interface GroupContext {
  now: number;
  eventId: () => EventId;
  correlationId: string;
}

/**
 * Applies a change to a group, with one event per added or removed participant and one for a new name. `actor` made the change;
 * null if unknown. A field that has the value already emits nothing, so the echo of our own change causes no second event. A
 * participant whose phone is in the group stays, in the form that the change names, and that emits nothing either.
 */
export function patchGroup(chat: Chat, to: GroupPatch, actor: string | null, context: GroupContext): GroupChange {
  const { name = chat.name, participants = chat.participants, left = chat.leftAt !== null } = to;
  // Remaining participants keep their order.
  const stayed = distinctPhones(chat.participants.flatMap((one) => samePhoneIn(participants, one) ?? []));
  const came = withoutPhones(participants, stayed);
  const added = [...came];
  const gone = withoutPhones(chat.participants, stayed);
  if (left !== (chat.leftAt !== null)) (left ? gone : added).push(chat.from);
  const events = [
    ...added.map((participant) => groupEvent(chat, "chat.participant.added", { participant, actor }, context)),
    ...gone.map((participant) => groupEvent(chat, "chat.participant.left", { participant, actor }, context)),
  ];
  if (name !== chat.name) events.push(groupEvent(chat, "chat.title.changed", { title: name, actor }, context));
  const next = [...stayed, ...came];
  if (events.length === 0 && next.join(" ") === chat.participants.join(" ")) return { chat, events };
  const leftAt = left ? (chat.leftAt ?? context.now) : null;
  const updatedAt = withoutStepBack(chat.updatedAt, context.now);
  return { chat: { ...chat, name, participants: next, leftAt, updatedAt }, events };
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
  const eventData: ChatEventData = { chatId, ...subject, actor, to, channel };
  const createdAt = withoutStepBack(chat.updatedAt, now);
  return makeEvent(
    { id: eventId(), customerId, type, messageId: null, sequence: 0, correlationId, createdAt },
    eventData,
  );
}
