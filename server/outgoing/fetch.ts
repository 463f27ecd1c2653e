/** Fetches files whose address a caller has named, by the guarded connector, within limits of time, size and memory. */

import type { Agent, Dispatcher } from "undici";
import type { AllowList } from "../core/address.ts";
import { FairSemaphore, type Release } from "../core/fair-semaphore.ts";
import { ConnectError, guardedAgent, type PooledConnection, type UsesConnection } from "./connection.ts";
import { cachedResolver, dnsResolver, type Resolve, systemResolver } from "./dns.ts";

/**
 * How a fetch ended. The texts follow the address in a sentence. `refused`: a repeat would fail, too. `deferred`: a repeat
 * may succeed. `bytes` count against the memory for files until `release` is called.
 */
export type FetchResult = { bytes: Buffer; release: Release } | { refused: string } | { deferred: string };

export interface FetchOptions {
  /** The customer. Customers share the number of fetches at once and the memory for files. */
  owner: string;
  /** A larger file is refused with the text `tooLarge`. */
  bytesMax: number;
  tooLarge: string;
  abort: AbortSignal;
}

export interface FetcherOptions {
  allow: AllowList;
  userAgent: string;
  /** For a whole fetch, from its beginning. 30 s outside tests. */
  deadlineMs?: number;
  /** Files in memory at once, in bytes. */
  heldBytesMax?: number;
  /** A monotonic clock in milliseconds, for the cache of names. */
  now?: () => number;
  /** Finds the addresses of all names but `localhost`. */
  resolve?: Resolve;
  /** PEM of the only trusted authority, for tests. */
  tlsCa?: string;
}

/** A fetcher, as the engine uses it. */
export type FileFetcher = Pick<Fetcher, "fetch" | "hold">;

const DEADLINE_MS = 30_000;
/** Fetches at once; others wait, and customers are served in turn. */
const FETCHES_MAX = 16;
/** A customer alone may run 12 of 16 fetches and hold 192 of 256 MiB; the rest is for other customers. */
const SHARE_OF_FREE = 3;
/** Bytes of files in memory at once, from the first byte to the end of the send attempt: a few of the largest files. */
const HELD_BYTES_MAX = 256 * 1_048_576;
/** First size of a file's buffer, in bytes. It doubles as bytes arrive; an announced length reserves nothing. */
const FIRST_BYTES = 65_536;
const INTERIM_ANSWERS_MAX = 16;

const STOPPED: FetchResult = { deferred: "was not fetched because the service stopped" };
const NOT_OURS: FetchResult = { refused: "leads to an address that this service does not fetch from" };

/** Fetches files, each by a connection of its own. */
export class Fetcher {
  readonly #agent: Agent;
  readonly #userAgent: string;
  readonly #deadlineMs: number;
  readonly #open = new Set<Fetch>();
  readonly #fetches = new FairSemaphore({ permitsMax: FETCHES_MAX, shareOfFree: SHARE_OF_FREE });
  readonly #memory: FairSemaphore;
  #closed = false;

  constructor(options: FetcherOptions) {
    const now = options.now ?? (() => performance.now());
    this.#agent = guardedAgent({
      allow: options.allow,
      names: cachedResolver(options.resolve ?? dnsResolver(), now),
      listedNames: cachedResolver(options.resolve ?? systemResolver, now),
      ...(options.tlsCa === undefined ? {} : { tlsCa: options.tlsCa }),
      keepAlive: false,
    });
    this.#userAgent = options.userAgent;
    this.#deadlineMs = options.deadlineMs ?? DEADLINE_MS;
    this.#memory = new FairSemaphore({
      permitsMax: options.heldBytesMax ?? HELD_BYTES_MAX,
      shareOfFree: SHARE_OF_FREE,
    });
  }

  /** Bytes of files that are in memory now. */
  get held(): number {
    return this.#memory.used;
  }

  /** Reserves memory for a file; null if the customer's share is used up. */
  hold(owner: string, bytes: number): Release | null {
    return this.#memory.tryAcquire(owner, bytes);
  }

  /** Fetches one file, after a wait if too many fetches run. Never rejects. */
  async fetch(url: string, options: FetchOptions): Promise<FetchResult> {
    const target = URL.parse(url);
    if (target === null || (target.protocol !== "https:" && target.protocol !== "http:")) return NOT_OURS;
    const release = await this.#fetches.acquire(options.owner, 1, options.abort).catch(() => null);
    try {
      // A fetch that was waiting when the service stopped ends here.
      return release === null || this.#closed ? STOPPED : await this.#run(target, options);
    } finally {
      release?.();
    }
  }

  /** Ends open fetches and begins no others. */
  async close(): Promise<void> {
    this.#closed = true;
    for (const fetch of this.#open) fetch.end(STOPPED);
    await this.#agent.destroy();
  }

  #run({ origin, pathname, search }: URL, options: FetchOptions): Promise<FetchResult> {
    const { abort } = options;
    return new Promise((resolve) => {
      const fetch = new Fetch(this, options, (fetched) => {
        this.#open.delete(fetch);
        abort.removeEventListener("abort", stop);
        resolve(fetched);
      });
      const stop = () => fetch.end(STOPPED);
      this.#open.add(fetch);
      abort.addEventListener("abort", stop, { once: true });
      const headers = ["User-Agent", this.#userAgent, "Accept", "*/*", "Accept-Encoding", "identity"];
      fetch.start(this.#agent, { origin, path: pathname + search, method: "GET", headers }, this.#deadlineMs);
    });
  }
}

/** One fetch, as undici's handler. Ends exactly once. */
class Fetch implements Dispatcher.DispatchHandler, UsesConnection {
  connection: PooledConnection | null = null;
  readonly #memory: Pick<Fetcher, "hold">;
  readonly #releases: Release[] = [];
  readonly #options: FetchOptions;
  readonly #ended: (fetched: FetchResult) => void;
  #controller: Dispatcher.DispatchController | null = null;
  #deadline: NodeJS.Timeout | undefined;
  #deadlineMs = 0;
  #done = false;
  #interim = 0;
  #buffer = Buffer.alloc(0);
  #length = 0;

  constructor(memory: Pick<Fetcher, "hold">, options: FetchOptions, ended: (fetched: FetchResult) => void) {
    this.#memory = memory;
    this.#options = options;
    this.#ended = ended;
  }

  start(agent: Agent, options: Dispatcher.DispatchOptions, deadlineMs: number): void {
    this.#deadlineMs = deadlineMs;
    this.#deadline = setTimeout(() => this.end({ deferred: `took longer than ${deadlineMs / 1_000} s` }), deadlineMs);
    agent.dispatch(options, this);
  }

  /** Ends the fetch, and drops its connection and the received bytes. */
  end(fetched: FetchResult): void {
    if (this.#done) return;
    this.#done = true;
    clearTimeout(this.#deadline);
    if (!("bytes" in fetched)) this.#release();
    this.#buffer = Buffer.alloc(0);
    if (this.#controller === null) this.connection?.hangUp();
    else if (!("bytes" in fetched)) this.#controller.abort(new Error("the fetch has ended"));
    this.#ended(fetched);
  }

  onRequestStart(controller: Dispatcher.DispatchController): void {
    this.#controller = controller;
    if (this.#done) controller.abort(new Error("the fetch has ended"));
  }

  onResponseStart(
    _controller: Dispatcher.DispatchController,
    status: number,
    headers: Record<string, string | string[] | undefined>,
  ): void {
    if (status < 200) {
      this.#interim += 1;
      if (status === 101 || this.#interim > INTERIM_ANSWERS_MAX)
        this.end({ deferred: "does not respond with HTTP/1.1" });
      return;
    }
    const problem = problemOf(status, headers, this.#options);
    if (problem !== null) this.end(problem);
  }

  onResponseData(_controller: Dispatcher.DispatchController, chunk: Buffer): void {
    if (this.#done) return;
    const length = this.#length + chunk.length;
    if (length > this.#options.bytesMax) {
      this.end({ refused: this.#options.tooLarge });
      return;
    }
    if (length > this.#buffer.length && !this.#grow(length)) {
      this.end({ deferred: "was not fetched because too many large files are in memory" });
      return;
    }
    // Copied, so that a chunk of one byte does not keep a whole buffer.
    chunk.copy(this.#buffer, this.#length);
    this.#length = length;
  }

  onResponseEnd(): void {
    if (this.#length === 0) this.end({ refused: "is empty" });
    else this.end({ bytes: this.#buffer.subarray(0, this.#length), release: () => this.#release() });
  }

  onResponseError(_controller: Dispatcher.DispatchController | null, error: Error): void {
    this.end(outcomeOf(error, this.#deadlineMs));
  }

  /** Frees the memory of the file. */
  #release(): void {
    for (const release of this.#releases.splice(0)) release();
  }

  #grow(length: number): boolean {
    const size = Math.min(Math.max(length, this.#buffer.length * 2, FIRST_BYTES), this.#options.bytesMax);
    const release = this.#memory.hold(this.#options.owner, size - this.#buffer.length);
    if (release === null) return false;
    this.#releases.push(release);
    const larger = Buffer.allocUnsafeSlow(size);
    this.#buffer.copy(larger, 0, 0, this.#length);
    this.#buffer = larger;
    return true;
  }
}

/** Statuses after which a later fetch may succeed. */
const LATER: ReadonlySet<number> = new Set([408, 425, 429]);

/** Why a response with this head contains no file; null if it does. */
function problemOf(
  status: number,
  headers: Record<string, string | string[] | undefined>,
  { bytesMax, tooLarge }: FetchOptions,
): FetchResult | null {
  if (status >= 500 || LATER.has(status)) return { deferred: `responds with ${status}` };
  if (status >= 400) return { refused: `responds with ${status}` };
  if (status >= 300)
    return { refused: `responds with ${status}; redirects are not followed, give the address of the file` };
  if (status !== 200) return { refused: `responds with ${status} instead of a file` };
  const encoding = String(headers["content-encoding"] ?? "identity").toLowerCase();
  if (encoding !== "identity")
    return { refused: `responds with the encoding ${encoding.slice(0, 40)}, which was not requested` };
  return Number(headers["content-length"] ?? 0) > bytesMax ? { refused: tooLarge } : null;
}

/** Codes of certificates that a later fetch would find as bad. */
const BAD_CERTIFICATE = /^(CERT_|ERR_TLS_CERT|UNABLE_TO_|SELF_SIGNED|DEPTH_ZERO|HOSTNAME_)/;

function outcomeOf(error: Error, deadlineMs: number): FetchResult {
  if (!(error instanceof ConnectError)) return { deferred: "closed the connection before the whole file had arrived" };
  switch (error.code) {
    case "ADDRESS_REFUSED":
      return NOT_OURS;
    case "DNS_FAILED":
      return { deferred: "has a host name without an address" };
    case "TLS_FAILED": {
      const code = String((error.cause as { code?: unknown } | undefined)?.code);
      if (BAD_CERTIFICATE.test(code)) return { refused: `has a certificate that is not trusted (${code})` };
      return { deferred: "does not offer TLS" };
    }
    case "TIMEOUT":
      return { deferred: `does not respond within ${Math.min(5, deadlineMs / 1_000)} s` };
    default:
      return { deferred: "cannot be connected to" };
  }
}
