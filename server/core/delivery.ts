/** Deliveries of one event to one address: which deliveries an event makes, and how each attempt changes them. Pure. */

import type { DeliveryStatus, EventType, Attempt as WireAttempt, Delivery as WireDelivery } from "../../sdk/wire.ts";
import type { Event } from "./event.ts";
import {
  type CustomerId,
  type DeliveryId,
  type EndpointId,
  type EventId,
  hashedId,
  idBeside,
  type MessageId,
  type ReplayId,
  timeOfId,
} from "./id.ts";
import { iso, isoOrNull } from "./instant.ts";
import { type HeadersOfEvent, unpackHeaders } from "./request-headers.ts";
import { nextRetryAt } from "./retry.ts";
import { type Endpoint, subscribes } from "./webhook.ts";

export interface Delivery {
  id: DeliveryId;
  version: number;
  customerId: CustomerId;
  eventId: EventId;
  eventType: EventType;
  messageId: MessageId | null;
  /** Null for a delivery to a `callbackUrl`. */
  endpointId: EndpointId | null;
  /** The address of the last attempt; before the first attempt, the address when the event happened. */
  url: string;
  /** The lane, whose deliveries share permits: an endpoint, or for a `callbackUrl` its customer and origin. */
  lane: string;
  /** Orders the first attempts of one message's events to one address. */
  sequence: number;
  status: DeliveryStatus;
  /** Ended attempts, including manual retries. */
  attemptCount: number;
  /** The newest attempts that ended, oldest first, at most `ATTEMPTS_KEPT_MAX`. */
  attempts: readonly Attempt[];
  /** Attempts of the schedule that ended: the index of the next delay. */
  retryCount: number;
  /** When the attempt in flight or the next one is due; null if there will be none. */
  dueAt: number | null;
  /** The attempt that is due or in flight is a manual retry, which does not change the schedule. */
  byHand: boolean;
  /** When the schedule continues after a manual retry. */
  resumeAt: number | null;
  /** How many manual retries were asked for so far: an attempt is followed by those that were asked for since it began. */
  retriesAsked: number;
  /** The replay that made it, or took it up last; null without one. */
  replayId: ReplayId | null;
  createdAt: number;
}

/** Attempts that a delivery keeps: at most 21 of the schedule (the first, and up to 20 retries), and manual retries. */
const ATTEMPTS_KEPT_MAX = 50;

/** An attempt that ended. */
export interface Attempt {
  at: number;
  /** How far the sandbox's clock was ahead of real time, in milliseconds; absent: it showed real time. */
  aheadMs?: number;
  status: number | null;
  durationMs: number;
  response: string | null;
  error: string | null;
  /** The seconds that a 429 or 503 asked to wait by `Retry-After`; absent: none. */
  retryAfterSeconds?: number;
  /** The headers of the request as `packHeaders` wrote them; absent: no request was sent. */
  headers?: string;
}

/** The lane of a `callbackUrl`: the customer's callbacks to its origin. */
function callbackLane(customerId: CustomerId, url: string): string {
  return `${customerId} ${URL.parse(url)?.origin ?? url}`;
}

/** The customer of a lane of callbacks; null for the lane of an endpoint, which is named by the endpoint's id. */
export function customerOfLane(lane: string): CustomerId | null {
  const end = lane.indexOf(" ");
  return end === -1 ? null : (lane.slice(0, end) as CustomerId);
}

/**
 * The deliveries that an event makes: one for each active endpoint that subscribes to it, and one for its callback unless
 * a subscribed endpoint has the same address. The same event always makes the same rows.
 */
export function deliveriesOf(event: Event, endpoints: readonly Endpoint[], callbackUrl: string | null): Delivery[] {
  const subscribed = endpoints.filter((endpoint) => subscribes(endpoint, event.type));
  const deliveries = subscribed.map((endpoint) => deliveryTo(event, endpoint, event.createdAt));
  const covered = subscribed.some((endpoint) => endpoint.url === callbackUrl);
  if (callbackUrl !== null && !covered) {
    const lane = callbackLane(event.customerId, callbackUrl);
    deliveries.push(newDelivery(event, { endpointId: null, url: callbackUrl, lane, replayId: null }, event.createdAt));
  }
  return deliveries;
}

/** The properties of an event that its deliveries have too. */
export type DeliveredEvent = Pick<Event, "id" | "customerId" | "type" | "messageId" | "sequence">;

/** The delivery of `event` to `endpoint`, whatever the endpoint subscribes to. A replay's delivery is distinct from the first one. */
export function deliveryTo(
  event: DeliveredEvent,
  endpoint: Pick<Endpoint, "id" | "url">,
  now: number,
  replayId: ReplayId | null = null,
): Delivery {
  return newDelivery(event, { endpointId: endpoint.id, url: endpoint.url, lane: endpoint.id, replayId }, now);
}

function newDelivery(
  event: DeliveredEvent,
  target: Pick<Delivery, "endpointId" | "url" | "lane" | "replayId">,
  now: number,
): Delivery {
  const { lane, url, replayId } = target;
  return {
    id:
      replayId === null
        ? idBeside("dlv", event.id, lane)
        : hashedId("dlv", timeOfId(replayId), event.id, lane, replayId),
    version: 1,
    customerId: event.customerId,
    eventId: event.id,
    eventType: event.type,
    messageId: event.messageId,
    endpointId: target.endpointId,
    url,
    lane,
    sequence: event.sequence,
    status: "pending",
    attemptCount: 0,
    attempts: [],
    retryCount: 0,
    dueAt: now,
    byHand: false,
    resumeAt: null,
    retriesAsked: 0,
    replayId,
    createdAt: now,
  };
}

/** The changes of a delivery that a replay takes up again: it is due at once, and its schedule begins anew. */
export function takenUp(replayId: ReplayId, now: number): Partial<Delivery> {
  return {
    status: "pending",
    dueAt: now,
    retryCount: 0,
    byHand: false,
    resumeAt: null,
    replayId,
  };
}

/** Whether the receiver took the event: it responded with 2xx. */
export function isSuccess({ status }: Pick<Attempt, "status">): boolean {
  return status !== null && status >= 200 && status < 300;
}

/** An attempt that has ended, and what its delivery becomes by it. */
export interface DeliveryAttempt {
  attempt: Attempt;
  /** The record that the attempt began from. */
  begun: Pick<Delivery, "attemptCount" | "byHand" | "resumeAt" | "retriesAsked">;
  /** When it ended, in the service's time. */
  endedAt: number;
  /** The jitter of the next delay, in [0, 1). */
  chance: number;
}

/**
 * The changes by an attempt of a delivery as it is now. A manual retry that was asked for during the attempt follows it at once, unless the
 * delivery was cancelled since.
 */
export function afterAttempt(
  delivery: Delivery,
  { attempt, begun, endedAt, chance }: DeliveryAttempt,
  schedule: readonly number[],
): Partial<Delivery> {
  const isRetryOwed = delivery.retriesAsked > begun.retriesAsked && delivery.dueAt !== null;
  // The retry by hand that the record tells of is the next attempt, not this one.
  const tried = isRetryOwed ? { ...delivery, byHand: begun.byHand, resumeAt: begun.resumeAt } : delivery;
  const next = putOff(afterScheduled(tried, isSuccess(attempt), schedule, endedAt, chance), attempt, endedAt);
  const attempts = [...delivery.attempts, attempt].slice(-ATTEMPTS_KEPT_MAX);
  const ended = { ...next, attempts, attemptCount: delivery.attemptCount + 1 };
  if (!isRetryOwed) return { ...ended, byHand: false, resumeAt: null };
  return { ...ended, byHand: true, resumeAt: next.dueAt, dueAt: endedAt };
}

/** Whether a delivery as it is now has the attempt: the reply to its end was lost, and the end was asked for again. */
export function hasAttempt(delivery: Delivery, { attempt, begun }: DeliveryAttempt): boolean {
  return delivery.attemptCount > begun.attemptCount && delivery.attempts.at(-1)?.at === attempt.at;
}

/** Puts the next attempt off to the time that the receiver asked for, if that is later. */
function putOff<Next extends Pick<Delivery, "dueAt">>(
  next: Next,
  { retryAfterSeconds }: Attempt,
  endedAt: number,
): Next {
  if (next.dueAt === null || retryAfterSeconds === undefined) return next;
  return { ...next, dueAt: Math.max(next.dueAt, endedAt + retryAfterSeconds * 1_000) };
}

function afterScheduled(
  delivery: Delivery,
  succeeded: boolean,
  schedule: readonly number[],
  endedAt: number,
  chance: number,
): Pick<Delivery, "status" | "dueAt" | "retryCount"> {
  const { status, retryCount } = delivery;
  if (succeeded) return { status: "succeeded", dueAt: null, retryCount };
  if (delivery.byHand) return { status, dueAt: delivery.resumeAt, retryCount };
  if (status !== "pending") return { status, dueAt: null, retryCount };
  const dueAt = nextRetryAt(schedule, retryCount, endedAt, chance);
  if (dueAt === null) return { status: "exhausted", dueAt, retryCount };
  return { status, dueAt, retryCount: retryCount + 1 };
}

/**
 * The delivery's changes when a manual retry is asked for: an attempt at once, or after the attempt in flight, which `afterAttempt` sees to.
 * A due delivery keeps its place, so that later events of its message stay behind it.
 */
export function retryByHand({ byHand, dueAt, resumeAt, retriesAsked }: Delivery, now: number): Partial<Delivery> {
  const isAskedAlready = byHand && dueAt !== null;
  return {
    retriesAsked: retriesAsked + 1,
    byHand: true,
    resumeAt: isAskedAlready ? resumeAt : dueAt,
    dueAt: Math.min(dueAt ?? now, now),
  };
}

/** Whether the next attempt of a due delivery was asked for, by a retry by hand or a test, and goes at once whatever its lane waits for. */
export function goesAtOnce({ byHand, eventType, attemptCount }: Delivery): boolean {
  return byHand || (eventType === "webhook.test" && attemptCount === 0);
}

/** The record as the API answers it. `correlationId`: of the event; null if that is no longer stored, and with it the headers of attempts. */
export function deliveryRecord(delivery: Delivery, correlationId: string | null): WireDelivery {
  const event = correlationId === null ? null : { eventId: delivery.eventId, correlationId };
  return {
    id: delivery.id,
    eventId: delivery.eventId,
    eventType: delivery.eventType,
    messageId: delivery.messageId,
    webhookId: delivery.endpointId,
    url: delivery.url,
    status: delivery.status,
    attempts: delivery.attempts.map((attempt) => attemptRecord(attempt, event)),
    nextAttemptAt: isoOrNull(delivery.dueAt),
    createdAt: iso(delivery.createdAt),
  };
}

function attemptRecord(attempt: Attempt, event: HeadersOfEvent | null): WireAttempt {
  const { headers } = attempt;
  return {
    at: iso(attempt.at),
    ...(attempt.aheadMs === undefined ? {} : { realAt: iso(attempt.at - attempt.aheadMs) }),
    status: attempt.status,
    durationMs: attempt.durationMs,
    response: attempt.response,
    error: attempt.error,
    retryAfterSeconds: attempt.retryAfterSeconds ?? null,
    requestHeaders: headers === undefined || event === null ? null : unpackHeaders(headers, event),
  };
}
