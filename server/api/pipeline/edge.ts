/** The service as the pipeline sees it: keys, overload, log and clock, and the state that all requests share. */

import type { RateLimit } from "../../../sdk/wire.ts";
import type { Clock } from "../../clock.ts";
import type { CustomerId, KeyId, NewId, Random } from "../../core/id.ts";
import type { ApiKey } from "../../core/key.ts";
import type { RateLimitState } from "../../core/rate-limit.ts";
import type { Log } from "../../log.ts";
import type { BodyBudget } from "./body-budget.ts";

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

/** The service behind the pipeline. */
export interface Edge {
  /** The key with this secret, or null; revoked and expired keys too. Returns without a promise if it can. */
  authenticate(secret: string): ApiKey | null | Promise<ApiKey | null>;
  /** Notes one use of a key. */
  keyUsed(key: ApiKey): void;
  /** For keys without a limit of their own; null: no limit. */
  rateLimit: RateLimit | null;
  /** Null if the service can take on work; else after how many seconds the caller should try again. */
  overloadSeconds(): number | null;
  /** Whether the service starts or stops: requests under `/v1` are refused. */
  isClosing(): boolean;
  completed(request: CompletedRequest): void;
  log: Log;
  clock: Clock;
  newId: NewId;
  random: Random;
}

/** State that all requests to one server share. */
export interface EdgeState {
  /** Open rate limit windows, by key. */
  windows: RateLimitState;
  bodyBudget: BodyBudget;
}
