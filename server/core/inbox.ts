/** The sandbox's built-in inbox: what it keeps and how it answers. No I/O, no clock; changes only the inbox it is given. */

import type { InboxBehaviour, InboxRequest } from "../../sdk/wire.ts";

/** Requests that an inbox keeps. */
const INBOX_REQUESTS_MAX = 500;

/** How an inbox answers until it is told otherwise: 200, at once. */
const INBOX_BEHAVIOUR: Readonly<InboxBehaviour> = { status: 200, delayMs: 0, failFirst: 0 };

/** One customer's inbox, in memory only. Made by `openInbox`, changed only by the functions of this file. */
export interface InboxState {
  /** As it now is: `failFirst` is what is left of it. */
  behaviour: InboxBehaviour;
  /** Oldest first, at most twice as many as are kept: cut in one go, so that receiving costs no copying. */
  kept: InboxRequest[];
}

/** A request as the inbox's address received it. `verified`: its signature was right. */
export type ReceivedRequest = Omit<InboxRequest, "status">;

/** How a request is to be answered: with `status`, after `delayMs`. */
export interface InboxResponse {
  status: number;
  delayMs: number;
}

/** An empty inbox that answers 200. */
export function openInbox(): InboxState {
  return { behaviour: { ...INBOX_BEHAVIOUR }, kept: [] };
}

/**
 * Keeps `request` and says how to answer it. What is not rightly signed gets 401 at once and uses up none of `failFirst`;
 * then the first `failFirst` requests get 503, and the others `status`, both after `delayMs`.
 */
export function receiveInInbox(inbox: InboxState, request: ReceivedRequest): InboxResponse {
  const answer = request.verified ? nextAnswer(inbox) : { status: 401, delayMs: 0 };
  inbox.kept.push({ ...request, status: answer.status });
  if (inbox.kept.length >= INBOX_REQUESTS_MAX * 2) inbox.kept = inbox.kept.slice(-INBOX_REQUESTS_MAX);
  return answer;
}

function nextAnswer(inbox: InboxState): InboxResponse {
  const { status, delayMs, failFirst } = inbox.behaviour;
  if (failFirst <= 0) return { status, delayMs };
  inbox.behaviour = { status, delayMs, failFirst: failFirst - 1 };
  return { status: 503, delayMs };
}

/** The last 500 requests, newest first. */
export function inboxRequests(inbox: InboxState): InboxRequest[] {
  return inbox.kept.slice(-INBOX_REQUESTS_MAX).reverse();
}

/** Replaces the behaviour: what `change` leaves out is as in a new inbox, so that an empty change resets it. */
export function setInboxBehaviour(inbox: InboxState, change: Partial<InboxBehaviour>): InboxBehaviour {
  inbox.behaviour = { ...INBOX_BEHAVIOUR, ...change };
  return inbox.behaviour;
}

/** Forgets every request; the behaviour stays as it is. */
export function emptyInbox(inbox: InboxState): void {
  inbox.kept = [];
}
