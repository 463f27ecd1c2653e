/** Posts webhooks by the guarded connector, each within one deadline, and reports how each attempt ended. */

import type { IncomingHttpHeaders } from "node:http";
import type { Agent, Dispatcher } from "undici";
import type { AllowList } from "../core/address.ts";
import {
  ConnectError,
  type ConnectFailure,
  type ConnectorOptions,
  guardedAgent,
  type PooledConnection,
  type UsesConnection,
} from "./connection.ts";
import { cachedResolver, dnsResolver, type Resolve, systemResolver } from "./dns.ts";
import { responseText } from "./response.ts";

/**
 * Why an attempt got no response: the values of an attempt's `error`.
 *
 * | Value                | Meaning                                                                          |
 * | -------------------- | -------------------------------------------------------------------------------- |
 * | `ADDRESS_REFUSED`    | this server does not send to the address; the same for every reason               |
 * | `DNS_FAILED`         | the name has no address, or none was found within 2 s                             |
 * | `TIMEOUT`            | no connection within 5 s for each address, or no response before the deadline     |
 * | `CONNECTION_REFUSED` | nothing listens there                                                             |
 * | `CONNECTION_RESET`   | the receiver closed the connection before it responded                            |
 * | `CONNECTION_FAILED`  | no route to the address, or another network failure                               |
 * | `TLS_FAILED`         | no TLS, or a certificate that is expired, for another name or not trusted         |
 * | `PROTOCOL_ERROR`     | the response is not HTTP/1.1, or its headers are larger than 16 KiB               |
 * | `SEND_FAILED`        | the request could not be sent, for a reason on this side                          |
 * | `OUT_OF_FILES`       | this process can open no further file, or has no memory; not to be counted        |
 * | `OUT_OF_PORTS`       | this machine has no port left to this address; not to be counted                  |
 * | `SECRET_UNREADABLE`  | the signing secret cannot be decrypted, so nothing was sent                       |
 * | `STOPPED`            | this server stopped meanwhile; not the receiver's fault, not to be counted        |
 */
export type PostError = ConnectFailure | "PROTOCOL_ERROR" | "SEND_FAILED" | "SECRET_UNREADABLE" | "STOPPED";

/** How an attempt ended. Exactly one of `status` and `error` is null. */
export interface PostResult {
  /** HTTP status of the response; only 200 to 299 is success. Redirects are not followed. */
  status: number | null;
  durationMs: number;
  /** At most the first 1 KiB of the response's body, as text; null if there was no response. */
  response: string | null;
  error: PostError | null;
  /** Whether a connection to the receiver was made, TLS included. */
  connected: boolean;
  /** Whether `error` is `TIMEOUT`. */
  timedOut: boolean;
  /** The values of the `Retry-After` headers of a 429 or 503; absent for others, and without one. */
  retryAfter?: readonly string[];
  /** The headers of the request, names and values in turn, without those of the connection; absent if no connection was made. */
  sent?: readonly string[];
  /** Whether the address is private, so that only the operator's allow list permits it. */
  isPrivate: boolean;
}

/** Errors that are not those of an unreached receiver: it sent something, or the attempt failed on this side. */
const OTHERS: ReadonlySet<PostError> = new Set([
  "OUT_OF_FILES",
  "OUT_OF_PORTS",
  "PROTOCOL_ERROR",
  "SECRET_UNREADABLE",
  "SEND_FAILED",
  "STOPPED",
]);

/**
 * Whether an attempt failed without a connection to its receiver: `ADDRESS_REFUSED`, `DNS_FAILED`, `CONNECTION_REFUSED` and `TLS_FAILED`
 * always, `TIMEOUT`, `CONNECTION_RESET` and `CONNECTION_FAILED` before the request was sent.
 */
export function isUnreached({ error, connected }: Pick<PostResult, "error" | "connected">): boolean {
  return error !== null && !connected && !OTHERS.has(error);
}

export interface PostRequest {
  url: string;
  body: string | Buffer;
  /** Headers beside `Content-Type` and `User-Agent`, which this service always sets itself. */
  headers: Record<string, string>;
  /** Permits every address: for this server's own inbox only. */
  trusted?: boolean;
}

export interface PosterOptions {
  allow: AllowList;
  userAgent: string;
  /** For a whole attempt: name lookup, connection, request and response. 30 s outside tests. */
  deadlineMs?: number;
  /** A monotonic clock in milliseconds. */
  now?: () => number;
  /** Finds the addresses of all names but `localhost`. */
  resolve?: Resolve;
  /** PEM of the only trusted authority, for tests. */
  tlsCa?: string;
  /** Opens a TCP connection: `connect` of node:net outside tests. */
  open?: ConnectorOptions["open"];
}

const DEADLINE_MS = 30_000;
const OWN_HEADERS = new Set(["content-type", "user-agent"]);

/** Most bytes of a response's body that are read, and the time for that. */
const BODY_BYTES_MAX = 1_024;
const BODY_LIMIT_MS = 1_000;

/** Statuses whose `Retry-After` counts: too many requests, and service unavailable. */
const ASKS_TO_WAIT: ReadonlySet<number> = new Set([429, 503]);

/** Most 1xx responses before the final one. */
const INTERIM_ANSWERS_MAX = 16;
const SWITCHING_PROTOCOLS = 101;

/** Sends webhooks, and keeps connections to receivers between attempts. */
export class Poster {
  readonly #open = new Set<PostAttempt>();
  readonly #agents: { guarded: Agent; fresh: Agent; trusted: Agent };
  readonly #baseHeaders: string[];
  readonly #deadlineMs: number;
  readonly #now: () => number;
  #closed = false;

  constructor(options: PosterOptions) {
    const now = options.now ?? (() => performance.now());
    const connector = {
      names: cachedResolver(options.resolve ?? dnsResolver(), now),
      listedNames: cachedResolver(options.resolve ?? systemResolver, now),
      ...(options.tlsCa === undefined ? {} : { tlsCa: options.tlsCa }),
      ...(options.open === undefined ? {} : { open: options.open }),
    };
    this.#agents = {
      guarded: guardedAgent({ ...connector, allow: options.allow, keepAlive: true }),
      fresh: guardedAgent({ ...connector, allow: options.allow, keepAlive: false }),
      trusted: guardedAgent({ ...connector, allow: null, keepAlive: true }),
    };
    this.#baseHeaders = ["Content-Type", "application/json", "User-Agent", options.userAgent];
    this.#deadlineMs = options.deadlineMs ?? DEADLINE_MS;
    this.#now = now;
  }

  /**
   * Sends one request and resolves when the attempt has ended, at the latest at the deadline. Never rejects. Sends the
   * request a second time only if a kept connection was closed before any byte of a response came.
   */
  post(request: PostRequest): Promise<PostResult> {
    return new Promise((resolve) => {
      const attempt = new PostAttempt(this.#now, (posted) => {
        this.#open.delete(attempt);
        resolve(posted);
      });
      this.#open.add(attempt);
      const target = URL.parse(request.url);
      if (this.#closed) return attempt.end("STOPPED");
      if (target === null || (target.protocol !== "https:" && target.protocol !== "http:")) {
        return attempt.end("ADDRESS_REFUSED");
      }
      const headers = this.#baseHeaders.slice();
      for (const name of Object.keys(request.headers)) {
        if (!OWN_HEADERS.has(name.toLowerCase())) headers.push(name, request.headers[name] ?? "");
      }
      const { origin, pathname, search } = target;
      const { body } = request;
      const agent = request.trusted === true ? this.#agents.trusted : this.#agents.guarded;
      attempt.start(
        { origin, path: pathname + search, method: "POST", headers, body },
        { headers, agent, again: request.trusted === true ? agent : this.#agents.fresh, deadlineMs: this.#deadlineMs },
      );
    });
  }

  /** Ends open attempts as `STOPPED` and closes all connections. Later posts are `STOPPED` at once. */
  async close(): Promise<void> {
    this.#closed = true;
    for (const attempt of this.#open) attempt.end("STOPPED");
    await Promise.all(Object.values(this.#agents).map((agent) => agent.destroy()));
  }
}

/** One attempt, as undici's handler. Ends exactly once. */
class PostAttempt implements Dispatcher.DispatchHandler, UsesConnection {
  connection: PooledConnection | null = null;
  readonly #now: () => number;
  readonly #ended: (posted: PostResult) => void;
  readonly #startedAt: number;
  #options: Dispatcher.DispatchOptions | null = null;
  #headers: readonly string[] = [];
  /** The agent for a second try; null if none is left. */
  #again: Agent | null = null;
  #controller: Dispatcher.DispatchController | null = null;
  #deadline: NodeJS.Timeout | undefined;
  #bodyTimer: NodeJS.Timeout | undefined;
  #done = false;
  /** Whether the connection had carried a response before this request. */
  #reused = false;
  /** Whether a byte of the response has come. */
  #answering = false;
  #interim = 0;
  #status: number | null = null;
  #retryAfter: readonly string[] = [];
  #chunks: Buffer[] = [];
  #bytes = 0;

  constructor(now: () => number, ended: (posted: PostResult) => void) {
    this.#now = now;
    this.#ended = ended;
    this.#startedAt = now();
  }

  start(
    options: Dispatcher.DispatchOptions,
    how: { headers: readonly string[]; agent: Agent; again: Agent; deadlineMs: number },
  ): void {
    this.#options = options;
    this.#headers = how.headers;
    this.#again = how.again;
    this.#deadline = setTimeout(onDeadline, how.deadlineMs, this);
    how.agent.dispatch(options, this);
  }

  /** Ends the attempt with its status, or with `error` if there is none, and drops an incomplete exchange. */
  end(error: PostError): void {
    this.#finish(error);
    if (this.#controller === null) this.connection?.hangUp();
    else this.#cut();
  }

  onRequestStart(controller: Dispatcher.DispatchController): void {
    this.#controller = controller;
    this.#reused = this.connection?.answered === true;
    if (this.#done) this.#cut();
  }

  onResponseStarted(): void {
    this.#answering = true;
  }

  onResponseStart(_controller: Dispatcher.DispatchController, status: number, headers: IncomingHttpHeaders): void {
    if (status < 200) {
      this.#interim += 1;
      if (status === SWITCHING_PROTOCOLS || this.#interim > INTERIM_ANSWERS_MAX) this.end("PROTOCOL_ERROR");
      return;
    }
    this.#status = status;
    if (ASKS_TO_WAIT.has(status)) this.#retryAfter = [headers["retry-after"] ?? []].flat();
    this.#bodyTimer = setTimeout(onDeadline, BODY_LIMIT_MS, this);
  }

  onResponseData(_controller: Dispatcher.DispatchController, chunk: Buffer): void {
    if (this.#done) return;
    this.#chunks.push(chunk);
    this.#bytes += chunk.length;
    if (this.#bytes <= BODY_BYTES_MAX) return;
    this.#finish(null);
    // If the body ended within this chunk the connection can be kept; the parser knows that only after this call.
    queueMicrotask(() => this.#cut());
  }

  onResponseEnd(): void {
    if (this.connection !== null) this.connection.answered = true;
    this.#finish(null);
  }

  onResponseError(_controller: Dispatcher.DispatchController | null, error: Error): void {
    if (this.#done) return;
    const again = this.#again;
    if (again !== null && this.#options !== null && this.#reused && !this.#answering && isReset(error)) {
      this.#again = null;
      this.#controller = null;
      again.dispatch(this.#options, this);
      return;
    }
    this.#finish(errorOf(error, this.#answering));
  }

  /** Closes the connection unless the exchange is complete. */
  #cut(): void {
    this.#controller?.abort(new Error("the attempt has ended"));
  }

  #finish(error: PostError | null): void {
    if (this.#done) return;
    this.#done = true;
    clearTimeout(this.#deadline);
    clearTimeout(this.#bodyTimer);
    const status = this.#status;
    const failed = status === null ? (error ?? "SEND_FAILED") : null;
    this.#ended({
      status,
      durationMs: Math.round(this.#now() - this.#startedAt),
      response: status === null ? null : responseText(this.#chunks, BODY_BYTES_MAX),
      error: failed,
      connected: this.#controller !== null,
      timedOut: failed === "TIMEOUT",
      isPrivate: this.connection?.isPrivate === true,
      ...(this.#retryAfter.length === 0 ? {} : { retryAfter: this.#retryAfter }),
      ...(this.#controller === null ? {} : { sent: this.#headers }),
    });
    this.#chunks = [];
  }
}

function onDeadline(attempt: PostAttempt): void {
  attempt.end("TIMEOUT");
}

/** Messages of undici for a closed connection. Its code also stands for malformed responses. */
const CLOSED_MESSAGES = new Set(["other side closed", "closed"]);

function isReset(error: Error): boolean {
  const { code } = error as { code?: unknown };
  return code === "ECONNRESET" || code === "EPIPE" || (code === "UND_ERR_SOCKET" && CLOSED_MESSAGES.has(error.message));
}

function errorOf(error: Error, answering: boolean): PostError {
  if (error instanceof ConnectError) return error.code;
  if (isReset(error)) return "CONNECTION_RESET";
  const code = String((error as { code?: unknown }).code);
  if (code === "ETIMEDOUT") return "TIMEOUT";
  if (code === "EPROTO" || code.startsWith("ERR_SSL") || code.startsWith("ERR_TLS")) return "TLS_FAILED";
  if (code === "EHOSTUNREACH" || code === "ENETUNREACH" || code === "ENETDOWN") return "CONNECTION_FAILED";
  return answering ? "PROTOCOL_ERROR" : "SEND_FAILED";
}
