/** Routes of events: the list, and one. Answers carry the bytes that the webhooks carried (contract 4). */

import { ApiError, invalidField } from "../core/error.ts";
import type { CustomerId } from "../core/id.ts";
import type { Context } from "../engine/context.ts";
import { type EventPage, findEvent, listEvents } from "../store/events.ts";
import { type Route, route } from "./route.ts";
import { decodeCursor, encodeCursor } from "./schemas/common.ts";
import { ListEvents } from "./schemas/events.ts";

export function eventRoutes(context: Context): Route[] {
  return [
    route({
      method: "GET",
      path: "/v1/events",
      scope: "messages",
      query: ListEvents,
      async handle({ caller, query }) {
        const { limit, cursor, after, ...filter } = query;
        const page = await pageFor(context, caller.customerId, cursor, after);
        const found = await listEvents(context.store.db, caller.customerId, filter, { ...page, limit: limit + 1 });
        const last = found[limit - 1];
        const hasMore = found.length > limit && last !== undefined;
        const nextCursor = hasMore ? encodeCursor({ order: page.order, from: last.position }) : null;
        const events = found.slice(0, limit).map(({ bytes }) => bytes);
        return { rawData: `{"events":[${events.join(",")}],"pagination":${JSON.stringify({ hasMore, nextCursor })}}` };
      },
    }),
    route({
      method: "GET",
      path: "/v1/events/:id",
      scope: "messages",
      async handle({ caller, params }) {
        const event = await findEvent(context.store.db, caller.customerId, params.id);
        if (event !== null) return { rawData: event.bytes };
        throw new ApiError("NOT_FOUND", `There is no event ${params.id.slice(0, 100)}, or it is no longer kept.`);
      },
    }),
  ];
}

type Place = Pick<EventPage, "order" | "from">;

/** Where the page begins: at the newest, after an event named by `after` (oldest first), or where a cursor says. */
async function pageFor(
  context: Context,
  customerId: CustomerId,
  cursor: string | undefined,
  after: string | undefined,
): Promise<Place> {
  if (cursor !== undefined) return decodeCursor(cursor, isPlace);
  if (after === undefined) return { order: "newest", from: null };
  const event = await findEvent(context.store.db, customerId, after);
  if (event === null) throw invalidField("after", `${after} is no event of this customer, or it is no longer kept`);
  return { order: "oldest", from: event.position };
}

function isPlace(value: unknown): value is Place {
  if (typeof value !== "object" || value === null || !("order" in value) || !("from" in value)) return false;
  return (value.order === "newest" || value.order === "oldest") && Number.isSafeInteger(value.from);
}
