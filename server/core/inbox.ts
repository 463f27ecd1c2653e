/** The sandbox's built-in inbox: stores requests and chooses responses. No I/O, no clock; mutates only the given inbox. */

import type { InboxBehaviour, InboxRequest } from "../../sdk/wire.ts";
import { ERASED, mentionsAddress, type StoredEvent } from "./erasure.ts";

/** Requests that an inbox keeps. */
const INBOX_REQUESTS_MAX = 500;

/** The default behaviour: 200, at once. */
const INBOX_BEHAVIOUR: Readonly<InboxBehaviour> = { status: 200, delayMs: 0, failFirst: 0 };

/** One customer's inbox, in memory only. `openInbox` creates it, and only functions of this file change it. */
export interface InboxState {
  /** The present behaviour; `failFirst` counts down. */
  behaviour: InboxBehaviour;
  /** Oldest first. May hold twice the kept number before it is cut, so that receiving a request copies nothing. */
  kept: InboxRequest[];
}

/** A request to the inbox. `verified`: its signature is valid. */
export type ReceivedRequest = Omit<InboxRequest, "status">;

/** The response to a request: `status`, after `delayMs`. */
export interface InboxResponse {
  status: number;
  delayMs: number;
}

/** An empty inbox that responds with 200. */
export function openInbox(): InboxState {
  return { behaviour: { ...INBOX_BEHAVIOUR }, kept: [] };
}

/**
 * Stores `request` and chooses the response. A request without a valid signature gets 401 at once and does not count for
 * `failFirst`; the first `failFirst` requests get 503, the others `status`, both after `delayMs`.
 */
export function receiveInInbox(inbox: InboxState, request: ReceivedRequest): InboxResponse {
  const response = request.verified ? nextResponse(inbox) : { status: 401, delayMs: 0 };
  inbox.kept.push({ ...request, status: response.status });
  if (inbox.kept.length >= INBOX_REQUESTS_MAX * 2) inbox.kept = inbox.kept.slice(-INBOX_REQUESTS_MAX);
  return response;
}

function nextResponse(inbox: InboxState): InboxResponse {
  const { status, delayMs, failFirst } = inbox.behaviour;
  if (failFirst <= 0) return { status, delayMs };
  inbox.behaviour = { status, delayMs, failFirst: failFirst - 1 };
  return { status: 503, delayMs };
}

/** The last 500 requests, newest first. */
export function inboxRequests(inbox: InboxState): InboxRequest[] {
  return inbox.kept.slice(-INBOX_REQUESTS_MAX).reverse();
}

/** Replaces the behaviour. Omitted fields get their default, so that an empty change resets the inbox. */
export function setInboxBehaviour(inbox: InboxState, change: Partial<InboxBehaviour>): InboxBehaviour {
  inbox.behaviour = { ...INBOX_BEHAVIOUR, ...change };
  return inbox.behaviour;
}

/** The ids of the events that the requests say they bring, each once. */
export function eventsOfInbox(inbox: InboxState): string[] {
  return [...new Set(inbox.kept.flatMap((request) => eventIdOf(request) ?? []))];
}

/**
 * Gives requests the present bytes of their events if these were erased since. `stored` has those of the customer's events that are still
 * there. The bytes of an event change by an erasure only. Under another signature only the event of an erased person counts, since the
 * body may be anybody's.
 */
export function eraseInInbox(inbox: InboxState, stored: ReadonlyMap<string, StoredEvent>): void {
  inbox.kept = inbox.kept.map((request) => {
    const event = stored.get(eventIdOf(request) ?? "");
    if (event === undefined || event.bytes === request.body) return request;
    return request.verified || mentionsAddress(event, [ERASED]) ? { ...request, body: event.bytes } : request;
  });
}

/** The beginning of an envelope, as `makeEvent` writes it. */
const ENVELOPE = /^\{"id":"(evt_[^"]{1,100})"/;

function eventIdOf({ body }: InboxRequest): string | undefined {
  return ENVELOPE.exec(body)?.[1];
}

/** Removes every request; the behaviour stays. */
export function emptyInbox(inbox: InboxState): void {
  inbox.kept = [];
}
