/** The service as the pipeline sees it: keys, overload, log and clock, and the state that all requests share. */

import type { IncomingMessage } from "node:http";
import type { BlockList } from "node:net";
import type { Readable } from "node:stream";
import type { RateLimit } from "../../../sdk/wire.ts";
import type { Clock } from "../../clock.ts";
import type { CustomerId, InstanceId, KeyId, NewId, Random } from "../../core/id.ts";
import type { ApiKey } from "../../core/key.ts";
import type { LoggedRequest } from "../../core/logged-request.ts";
import type { RateBucket, RateLimitResult, RateLimitState } from "../../core/rate-limit.ts";
import type { BrowserSession } from "../../core/session.ts";
import type { Log, LogFields } from "../../log.ts";
import type { BodyBudget } from "./body-budget.ts";
import type { OwnNames } from "./browser.ts";

/** A request whose response was sent, for metrics and usage. */
export interface CompletedRequest {
  method: string;
  /** The pattern of its path; null if no route matched. */
  route: string | null;
  /** 499 if the client had gone before there was a response. */
  status: number;
  durationMs: number;
  /** Null for a request without a valid key. */
  keyId: KeyId | null;
  customerId: CustomerId | null;
  /** Whether the request was refused by its rate limit. */
  limited: boolean;
}

/** A request as it is passed on to another process. */
export interface PassedRequest {
  method: string;
  /** The request target as it came: path and query. */
  target: string;
  headers: Record<string, string>;
  body: Uint8Array | null;
}

/** The response of another process. */
export interface PassedResponse {
  status: number;
  headers: Record<string, string>;
  body: Readable;
}

/** Passes requests between the processes of a database, each signed by the process that it came to first. */
export interface RequestHop {
  /**
   * The request as another process passed it on, so that it counted the request and will not get it back, and whether a body is the one that
   * it passed on. `refusal`: why a claim to that does not count. Null without such a claim.
   */
  passedOn(request: IncomingMessage): { isBody(body: Uint8Array): boolean } | { refusal: string } | null;
  /**
   * The response of the process that runs the instance; null if no other process runs it or can be reached. Rejects with the reason of
   * `gone` if that is aborted first: the other process then finds that the client has gone.
   */
  pass(instanceId: InstanceId, request: PassedRequest, gone: AbortSignal): Promise<PassedResponse | null>;
  /** The check of the body of a request whose head another process has signed as that of a wake; null for any other request. */
  checkWake(request: IncomingMessage): ((body: Uint8Array) => boolean) | null;
}

/** The sessions of the service as the pipeline sees them. */
export interface SessionSource {
  names(): OwnNames;
  /** The live session of a token with its usable key, as of this use of it; null for any other token. */
  open(token: string): Promise<{ session: BrowserSession; key: ApiKey } | null>;
  /** The customer with this id, or the first one without an id; null if there is none. */
  customer(id: string | null): Promise<CustomerId | null>;
}

/** Takes the requests of accepted keys, for the request log. */
export interface RequestSink {
  readonly isOn: boolean;
  /** Whether the bodies are logged too. */
  readonly keepsBodies: boolean;
  /** Returns at once, and never throws. */
  add(request: LoggedRequest): void;
}

/** The service behind the pipeline. */
export interface Edge {
  /** The key with this secret, or null; revoked and expired keys too. Returns without a promise if it can. */
  authenticate(secret: string): ApiKey | null | Promise<ApiKey | null>;
  /** The sessions of browsers; null: cookies are ignored. */
  sessions: SessionSource | null;
  /** Notes one use of a key. */
  keyUsed(key: ApiKey): void;
  /** For keys without a limit of their own; null: no limit. */
  rateLimit: RateLimit | null;
  /** Counts a request against a limit that processes share; null: this process counts by itself. */
  countShared: ((bucket: RateBucket, limit: RateLimit) => RateLimitResult | Promise<RateLimitResult>) | null;
  /** Null if the service can take on work; else after how many seconds the caller should try again. */
  overloadSeconds(): number | null;
  /** Proxies whose `X-Forwarded-For` is read. */
  trustedProxies: BlockList;
  /** A trusted proxy named no client. */
  unnamed(): void;
  /** Whether the service starts or stops: requests under `/v1` are refused. */
  isClosing(): boolean;
  /** Whether the database can be reached: if not, requests under `/v1` are refused. */
  hasDatabase(): boolean;
  /** Whether this process answers only what other processes pass on, and requests about itself. */
  isWorker?: boolean;
  /** The other processes of the database; null: there are none. */
  hop: RequestHop | null;
  /** Takes the body of a wake of another process, and returns at once. Never throws. */
  woken?: (wake: string) => void;
  completed(request: CompletedRequest): void;
  /** Null: there is no request log. */
  requestLog: RequestSink | null;
  log: Log;
  clock: Clock;
  newId: NewId;
  random: Random;
}

/** State that all requests to one server share. */
export interface EdgeState {
  /** Open rate limit windows. */
  windows: RateLimitState;
  bodyBudget: BodyBudget;
  /** Logs that a request claims to be passed on, and why it is refused; not each of many. */
  warnOfHop: (fields: Pick<LogFields, "requestId" | "reason">) => void;
}
