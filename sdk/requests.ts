/** Routes of the request log, and the live stream of the Wire. */

import { newestId } from "./events.ts";
import { type CallOptions, type Page, pages, segment } from "./paging.ts";
import { anyOf, type Connection } from "./request.ts";
import { readStream, type StreamFrame } from "./stream.ts";
import type {
  Delivery,
  ErrorCode,
  Event,
  LoggedExchange,
  LoggedRequest,
  LoggedRequestList,
  RequestErrors,
  RequestMethod,
  WireMessage,
} from "./wire.ts";

/** The requests of the log that are asked for; only an admin key may name a key or a customer. */
interface LogScope {
  keyId?: string | undefined;
  customerId?: string | undefined;
  since?: string | undefined;
  until?: string | undefined;
}

/** Filters of the request log; with `after`, a request id, the list goes oldest first from there. */
export interface RequestQuery extends Page, LogScope {
  after?: string | undefined;
  /** A status or a class: `404`, `4xx`. */
  status?: string | undefined;
  method?: RequestMethod | undefined;
  path?: string | undefined;
  code?: ErrorCode | undefined;
  correlationId?: string | undefined;
  messageId?: string | undefined;
}

/** The routes under `/v1/requests`. */
export function requestRoutes({ request }: Connection) {
  const list = (query?: RequestQuery, options?: CallOptions) =>
    request<LoggedRequestList>("GET", "/v1/requests", { ...options, query });
  return {
    /** List requests. Lists requests newest first, or with `after` oldest first, without bodies. */
    list,
    /** Iterates over every request that matches, and requests page after page. */
    listAll: (query: RequestQuery = {}, options?: CallOptions): AsyncGenerator<LoggedRequest, void, undefined> =>
      pages(list, query, options, (page) => page.requests),
    /**
     * Count the errors in the request log. Groups refused requests by code, method, route and status, the largest group
     * first.
     */
    errors: (query?: LogScope, options?: CallOptions) =>
      request<RequestErrors>("GET", "/v1/requests/errors", { ...options, query }),
    /** Get a request. Returns a request with its bodies, in which secrets are masked. */
    get: (id: string, options?: CallOptions) => request<LoggedExchange>("GET", `/v1/requests/${segment(id)}`, options),
  };
}

/** An item of the Wire. */
export type WireItem =
  | { kind: "request"; request: LoggedRequest }
  | { kind: "event"; event: Event }
  | { kind: "delivery"; delivery: Delivery }
  | { kind: "message"; message: WireMessage };

/** The start of the Wire's stream, and its filter. */
export interface WireStreamQuery {
  /** Only this message, its events and deliveries, and requests about it. */
  messageId?: string | undefined;
  /** Id of the last event that was handled: events continue after it. Default: what happens from now on. */
  lastEventId?: string | undefined;
  /** Ends the stream; the iteration then throws its reason. */
  signal?: AbortSignal | undefined;
  /** Called if the service no longer keeps `lastEventId`: events were missed. */
  onGap?: (() => void) | undefined;
  /** Called after a lost connection was restored: requests and deliveries were missed, and their lists have them. */
  onReconnect?: (() => void) | undefined;
}

/** The route `/v1/wire`. */
export function wireRoutes(connection: Connection) {
  return {
    /**
     * Follow requests, events and deliveries live. Iterates over them as they happen. Reconnects after a lost connection: no event
     * is missed or repeated.
     */
    stream: (query: WireStreamQuery = {}, options: Pick<CallOptions, "headers" | "signal"> = {}) =>
      stream(connection, query, options),
  };
}

async function* stream(
  connection: Connection,
  { messageId, lastEventId, signal, onGap, onReconnect }: WireStreamQuery,
  options: Pick<CallOptions, "headers" | "signal">,
): AsyncGenerator<WireItem, void, undefined> {
  const ends = anyOf([connection.signal, signal, options.signal]);
  const { headers } = options;
  const start = lastEventId ?? (await newestId(connection, { signal: ends, headers }));
  const call = { path: "/v1/wire", query: { messageId }, lastEventId: start, signal: ends, headers };
  for await (const frame of readStream(connection, { ...call, onGap, onReconnect })) {
    const item = itemOf(frame);
    if (item !== null) yield item;
  }
}

/** Null for a kind that a later version of the service added. */
function itemOf({ name, data }: StreamFrame): WireItem | null {
  switch (name) {
    case "request":
      return { kind: "request", request: JSON.parse(data) as LoggedRequest };
    case "event":
      return { kind: "event", event: JSON.parse(data) as Event };
    case "delivery":
      return { kind: "delivery", delivery: JSON.parse(data) as Delivery };
    case "message":
      return { kind: "message", message: JSON.parse(data) as WireMessage };
    default:
      return null;
  }
}
