/** Routes of events: the list, one event, and the live stream, which continues after a lost connection. */

import { TightbeamError } from "./errors.ts";
import { type CallOptions, type Page, pages, segment } from "./paging.ts";
import { anyOf, type Connection } from "./request.ts";
import { isAbsence } from "./retry.ts";
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

/** The service sends a comment every 15 s; a stream without data for this long is dead. */
const SILENCE_MS_MAX = 45_000;
const RECONNECT_MS = 1_000;
const RECONNECT_MS_MAX = 30_000;

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

/** An id before every other: a stream after it begins with the first event, and reports no gap. */
export const BEFORE_ALL_EVENTS = "evt_00000000-0000-7000-8000-000000000000";

/** The id of the newest event. A stream after it misses nothing, even if the connection breaks before the first event. */
async function newestId({ request }: Connection, { signal, headers }: StreamCall): Promise<string> {
  const { events } = await request<EventList>("GET", "/v1/events", { query: { limit: 1 }, signal, headers });
  return events[0]?.id ?? BEFORE_ALL_EVENTS;
}

/** One item of the stream: an event, or the note that events were missed. */
type StreamItem = { event: Event } | { gap: true };

async function* stream(connection: Connection, query: StreamCall): AsyncGenerator<Event, void, undefined> {
  let lastEventId = query.lastEventId ?? (await newestId(connection, query));
  for (let failures = 0; ; ) {
    const stop = new AbortController();
    try {
      for await (const item of connected(connection, query, lastEventId, stop)) {
        failures = 0;
        if ("gap" in item) {
          if (lastEventId !== BEFORE_ALL_EVENTS) query.onGap?.();
        } else if (item.event.id !== lastEventId) {
          lastEventId = item.event.id;
          yield item.event;
        }
      }
    } catch (error) {
      query.signal?.throwIfAborted();
      if (isFinal(error, connection.hasResponded())) throw error;
      await connection.wait(delayMs(error, failures), asError(error), query.signal);
      failures += 1;
      continue;
    } finally {
      stop.abort();
    }
    await connection.wait(delayMs(null, failures), asError("the stream ended"), query.signal);
    failures += 1;
  }
}

/** The items of one connection, until it ends or is silent for too long. */
async function* connected(
  connection: Connection,
  query: StreamCall,
  lastEventId: string,
  stop: AbortController,
): AsyncGenerator<StreamItem, void, undefined> {
  const signal = AbortSignal.any(query.signal === undefined ? [stop.signal] : [query.signal, stop.signal]);
  const events = query.events === undefined ? "*" : query.events.join(",");
  let silence = setTimeout(() => stop.abort(), SILENCE_MS_MAX);
  try {
    const filters = { events, messageId: query.messageId };
    const response = await connection.openStream("/v1/events", {
      query: filters,
      lastEventId,
      signal,
      headers: query.headers,
    });
    for await (const frame of framesOf(response)) {
      clearTimeout(silence);
      silence = setTimeout(() => stop.abort(), SILENCE_MS_MAX);
      const item = parse(frame);
      if (item !== null) yield item;
    }
  } finally {
    clearTimeout(silence);
  }
}

/** The frames of a stream, which empty lines separate. */
async function* framesOf(response: Response): AsyncGenerator<string, void, undefined> {
  if (response.body === null) return;
  const reader = response.body.getReader();
  const decoder = new TextDecoder();
  try {
    for (let rest = ""; ; ) {
      const { done, value } = await reader.read();
      if (done) return;
      const frames = (rest + decoder.decode(value, { stream: true })).split(/\r?\n\r?\n/);
      rest = frames.pop() ?? "";
      yield* frames;
    }
  } finally {
    await reader.cancel().catch(() => {});
  }
}

/** The item in a frame; null for a keep-alive comment. */
function parse(frame: string): StreamItem | null {
  const lines = frame.split(/\r?\n/);
  if (lines.some((line) => line === ": gap")) return { gap: true };
  const data = lines.filter((line) => line.startsWith("data:")).map((line) => line.slice("data:".length).trimStart());
  return data.length === 0 ? null : { event: JSON.parse(data.join("\n")) as Event };
}

/** Whether a retry would fail alike: a bad key, a bad filter, a server that never responded. */
function isFinal(error: unknown, hasResponded: boolean): boolean {
  if (!(error instanceof TightbeamError)) return false;
  if (isAbsence(error) && !hasResponded) return true;
  return error.status >= 400 && error.status < 500 && error.status !== 429 && error.status !== 408;
}

function delayMs(error: unknown, failures: number): number {
  const asked = error instanceof TightbeamError ? error.retryAfterSeconds : null;
  return asked === null ? Math.min(RECONNECT_MS * 2 ** failures, RECONNECT_MS_MAX) : asked * 1_000;
}

function asError(cause: unknown): TightbeamError {
  if (cause instanceof TightbeamError) return cause;
  return new TightbeamError("CONNECTION_FAILED", "The stream of events ended.", { cause });
}
