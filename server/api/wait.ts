/** The route `GET /v1/sandbox/wait`: returns the first event that matches, as soon as it is stored. */

import { WaitQuery } from "../../contract/events.ts";
import { ApiError, invalidField } from "../core/error.ts";
import { FairSemaphore } from "../core/fair-semaphore.ts";
import type { CustomerId } from "../core/id.ts";
import type { Deps } from "../engine/deps.ts";
import type { With } from "../engine/engine-deps.ts";
import { requireSandbox } from "../engine/sandbox/sandbox.ts";
import { type EventFilter, findEvent, newestPosition, type PositionedEvent, pageOfEvents } from "../store/events.ts";
import type { Store } from "../store/store.ts";
import { listReader } from "./list-reader.ts";
import { LongPoll } from "./long-poll.ts";
import type { OpenResponses } from "./open-responses.ts";
import { type Route, route } from "./route.ts";

/** Requests that may wait at once; a customer alone may have 800 of them. */
const WAITS_MAX = 1_000;
const SHARE_OF_FREE = 4;
const FULL_RETRY_AFTER_SECONDS = 1;

export function waitRoutes(deps: With<"configCache" | "eventNotifier">, openResponses: OpenResponses): Route[] {
  const permits = new FairSemaphore({ permitsMax: WAITS_MAX, shareOfFree: SHARE_OF_FREE });
  return [
    route({
      method: "GET",
      path: "/v1/sandbox/wait",
      scope: "messages",
      query: WaitQuery,
      async handle(request) {
        const { caller, query, gone } = request;
        const { customerId } = caller;
        await requireSandbox(deps, customerId);
        const { after, timeoutSeconds, ...filter } = query;
        const from = after === undefined ? null : await positionOf(deps, customerId, after);
        const release = permits.tryAcquire(customerId);
        if (release === null) {
          throw new ApiError("SERVICE_UNAVAILABLE", "Too many requests of this customer are waiting; try again.", {
            retryAfterSeconds: FULL_RETRY_AFTER_SECONDS,
          });
        }
        const poll = new LongPoll(deps, timeoutSeconds * 1_000, openResponses, gone());
        try {
          const query = { customerId, filter, from };
          const event = await firstEvent(deps, listReader(deps, request), query, poll);
          return event === null ? { data: null } : { rawData: event.bytes };
        } finally {
          release();
          poll.end();
        }
      },
    }),
  ];
}

async function positionOf(deps: Deps, customerId: CustomerId, after: string): Promise<number> {
  const event = await findEvent(deps.store.db, customerId, after);
  if (event !== null) return event.position;
  throw invalidField("after", `${after} is no event of this customer, or is no longer stored`);
}

interface EventQuery {
  customerId: CustomerId;
  filter: EventFilter;
  /** Position after which the search begins; null: at the first stored event. */
  from: number | null;
}

/** The first event that matches; null if none came until the poll ended. */
async function firstEvent(
  deps: With<"eventNotifier">,
  db: Store["db"],
  query: EventQuery,
  poll: LongPoll,
): Promise<PositionedEvent | null> {
  const { customerId } = query;
  const stopListening = deps.eventNotifier.listen(customerId, () => poll.wake());
  try {
    for (let { from } = query; ; ) {
      // Before the search: events committed during the search are searched again.
      const newest = await newestPosition(db, customerId);
      const found = await firstBehind(db, { ...query, from });
      if (found !== null || poll.isOver) return found;
      if (newest !== null && (from === null || newest > from)) from = newest;
      await poll.pause();
    }
  } finally {
    stopListening();
  }
}

/** Searches the stored events page by page; null if none matches. */
async function firstBehind(db: Store["db"], { customerId, filter, from }: EventQuery): Promise<PositionedEvent | null> {
  for (let behind = from; ; ) {
    const page = await pageOfEvents(db, customerId, filter, { order: "oldest", from: behind, limit: 1 });
    const [found] = page.records;
    if (found !== undefined) return found;
    if (page.next === null) return null;
    behind = page.next.from;
  }
}
