/** Replays stored events of a period to one endpoint, as new deliveries, page by page. */

import type { EventType } from "../../../sdk/wire.ts";
import { type Delivery, deliveryTo } from "../../core/delivery.ts";
import { ApiError } from "../../core/error.ts";
import type { Event } from "../../core/event.ts";
import type { CustomerId, EndpointId } from "../../core/id.ts";
import { type Endpoint, subscribes } from "../../core/webhook.ts";
import { findExisting } from "../../store/deliveries.ts";
import { listEvents, newestPosition } from "../../store/events.ts";
import { findPositionAt, findPositionBefore } from "../../store/replays.ts";
import type { Operation } from "../../store/store.ts";
import { findWebhook } from "../../store/webhooks.ts";
import { decide } from "../commit.ts";
import type { Deps } from "../deps.ts";
import type { With } from "../engine-deps.ts";
import { type IdempotentRequest, idempotent } from "../idempotency.ts";
import { announceDeliveries } from "./announce-deliveries.ts";
import { requireActive } from "./endpoints.ts";

/** Events per transaction: a larger one would delay other commits. */
const PAGE_EVENTS = 500;
/** Largest difference between the time in an event's id and the time of its position. */
const SKEW_MS = 60_000;
/** Attempts at a page while another request with the same key creates the same deliveries. */
const ROUNDS_MAX = 5;

/** The events to replay: from `since` to before `until` (epoch milliseconds), of `types` or of all types. */
export interface ReplayRequest {
  endpointId: string;
  since: number;
  until: number | null;
  types: readonly EventType[] | null;
}

/** The start of a replay, stored with its idempotency key, so that a repeat creates exactly the same deliveries. */
interface ReplayPlan {
  endpointId: EndpointId;
  url: string;
  events: Endpoint["events"];
  since: number;
  until: number | null;
  types: readonly EventType[] | null;
  /** Event positions of the replay: above `after`, up to `upTo`. */
  after: number;
  upTo: number;
  now: number;
  salt: string;
}

/**
 * Makes a delivery of each event that the endpoint subscribes to and the wish names; test events are left out. All
 * are on disk when it answers how many there are. A repeat finishes what a crash cut short, and doubles nothing.
 * Throws 404 `WEBHOOK_NOT_FOUND`, and 400 `INVALID_STATUS` when the endpoint is paused.
 */
export async function replay(
  deps: With<"attempted">,
  request: IdempotentRequest,
  customerId: CustomerId,
  wish: ReplayRequest,
): Promise<{ repeated: boolean; deliveries: number }> {
  const begun = await idempotent<ReplayPlan>(deps, request, async () => {
    const plan = await planOf(deps, customerId, wish);
    return { transaction: null, value: plan, result: JSON.stringify(plan) };
  });
  const plan: ReplayPlan = begun.repeated ? JSON.parse(begun.firstResult) : begun.value;
  return { repeated: begun.repeated, deliveries: await carryOut(deps, customerId, plan) };
}

async function planOf(deps: Deps, customerId: CustomerId, wish: ReplayRequest): Promise<ReplayPlan> {
  const { clock, store } = deps;
  const endpoint = await requireActive(deps, customerId, wish.endpointId);
  // Ids hold real time, records the service's time, which is never behind it.
  const shiftMs = clock.now() - clock.real();
  const after = await findPositionBefore(store.db, wish.since - shiftMs - SKEW_MS);
  const last = (await newestPosition(store.db, customerId)) ?? 0;
  const end = wish.until === null ? null : await findPositionAt(store.db, wish.until + SKEW_MS);
  return {
    endpointId: endpoint.id,
    url: endpoint.url,
    events: endpoint.events,
    since: wish.since,
    until: wish.until,
    types: wish.types,
    after,
    upTo: end === null ? last : Math.min(last, end),
    now: clock.now(),
    salt: deps.newId("replay"),
  };
}

/** Creates the missing deliveries of the plan. Ends early if the endpoint is paused or deleted. */
async function carryOut(deps: With<"attempted">, customerId: CustomerId, plan: ReplayPlan): Promise<number> {
  const { db } = deps.store;
  let from = plan.after;
  let deliveries = 0;
  while (from < plan.upTo) {
    const endpoint = await findWebhook(db, customerId, plan.endpointId);
    if (!endpoint?.active) break;
    const page = await listEvents(db, customerId, {}, { order: "oldest", from, limit: PAGE_EVENTS });
    const last = page.at(-1);
    if (last === undefined) break;
    from = last.position;
    const wanted = page.filter((event) => event.position <= plan.upTo && isWanted(plan, event));
    // A delivery's id contains the address of the plan; an attempt uses the endpoint's own.
    const made = wanted.map((event) => deliveryTo(event, { ...endpoint, url: plan.url }, plan.now, plan.salt));
    if (await insertMissing(deps, customerId, made)) {
      deps.wake.deliveries([endpoint.id]);
      const ids = made.map(({ id }) => id);
      await announceDeliveries(deps, customerId, ids);
    }
    deliveries += made.length;
  }
  return deliveries;
}

function isWanted(plan: ReplayPlan, event: Event): boolean {
  if (event.createdAt < plan.since || (plan.until !== null && event.createdAt >= plan.until)) return false;
  if (event.type === "webhook.test" || !subscribes({ active: true, events: plan.events }, event.type)) return false;
  return plan.types === null || plan.types.includes(event.type);
}

/** Inserts the missing deliveries in one transaction. Returns whether any was missing. */
async function insertMissing(deps: Deps, customerId: CustomerId, deliveries: readonly Delivery[]): Promise<boolean> {
  const ids = deliveries.map(({ id }) => id);
  for (let round = 0; round < ROUNDS_MAX; round += 1) {
    const decided = await decide(deps, async () => {
      const existing = await findExisting(deps.store.db, customerId, ids);
      const transaction = deliveries
        .filter(({ id }) => !existing.has(id))
        .map((record): Operation => ({ op: "insertUnique", table: "deliveries", record }));
      return { transaction: transaction.length === 0 ? null : transaction, value: transaction.length > 0 };
    });
    if (!decided.taken) return decided.value;
  }
  throw new ApiError("SERVICE_UNAVAILABLE", "This replay is being made by another request; try again.");
}
