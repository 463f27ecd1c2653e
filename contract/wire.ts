/** The Wire: the stream of everything that happens to a customer's messages, in order of time. */

import type { Static } from "typebox";
import { MessageStatus, TimelineEntry } from "./messages.ts";
import { at, CORRELATION_ID, IDS } from "./samples.ts";
import { closed, list, optional, record, says, string, text } from "./schema.ts";

/** Query of `GET /v1/wire`. */
export const WireQuery = closed({
  messageId: optional(text(1, 100, "Only this message, its events and deliveries, and requests about it.")),
});

export const WireMessage = record("WireMessage", "A message whose timeline has grown.", {
  id: string("Id of the message."),
  status: says(MessageStatus, "Its status now."),
  correlationId: string("Correlation id of the request that created it."),
  timeline: list(TimelineEntry, "Its whole timeline."),
});

export const wireMessageExample: Static<typeof WireMessage> = {
  id: IDS.message,
  status: "queued",
  correlationId: CORRELATION_ID,
  timeline: [{ status: "queued", at: at(0), channel: "imessage", reason: "iMessage (preferred), via Sandbox" }],
};
