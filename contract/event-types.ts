/** The types of events: what an endpoint subscribes to, and what a list of events is filtered by. */

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
  "chat.participant.added",
  "chat.participant.left",
  "chat.title.changed",
  "chat.photo.changed",
  "webhook.test",
] as const;

export const EventType = choice("EventType", EVENT_TYPES, "Type of an event.");

/** An event type, or `*` for all of them. */
export const EventFilter = choice("EventFilter", [...EVENT_TYPES, "*"], "An event type, or `*` for every type.");
