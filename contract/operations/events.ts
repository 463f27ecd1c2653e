/** Operations on events. */

import { Type } from "typebox";
import { AnyEvent, EventList, EventsQuery, eventExample } from "../events.ts";
import { linksToFirst, operation, type Section } from "../operation.ts";
import { CURSOR, IDS } from "../samples.ts";

const frame = `id: ${eventExample.id}\nevent: ${eventExample.type}\ndata: ${JSON.stringify(eventExample)}\n\n`;

export const events: Section = {
  tag: "Events",
  description: "Every event, in exactly the bytes that the webhooks carried, as long as events are kept.",
  parameters: { id: { description: "Id of the event.", example: IDS.event } },
  operations: {
    "GET /v1/events": operation({
      id: "listEvents",
      summary: "List events, or follow them live",
      description:
        "Lists events newest first, or with `after` oldest first. With `Accept: text/event-stream`, or with `events`, the response is a live stream of server-sent events: it continues after `Last-Event-ID` without a missing or repeated event, sends a comment every 15 s as a heartbeat, and starts with the comment `: gap` if that event is no longer kept.",
      query: EventsQuery,
      response: EventList,
      example: { events: [eventExample], pagination: { hasMore: true, nextCursor: CURSOR } },
      queryExample: { type: "message.delivered", limit: "20" },
      headers: {
        "Last-Event-ID": {
          description: "Id of the last event that you processed: the stream continues after it.",
          example: IDS.event,
        },
      },
      contents: { "text/event-stream": { schema: Type.String(), example: frame } },
      links: linksToFirst("events", "getEvent"),
    }),
    "GET /v1/events/:id": operation({
      id: "getEvent",
      summary: "Get an event",
      description: "Returns the envelope as it was delivered.",
      response: AnyEvent,
      example: eventExample,
    }),
  },
};
