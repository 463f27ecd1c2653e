/** Routes of events: the list, one event, and the live stream, which continues after a lost connection. */

import { type CallOptions, type Page, pages, segment } from "./paging.ts";
import { anyOf, type Connection } from "./request.ts";
import { BEFORE_ALL_EVENTS, readStream } from "./stream.ts";
import type { Event, EventList, EventType } from "./wire.ts";

/** Filters of the event list; with `after`, an event id, the list goes oldest first from there. */
export interface EventQuery<Type extends EventType = EventType> extends Page {
  type?: Type | undefined;
  messageId?: string | undefined;
  after?: string | undefined;
}

/** A page of events; of one type if the query names it. */
export interface EventPage<Type extends EventType = EventType> extends Omit<EventList, "events"> {
  events: Event<Type>[];
}

/** Filters of the stream, and its start. */
export interface StreamQuery<Type extends EventType = EventType> {
  /** Default: all types. */
  events?: readonly Type[] | undefined;
  messageId?: string | undefined;
  /** Id of the last event that was handled: the stream continues after it. Default: the newest event. */
  lastEventId?: string | undefined;
  /** Ends the stream; the iteration then throws its reason. */
  signal?: AbortSignal | undefined;
  /** Called if the service no longer keeps `lastEventId`: events between it and the oldest kept event were missed. */
  onGap?: (() => void) | undefined;
}

/** The routes under `/v1/events`. */
export function eventRoutes(connection: Connection) {
  const { request } = connection;
  const list = <Type extends EventType = EventType>(query?: EventQuery<Type>, options?: CallOptions) =>
    request<EventPage<Type>>("GET", "/v1/events", { ...options, query });
  return {
    /** List events, or follow them live. Lists events newest first, or with `after` oldest first. */
    list,
    /** Iterates over every event that matches, and requests page after page. */
    listAll: <Type extends EventType = EventType>(query: EventQuery<Type> = {}, options?: CallOptions) =>
      pages(list<Type>, query, options, (page) => page.events),
    /** Get an event. Returns the envelope as it was delivered. */
    get: (id: string, options?: CallOptions) => request<Event>("GET", `/v1/events/${segment(id)}`, options),
    /** Iterates over events as they happen, each once and in order. Reconnects after a lost connection and continues. */
    stream: <Type extends EventType = EventType>(
      query: StreamQuery<Type> = {},
      options?: Pick<CallOptions, "headers" | "signal">,
    ) => stream(connection, withOptions(connection, query, options)) as AsyncGenerator<Event<Type>, void, undefined>,
  };
}

/** The options of a stream, with the headers of its requests. */
interface StreamCall extends StreamQuery {
  headers?: CallOptions["headers"];
}

function withOptions(
  connection: Connection,
  query: StreamQuery,
  { signal, headers }: Pick<CallOptions, "headers" | "signal"> = {},
): StreamCall {
  return { ...query, signal: anyOf([connection.signal, query.signal, signal]), headers };
}

/** The id of the newest event. A stream after it misses nothing, even if the connection breaks before the first event. */
export async function newestId(
  { request }: Connection,
  { signal, headers }: Pick<StreamCall, "signal" | "headers">,
): Promise<string> {
  const { events } = await request<EventList>("GET", "/v1/events", { query: { limit: 1 }, signal, headers });
  return events[0]?.id ?? BEFORE_ALL_EVENTS;
}

async function* stream(connection: Connection, query: StreamCall): AsyncGenerator<Event, void, undefined> {
  const { messageId, signal, headers, onGap } = query;
  const lastEventId = query.lastEventId ?? (await newestId(connection, query));
  const events = query.events === undefined ? "*" : query.events.join(",");
  const call = { path: "/v1/events", query: { events, messageId }, lastEventId, signal, headers, onGap };
  for await (const { data } of readStream(connection, call)) yield JSON.parse(data) as Event;
}
