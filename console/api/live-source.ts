/** The reads of the live stream: its start, the stream itself, and the lists that have what it missed. */

import type { Tightbeam } from "../../sdk/client.ts";
import type { WireItem, WireStreamQuery } from "../../sdk/requests.ts";
import { BEFORE_ALL_EVENTS } from "../../sdk/stream.ts";
import type { Event, Message, Session } from "../../sdk/wire.ts";
import { connectSession } from "./client.ts";
import { inboxItems } from "./inbox-items.ts";
import type { LiveState } from "./live-notes.ts";

/** Records of each kind that are read from a list. */
const PAST_MAX = 50;
const RECONNECT_MS_MAX = 10_000;

/** The service, as the live stream needs it. */
export interface LiveSource {
  /** Id of the newest event; an id before all events if there is none. */
  newestEvent(): Promise<string>;
  /** The items after an event, as they happen. Continues after a cut; throws if it is refused. */
  stream(query: WireStreamQuery, onState: (state: LiveState) => void): AsyncIterable<WireItem>;
  /** The newest requests and deliveries, oldest first: after a cut the stream repeats events only. */
  readLists(): Promise<WireItem[]>;
  /** The newest records of all kinds, oldest first. */
  readPast(): Promise<WireItem[]>;
}

/** The service for a session; an admin's session acts for `customerId`. */
export function liveSource(session: Session, customerId: string | null, onSignedOut: () => void): LiveSource {
  const client = connectSession(session, customerId, { onSignedOut });
  const scope = session.scope === "admin" && customerId !== null ? { customerId } : {};
  const readLists = () => readNewest(client, scope);
  return {
    newestEvent: async () => (await client.events.list({ limit: 1 })).events[0]?.id ?? BEFORE_ALL_EVENTS,
    stream: (query, onState) => streamOf(session, customerId, onSignedOut, onState).wire.stream(query),
    readLists,
    readPast: async () => {
      const [lists, { events }, { messages }, received] = await Promise.all([
        readLists(),
        client.events.list({ limit: PAST_MAX }),
        client.messages.list({ limit: PAST_MAX }),
        session.isInboxOn ? readInbox(client) : [],
      ]);
      return [
        ...lists,
        ...received,
        ...events.map((event): WireItem => ({ kind: "event", event })).toReversed(),
        ...messages.map((message) => wireMessage(message, events)).toReversed(),
      ];
    },
  };
}

/** A client that tells whether its stream is open. */
function streamOf(
  session: Session,
  customerId: string | null,
  onSignedOut: () => void,
  onState: (state: LiveState) => void,
): Tightbeam {
  return connectSession(session, customerId, {
    onSignedOut,
    fetch: async (url, init) => {
      const response = await fetch(url, init);
      if (response.headers.get("Content-Type")?.startsWith("text/event-stream")) onState("live");
      return response;
    },
    wait: (delayMs, _why, ended) => {
      onState("reconnecting");
      return pause(Math.min(delayMs, RECONNECT_MS_MAX), ended);
    },
  });
}

async function readNewest(
  { requests, webhooks }: Tightbeam,
  scope: { customerId?: string | undefined },
): Promise<WireItem[]> {
  const [log, sent] = await Promise.all([
    requests.list({ ...scope, limit: PAST_MAX }),
    webhooks.deliveries.list({ limit: PAST_MAX }),
  ]);
  return [
    ...log.requests
      .filter((request) => request.customerId !== null)
      .map((request): WireItem => ({ kind: "request", request })),
    ...sent.deliveries.map((delivery): WireItem => ({ kind: "delivery", delivery })),
  ].toReversed();
}

/** The newest requests of the sandbox's inbox; none if they cannot be read. */
async function readInbox({ sandbox }: Tightbeam): Promise<WireItem[]> {
  const inbox = await sandbox.inbox.get().catch(() => null);
  return inbox === null ? [] : inboxItems({ ...inbox, requests: inbox.requests.slice(0, PAST_MAX) });
}

/** A message of a list, with the correlation id that its events have. */
function wireMessage({ id, status, timeline }: Message, events: readonly Event[]): WireItem {
  const data = events
    .map((event): Record<string, unknown> => ({ ...event.data }))
    .find(({ messageId }) => messageId === id);
  return { kind: "message", message: { id, status, timeline, correlationId: String(data?.correlationId ?? id) } };
}

/** Waits, but not while the network has just come back or somebody looks at the page again. Rejects if it is aborted. */
export function pause(delayMs: number, signal?: AbortSignal): Promise<void> {
  return new Promise((resolve, reject) => {
    const ended = new AbortController();
    const end = () => {
      clearTimeout(timer);
      ended.abort();
      if (signal?.aborted) reject(signal.reason);
      else resolve();
    };
    const timer = setTimeout(end, delayMs);
    if (signal?.aborted) return end();
    const { signal: listening } = ended;
    signal?.addEventListener("abort", end, { signal: listening });
    globalThis.addEventListener?.("online", end, { signal: listening });
    globalThis.document?.addEventListener("visibilitychange", () => document.visibilityState === "visible" && end(), {
      signal: listening,
    });
  });
}
