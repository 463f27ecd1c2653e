/** Routes of events: the list, the live stream at the same address, and single events. All carry the bytes of the webhooks. */

import type { Static } from "typebox";
import { EventsQuery } from "../../contract/events.ts";
import { EVENT_TYPES, type EventType } from "../../sdk/wire.ts";
import { ApiError, invalidField } from "../core/error.ts";
import type { CustomerId } from "../core/id.ts";
import type { Deps } from "../engine/deps.ts";
import { type EventPage, findEvent, pageOfEvents } from "../store/events.ts";
import { decodeCursor, encodeCursor } from "./cursor.ts";
import { listReader } from "./list-reader.ts";
import { type Caller, type Route, route } from "./route.ts";
import type { Streams, Subscription } from "./stream.ts";

export function eventRoutes(deps: Deps, streams: Streams): Route[] {
  return [
    route({
      method: "GET",
      path: "/v1/events",
      scope: "messages",
      query: EventsQuery,
      async handle(request) {
        const { caller, query, header, isHead } = request;
        const { limit, cursor, after, events: eventTypes, ...filter } = query;
        if (eventTypes !== undefined || STREAM_TYPE.test(header("accept") ?? "")) {
          const lastEventId = header("last-event-id") ?? "";
          return streams.open(subscriptionOf(caller, query, lastEventId), isHead);
        }
        const page = await pageFor(deps, caller.customerId, cursor, after);
        const db = listReader(deps, request);
        const { records, next } = await pageOfEvents(db, caller.customerId, filter, { ...page, limit });
        const hasMore = next !== null;
        const nextCursor = next === null ? null : encodeCursor({ order: page.order, from: next.from });
        const events = records.map(({ bytes }) => bytes);
        return { rawList: { name: "events", items: events }, pagination: { hasMore, nextCursor } };
      },
    }),
    route({
      method: "GET",
      path: "/v1/events/:id",
      scope: "messages",
      async handle({ caller, params }) {
        const event = await findEvent(deps.store.db, caller.customerId, params.id);
        if (event !== null) return { rawData: event.bytes };
        throw new ApiError("NOT_FOUND", `There is no event ${params.id.slice(0, 100)}, or it is no longer stored.`);
      },
    }),
  ];
}

/** An `Accept` header that asks for a stream of events. */
const STREAM_TYPE = /(^|[,\s])text\/event-stream\b/i;

/** The subscription of a stream. Throws 400 for a parameter of the list. */
function subscriptionOf(
  { key, customerId, session }: Caller<CustomerId>,
  query: Static<typeof EventsQuery>,
  lastEventId: string,
): Subscription {
  const { cursor, after, events, type, messageId = null } = query;
  const ofList = Object.entries({ cursor, after }).find(([, value]) => value !== undefined)?.[0];
  if (ofList !== undefined) {
    throw invalidField(
      ofList,
      "is a parameter of the list; a stream begins after the event in the header Last-Event-ID",
    );
  }
  if (type !== undefined && events !== undefined) throw invalidField("type", "cannot be used together with events");
  const types = events === undefined ? (type === undefined ? null : new Set([type])) : typesOf(events);
  return {
    key,
    sessionId: session?.session.id ?? null,
    customerId,
    types,
    messageId,
    lastEventId: lastEventId === "" ? null : lastEventId,
    wire: null,
  };
}

/** The types of `events=a,b`; null for `*`, which selects all. */
function typesOf(events: string): ReadonlySet<EventType> | null {
  const names = events.split(",").map((name) => name.trim());
  const unknown = names.find((name) => name !== "*" && !isEventType(name));
  if (unknown !== undefined) {
    throw invalidField(
      "events",
      `has ${JSON.stringify(unknown.slice(0, 100))}; known are *, ${EVENT_TYPES.join(", ")}`,
    );
  }
  return names.includes("*") ? null : new Set(names.filter(isEventType));
}

function isEventType(name: string): name is EventType {
  return (EVENT_TYPES as readonly string[]).includes(name);
}

type PageOrder = Pick<EventPage, "order" | "from">;

/** Where the page begins: at the newest event, after the event `after` (oldest first), or where the cursor says. */
async function pageFor(
  deps: Deps,
  customerId: CustomerId,
  cursor: string | undefined,
  after: string | undefined,
): Promise<PageOrder> {
  if (cursor !== undefined) return decodeCursor(cursor, isPageOrder);
  if (after === undefined) return { order: "newest", from: null };
  const event = await findEvent(deps.store.db, customerId, after);
  if (event === null) throw invalidField("after", `${after} is no event of this customer, or is no longer stored`);
  return { order: "oldest", from: event.position };
}

function isPageOrder(value: unknown): value is PageOrder {
  if (typeof value !== "object" || value === null || !("order" in value) || !("from" in value)) return false;
  return (value.order === "newest" || value.order === "oldest") && Number.isSafeInteger(value.from);
}
