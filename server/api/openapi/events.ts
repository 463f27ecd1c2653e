/** Reference of the routes of events; the events themselves are with the nouns they are about. */

import { Type } from "typebox";
import type { Event as WireEvent, EventList as WireEventList } from "../../../sdk/wire.ts";
import { wire } from "../schemas/common.ts";
import { COMPONENT, component, operation, Pagination, type Section } from "./operation.ts";
import { at, CONTACT, CORRELATION_ID, CURSOR, IDS, OWN } from "./samples.ts";

/** Any event: what it is in detail is put together from those of all nouns. */
export const EVENT = "Event";
/** An event of any type. */
export const AnyEvent = Type.Unsafe<WireEvent>({ [COMPONENT]: EVENT });

const EventList = wire<WireEventList>()(
  component("EventList", { events: Type.Array(AnyEvent), pagination: Pagination }),
);

const example: WireEvent = {
  id: IDS.event,
  type: "message.delivered",
  timestamp: at(2),
  data: {
    messageId: IDS.message,
    from: OWN,
    to: CONTACT,
    text: "Your table is ready.",
    channel: "imessage",
    status: "delivered",
    sequence: 3,
    correlationId: CORRELATION_ID,
    deliveredAt: at(2),
  },
};

const frame = `id: ${example.id}\nevent: ${example.type}\ndata: ${JSON.stringify(example)}\n\n`;

export const events: Section = {
  tag: "Events",
  description: "Everything that happened, in the very bytes that the webhooks carried, for as long as events are kept.",
  parameters: { id: { description: "The event.", example: IDS.event } },
  operations: {
    "GET /v1/events": operation({
      id: "listEvents",
      summary: "List events, or follow them live",
      description:
        "A list, newest first, or from `after` on oldest first. With `Accept: text/event-stream`, or with `events`, it is a live stream of server-sent events: it goes on behind `Last-Event-ID` with nothing missed or doubled, sends a comment every 15 s as a sign of life, and begins with the comment `: gap` when that event is no longer kept.",
      answer: EventList,
      example: { events: [example], pagination: { hasMore: true, nextCursor: CURSOR } },
      query: { type: "message.delivered", limit: "20" },
      headers: {
        "Last-Event-ID": {
          description: "The last event that was handled: the stream goes on behind it.",
          example: IDS.event,
        },
      },
      contents: { "text/event-stream": { schema: Type.String(), example: frame } },
    }),
    "GET /v1/events/:id": operation({
      id: "getEvent",
      summary: "Get an event",
      description: "The envelope as it was delivered.",
      answer: AnyEvent,
      example,
    }),
  },
};
