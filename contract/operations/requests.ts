/** Operations on the request log. */

import { Type } from "typebox";
import { linksToFirst, operation, type Section } from "../operation.ts";
import {
  LoggedExchange,
  LoggedRequestList,
  loggedExchangeExample,
  loggedRequestExample,
  RequestErrors,
  RequestErrorsQuery,
  RequestsQuery,
  requestErrorExample,
} from "../requests.ts";
import { CURSOR, IDS } from "../samples.ts";
import { WireQuery, wireMessageExample } from "../wire.ts";

const frame = `event: message\ndata: ${JSON.stringify(wireMessageExample)}\n\n`;

export const requests: Section = {
  tag: "Requests",
  description:
    "The log of requests with an accepted key: of your own key, or with an admin key of all. It is on while every instance is a sandbox, and else as `TB_REQUEST_LOG` says. The service keeps at most 50,000 requests, for at most 7 days. Requests appear about a quarter of a second after their response, and a stream when it has ended. Reads of the log are not logged.",
  parameters: { id: { description: "Id of the request: the `requestId` of its response.", example: IDS.request } },
  operations: {
    "GET /v1/requests": operation({
      id: "listRequests",
      summary: "List requests",
      description: "Lists requests newest first, or with `after` oldest first, without bodies. A page may be short.",
      scope: "any",
      query: RequestsQuery,
      response: LoggedRequestList,
      example: { requests: [loggedRequestExample], pagination: { hasMore: true, nextCursor: CURSOR } },
      errors: ["FORBIDDEN"],
      queryExample: { status: "4xx", limit: "20" },
      links: linksToFirst("requests", "getRequest"),
    }),
    "GET /v1/requests/errors": operation({
      id: "listRequestErrors",
      summary: "Count the errors in the request log",
      description: "Groups refused requests by code, method, route and status, the largest group first.",
      scope: "any",
      query: RequestErrorsQuery,
      response: RequestErrors,
      example: { errors: [requestErrorExample] },
      errors: ["FORBIDDEN"],
    }),
    "GET /v1/requests/:id": operation({
      id: "getRequest",
      summary: "Get a request",
      description:
        "Returns a request with its bodies, in which secrets are masked. If a client used an `X-Request-Id` several times, the response is the newest of these requests.",
      scope: "any",
      response: LoggedExchange,
      example: loggedExchangeExample,
    }),
    "GET /v1/wire": operation({
      id: "watchWire",
      summary: "Follow requests, events and deliveries live",
      description:
        "One stream of server-sent events of four kinds: `request` (a request of the log, without bodies), `event` (an event's envelope, with the event's id), `delivery` (a delivery with its attempts, whenever it is new or has changed) and `message` (a message's timeline, whenever it has grown). Events continue after `Last-Event-ID` without a missing or repeated one. The other kinds are not repeated: after a new connection, read their lists. A customer's key sees its own requests. A comment comes every 15 s as a heartbeat.",
      query: WireQuery,
      response: Type.Null(),
      example: null,
      bare: true,
      headers: {
        "Last-Event-ID": {
          description: "Id of the last event that you processed: the stream continues after it.",
          example: IDS.event,
        },
      },
      contents: { "text/event-stream": { schema: Type.String(), example: frame } },
    }),
  },
};
