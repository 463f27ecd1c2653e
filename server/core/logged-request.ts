/** The record of a request in the request log, and its forms in the API. Pure. */

import type {
  ErrorCode,
  RequestErrorGroup,
  LoggedExchange as WireExchange,
  LoggedRequest as WireRequest,
} from "../../sdk/wire.ts";
import type { CustomerId, KeyId } from "./id.ts";
import { iso } from "./instant.ts";

/** A request with an accepted key, after its response. Texts are masked (`mask.ts`). */
export interface LoggedRequest {
  /** The caller's `X-Request-Id` or a minted one: several requests may have the same. */
  id: string;
  /** Null for an admin key. */
  customerId: CustomerId | null;
  keyId: KeyId;
  method: string;
  path: string;
  /** Pattern of the path; null if no route matched. */
  route: string | null;
  status: number;
  /** In microseconds, a whole number. */
  durationUs: number;
  correlationId: string;
  errorCode: ErrorCode | null;
  /** By the service's clock, when the request came. */
  createdAt: number;
  /** In real time, when its response was sent. */
  loggedAt: number;
  /** The bodies; null if there was none, or bodies are not logged. */
  request: string | null;
  response: string | null;
  /** Whether the text of a body ends before the body did. */
  requestCut: boolean;
  responseCut: boolean;
}

/** A clock that is less than this ahead of real time shows real time, in milliseconds: the duration of a request is exact to one. */
const AHEAD_MS_MIN = 1_000;

/** The record without bodies. */
export type RequestHead = Omit<LoggedRequest, "request" | "response" | "requestCut" | "responseCut">;

/** Errors with the same code on the same route. */
export interface ErrorGroup {
  code: ErrorCode;
  method: string;
  route: string | null;
  status: number;
  count: number;
  lastAt: number;
  lastId: string;
}

/** The customer that a request belongs to in the shares of the log: all admin keys are one. */
export function logOwnerOf({ customerId }: Pick<LoggedRequest, "customerId">): string {
  return customerId ?? "admin";
}

/** When the request came in real time; null if the clock showed that. */
function realTimeOf({ createdAt, loggedAt, durationUs }: RequestHead): number | null {
  const realAt = Math.round(loggedAt - durationUs / 1_000);
  return createdAt - realAt < AHEAD_MS_MIN ? null : realAt;
}

export function loggedRequestRecord(request: RequestHead): WireRequest {
  const { id, method, path, route, status, durationUs, keyId, customerId, correlationId, errorCode } = request;
  const durationMs = durationUs / 1_000;
  const createdAt = iso(request.createdAt);
  const realAt = realTimeOf(request);
  return {
    id,
    method,
    path,
    route,
    status,
    durationMs,
    keyId,
    customerId,
    correlationId,
    errorCode,
    createdAt,
    ...(realAt === null ? {} : { realAt: iso(realAt) }),
  };
}

export function loggedExchangeRecord(request: LoggedRequest): WireExchange {
  const body = (text: string | null, truncated: boolean) => (text === null ? null : { text, truncated });
  return {
    ...loggedRequestRecord(request),
    request: body(request.request, request.requestCut),
    response: body(request.response, request.responseCut),
  };
}

export function errorGroupRecord({ lastAt, ...group }: ErrorGroup): RequestErrorGroup {
  return { ...group, lastAt: iso(lastAt) };
}

/**
 * How many requests of each owner have to go, so that `max` are left. The owners with the most lose theirs first, down to the same
 * number: a flood of one removes none of the others' as long as they have less than their share.
 */
export function excessOf<Owner>(counts: ReadonlyMap<Owner, number>, max: number): Map<Owner, number> {
  let left = max;
  let owners = counts.size;
  const excess = new Map<Owner, number>();
  for (const [owner, count] of [...counts].sort(([, a], [, b]) => a - b)) {
    const share = Math.min(count, Math.floor(left / owners));
    if (count > share) excess.set(owner, count - share);
    left -= share;
    owners -= 1;
  }
  return excess;
}
