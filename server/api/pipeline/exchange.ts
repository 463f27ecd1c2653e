/** One request and what the stages have found out about it so far. */

import type { IncomingMessage, ServerResponse } from "node:http";
import type { ApiKey } from "../../core/key.ts";
import type { RateLimitResult } from "../../core/rate-limit.ts";
import type { RequestSession } from "../../core/session.ts";
import type { Edge, EdgeState } from "./edge.ts";
import { correlationIdOf } from "./head.ts";
import type { CompiledRoute, Destination } from "./routing.ts";

/** A request on its way through the stages. */
export interface Exchange {
  readonly edge: Edge;
  readonly state: EdgeState;
  readonly request: IncomingMessage;
  readonly response: ServerResponse;
  readonly requestId: string;
  readonly correlationId: string;
  /** By `performance.now()`. */
  readonly startedAt: number;
  /** By the service's clock, when the request came: the request itself may move the clock. */
  readonly createdAt: number;
  readonly compiled: CompiledRoute | null;
  /** Whether the service was starting or stopping when the request came. */
  readonly wasClosing: boolean;
  /** Why the request is refused, which claims that another process passed it on; null without such a claim, and if it did. */
  readonly hopRefusal: string | null;
  /** Whether another process passed the request on. */
  readonly isPassedOn: boolean;
  /** Whether a body may be that of the request: of one that was passed on, only the body that was. */
  readonly isBody: (body: Uint8Array) => boolean;
  /** The bytes of the body, once they are read, if the request may have to be passed on or its body is logged. */
  body: Uint8Array | null;
  key: ApiKey | null;
  /** The session that the key comes from; null if the key is in the request. */
  session: RequestSession | null;
  rate: RateLimitResult | null;
  /** Value of `Allow`, with a 405. */
  allow: string | null;
  /** The tag of the list whose page the request asks for; null for any other request. */
  list: string | null;
}

/** A request as Node and the router have it. */
export interface Incoming {
  request: IncomingMessage;
  response: ServerResponse;
  requestId: string;
}

/** Begins the exchange of a request that came in now. */
export function beginExchange(edge: Edge, state: EdgeState, incoming: Incoming, { compiled }: Destination): Exchange {
  const { request, response, requestId } = incoming;
  const claim = edge.hop?.passedOn(request) ?? null;
  const passed = claim === null || "refusal" in claim ? null : claim;
  return {
    edge,
    state,
    request,
    response,
    requestId,
    correlationId: correlationIdOf(request, edge.random),
    startedAt: performance.now(),
    createdAt: edge.clock.now(),
    compiled,
    wasClosing: edge.isClosing(),
    hopRefusal: claim !== null && "refusal" in claim ? claim.refusal : null,
    isPassedOn: passed !== null,
    isBody: (body) => passed?.isBody(body) !== false,
    body: null,
    key: null,
    session: null,
    rate: null,
    allow: null,
    list: null,
  };
}

/** The owner of what a request takes from shared memory: the customer, whichever key it uses; all admin keys are one. */
export function ownerOf({ customerId }: ApiKey): string {
  return customerId ?? "admin";
}
