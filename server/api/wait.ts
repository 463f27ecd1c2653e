/** `GET /v1/sandbox/wait`: the first stored event that matches, as soon as there is one. */

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

/** Requests that wait at once; a customer alone may have 800 of them. */
const WAITS_MAX = 1_000;
const SHARE_OF_FREE = 4;
const FULL_RETRY_AFTER_SECONDS = 1;

export function waitRoutes(deps: With<"configCache" | "eventNotifier">, lasting: OpenResponses): Route[] {
  const permits = new FairSemaphore({ permitsMax: WAITS_MAX, shareOfFree: SHARE_OF_FREE });
  return [
    route({
      method: "GET",
      path: "/v1/sandbox/wait",
      scope: "messages",
      query: WaitQuery,
      async handle(call) {
        const { caller, query, onGone } = call;
        const { customerId } = caller;
        await requireSandbox(deps, customerId);
        const { after, timeoutSeconds, ...filter } = query;
        const from = after === undefined ? null : await positionOf(deps, customerId, after);
        const release = permits.tryAcquire(customerId);
        if (release === null) {
          throw new ApiError("SERVICE_UNAVAILABLE", "Too many requests of this customer wait already; try again.", {
            retryAfterSeconds: FULL_RETRY_AFTER_SECONDS,
          });
        }
        const patience = new LongPoll(deps, timeoutSeconds * 1_000, lasting, onGone);
        try {
          const wanted = { customerId, filter, from };
          const event = await firstEvent(deps, listReader(deps, call), wanted, patience);
          return event === null ? { data: null } : { rawData: event.bytes };
        } finally {
          release();
          patience.end();
        }
      },
    }),
  ];
}

async function positionOf(deps: Deps, customerId: CustomerId, after: string): Promise<number> {
  const event = await findEvent(deps.store.db, customerId, after);
  if (event !== null) return event.position;
  throw invalidField("after", `${after} is no event of this customer, or it is no longer kept`);
}

interface Wanted {
  customerId: CustomerId;
  filter: EventFilter;
  /** A position, exclusive; null: from the first event that is kept. */
  from: number | null;
}

/** The first event that matches; null when there was none until the patience was over. */
async function firstEvent(
  deps: With<"eventNotifier">,
  db: Store["db"],
  wanted: Wanted,
  patience: LongPoll,
): Promise<PositionedEvent | null> {
  const { customerId } = wanted;
  const stopListening = deps.eventNotifier.listen(customerId, () => patience.wake());
  try {
    for (let { from } = wanted; ; ) {
      // Read first: what is committed between the two is looked through again.
      const newest = await newestPosition(db, customerId);
      const found = await firstBehind(db, { ...wanted, from });
      if (found !== null || patience.isOver) return found;
      if (newest !== null && (from === null || newest > from)) from = newest;
      await patience.pause();
    }
  } finally {
    stopListening();
  }
}

/** The first event behind a position that matches, page by page; null when none of those there are does. */
async function firstBehind(db: Store["db"], { customerId, filter, from }: Wanted): Promise<PositionedEvent | null> {
  for (let behind = from; ; ) {
    const page = await pageOfEvents(db, customerId, filter, { order: "oldest", from: behind, limit: 1 });
    const [found] = page.records;
    if (found !== undefined) return found;
    if (page.next === null) return null;
    behind = page.next.from;
  }
}
