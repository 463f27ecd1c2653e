/** The requests of the sandbox's inbox as deliveries of the Wire, from before the page was opened: no list has those. Pure. */

import type { WireItem } from "../../sdk/requests.ts";
import type { Attempt, Delivery, Event, Inbox, InboxRequest } from "../../sdk/wire.ts";

const INBOX_PATH = "/sandbox/inbox/";

/** The id of a delivery that is known by its event only. */
export function inboxDeliveryId(eventId: string): string {
  return `inbox ${eventId}`;
}

/** Whether the receiver is the inbox itself, not an endpoint that somebody made at its address. */
export function isToInbox({ url }: Pick<Delivery, "url">): boolean {
  return url.startsWith(INBOX_PATH);
}

/**
 * A delivery for each event that the inbox received, oldest first. The inbox knows neither the delivery's id, nor how long an attempt took, nor
 * when the next one is due: the stream tells them with the next attempt.
 */
export function inboxItems({ url, requests }: Pick<Inbox, "url" | "requests">): WireItem[] {
  const deliveries = new Map<string, Delivery>();
  for (const request of requests.toReversed()) {
    const event = request.verified ? eventOf(request) : null;
    if (event === null) continue;
    const before = deliveries.get(event.id)?.attempts ?? [];
    deliveries.set(event.id, deliveryOf(event, new URL(url).pathname, [...before, attemptOf(request)]));
  }
  return [...deliveries.values()].map((delivery) => ({ kind: "delivery", delivery }));
}

function deliveryOf(event: Event, url: string, attempts: Attempt[]): Delivery {
  const { id, type, timestamp, data } = event;
  const last = attempts.at(-1)?.status ?? 0;
  return {
    id: inboxDeliveryId(id),
    eventId: id,
    eventType: type,
    messageId: "messageId" in data && typeof data.messageId === "string" ? data.messageId : null,
    webhookId: null,
    url,
    status: last >= 200 && last < 300 ? "succeeded" : "pending",
    attempts,
    nextAttemptAt: null,
    createdAt: timestamp,
  };
}

function attemptOf({ receivedAt, realAt, status }: InboxRequest): Attempt {
  return {
    at: receivedAt,
    ...(realAt === undefined ? {} : { realAt }),
    status,
    durationMs: 0,
    response: null,
    error: null,
    retryAfterSeconds: null,
    requestHeaders: null,
  };
}

/** The event of a request. Null if the body is no event: anybody who knows the secret may write to the inbox. */
export function eventOf({ body }: Pick<InboxRequest, "body">): Event | null {
  try {
    const event: Partial<Event> | null = JSON.parse(body);
    const isEvent = typeof event?.id === "string" && typeof event.type === "string" && typeof event.data === "object";
    return isEvent && event.data !== null ? (event as Event) : null;
  } catch {
    return null;
  }
}
