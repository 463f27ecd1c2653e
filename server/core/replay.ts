/** A replay: the events of a period are sent to one endpoint again, page by page. Decides which deliveries a page makes. Pure. */

import type { EventType, ReplayStatus, Replay as WireReplay } from "../../sdk/wire.ts";
import type { DeliveredEvent, Delivery } from "./delivery.ts";
import type { Event } from "./event.ts";
import type { CustomerId, EndpointId, ReplayId } from "./id.ts";
import { iso, isoOrNull } from "./instant.ts";
import { type Endpoint, subscribes } from "./webhook.ts";

export interface Replay {
  id: ReplayId;
  version: number;
  customerId: CustomerId;
  /** An endpoint has one replay: the last one. */
  endpointId: EndpointId;
  status: ReplayStatus;
  /** The period of the events (epoch milliseconds): from `since` to before `until`; null: to the start of the replay. */
  since: number;
  until: number | null;
  /** Null: of all types. */
  types: EventType[] | null;
  /** Whether only events are taken that the endpoint has not answered with 2xx. */
  onlyFailed: boolean;
  /** Events up to this position have been replayed. */
  position: number;
  /** Events up to this position are replayed. */
  eventsUntil: number;
  /** How many deliveries were expected at the start; null if counting them took too long. */
  deliveries: number | null;
  /** How many deliveries were made or taken up so far. */
  made: number;
  startedAt: number;
  /** When all were made, or the replay was stopped. */
  endedAt: number | null;
}

/** An event as a replay reads it. */
export type ReplayedEvent = DeliveredEvent & Pick<Event, "createdAt">;

/** A delivery that the endpoint has of an event. */
export type StandingDelivery = Pick<Delivery, "id" | "version" | "eventId" | "status" | "attemptCount">;

/** The work of a page: new deliveries of `events`, and deliveries that exist and are taken up again. */
export interface ReplayPage {
  events: ReplayedEvent[];
  takenUp: StandingDelivery[];
}

/** Whether the replay takes an event, as far as the event and its endpoint tell. Test events are left out. */
export function takes(replay: Replay, endpoint: Endpoint, event: ReplayedEvent): boolean {
  const { since, until, types, onlyFailed } = replay;
  if (event.createdAt < since) return false;
  if (until !== null && event.createdAt >= until) return false;
  // Before the endpoint existed it should not have had anything.
  if (onlyFailed && event.createdAt < endpoint.createdAt) return false;
  if (event.type === "webhook.test" || !subscribes({ active: true, events: endpoint.events }, event.type)) return false;
  return types === null || types.includes(event.type);
}

/**
 * The page of a replay of failures: of events that the endpoint has not answered with 2xx. One with deliveries gets no new one: of those that failed, were given up or
 * cancelled, the newest is taken up again. An event whose delivery is still to be tried for the first time is left to that.
 */
export function pageOfFailed(events: readonly ReplayedEvent[], deliveries: readonly StandingDelivery[]): ReplayPage {
  const page: ReplayPage = { events: [], takenUp: [] };
  const standing = Map.groupBy(deliveries, ({ eventId }) => eventId);
  for (const event of events) {
    const own = standing.get(event.id);
    if (own === undefined) page.events.push(event);
    else if (!own.some(({ status, attemptCount }) => status === "succeeded" || isUntried(status, attemptCount)))
      page.takenUp.push(own.reduce((newest, one) => (one.id > newest.id ? one : newest)));
  }
  return page;
}

function isUntried(status: Delivery["status"], attemptCount: number): boolean {
  return status === "pending" && attemptCount === 0;
}

/** How many of a replay's deliveries have ended, by how they ended. */
export interface ReplayTally {
  succeeded: number;
  /** Exhausted or cancelled. */
  failed: number;
}

/** The record as the API answers it. */
export function replayRecord(replay: Replay, { succeeded, failed }: ReplayTally): WireReplay {
  return {
    id: replay.id,
    status: replay.status,
    since: iso(replay.since),
    until: isoOrNull(replay.until),
    types: replay.types,
    only: replay.onlyFailed ? "failed" : null,
    deliveries: replay.deliveries,
    made: replay.made,
    succeeded,
    failed,
    startedAt: iso(replay.startedAt),
    endedAt: isoOrNull(replay.endedAt),
  };
}
