/** The types of events, and how a noun declares the events of its own. */

import type { Static, TSchema } from "typebox";
import { choice } from "./schema.ts";

export const EVENT_TYPES = [
  "message.queued",
  "message.sent",
  "message.delivered",
  "message.read",
  "message.failed",
  "message.fallback",
  "message.inbound",
  "message.scheduled",
  "message.schedule_cancelled",
  "typing.indicator",
  "payment.request.created",
  "payment.request.paid",
  "payment.request.cancelled",
  "payment.request.expired",
  "facetime.incoming",
  "facetime.status_changed",
  "message.reaction",
  "message.edited",
  "message.edit_failed",
  "message.unsent",
  "message.deleted",
  "message.audio_kept",
  "message.attachments_added",
  "chat.participant.added",
  "chat.participant.left",
  "chat.title.changed",
  "chat.photo.changed",
  "contact.opted_out",
  "contact.opted_in",
  "webhook.test",
] as const;

export const EventType = choice("EventType", EVENT_TYPES, "Type of an event.");

/** An event type, or `*` for all of them. */
export const EventFilter = choice("EventFilter", [...EVENT_TYPES, "*"], "An event type, or `*` for every type.");
/** An event: when it is sent, the shape of its data, and an example of the data. */
export interface EventDeclaration {
  type: (typeof EVENT_TYPES)[number];
  summary: string;
  data: TSchema;
  example: unknown;
}

/** Declares an event whose example has the type of its data. */
export function event<Schema extends TSchema>(
  type: EventDeclaration["type"],
  summary: string,
  data: Schema,
  example: Static<Schema>,
): EventDeclaration {
  return { type, summary, data, example };
}
