/** The one GET: fetches a file that a caller names, by the guarded connector, under limits of time, size and memory. */

import type { Agent, Dispatcher } from "undici";
import type { AllowList } from "../core/address.ts";
import { FairSemaphore, type Release } from "../core/fair-semaphore.ts";
import { ConnectError, guardedAgent, type Line, type OnLine } from "./connection.ts";
import { cachedResolver, dnsResolver, type Resolve, systemResolver } from "./dns.ts";

/**
 * How a fetch ended, in words to put behind the address. `refused`: asking again is no use. `deferred`: it may work
 * later. `bytes` count against the memory for files until `release` is called.
 */
export type FetchResult = { bytes: Buffer; release: Release } | { refused: string } | { deferred: string };

export interface FetchOptions {
  /** The customer that the fetch is for: customers share the fetches at once and the memory for files. */
  owner: string;
  /** More than this is refused with the words `tooLarge`. */
  bytesMax: number;
  tooLarge: string;
  abort: AbortSignal;
}

export interface FetcherOptions {
  allow: AllowList;
  userAgent: string;
  /** Over a whole fetch, from the moment it begins. 30 s unless a test says otherwise. */
  deadlineMs?: number;
  /** Files in memory at once, in bytes. */
  heldBytesMax?: number;
  /** A clock that only goes forward, in milliseconds: for names. */
  now?: () => number;
  /** Finds the addresses of all names but `localhost`. */
  resolve?: Resolve;
  /** PEM of the only authority to trust, for tests. */
  tlsCa?: string;
}

/** What the engine needs of a fetcher. */
export type FileFetcher = Pick<Fetcher, "fetch" | "hold">;

const DEADLINE_MS = 30_000;
/** Fetches at once; others wait in turns by customer. */
const FETCHES_MAX = 16;
/** A customer alone runs 12 of 16 fetches and holds 192 of 256 MiB; the rest is for whoever comes next. */
const SHARE_OF_FREE = 3;
/** Bytes of files in memory at once, from their first byte to the end of their hand-over: a few of the largest. */
const HELD_BYTES_MAX = 256 * 1_048_576;
/** A file's buffer begins with this and doubles: what is promised counts for nothing, what came does. */
const FIRST_BYTES = 65_536;
const INTERIM_ANSWERS_MAX = 16;

const STOPPED: FetchResult = { deferred: "was not fetched: the service stopped" };
const NOT_OURS: FetchResult = { refused: "leads to an address that this service does not fetch from" };

/** Fetches files. Holds no connection longer than the fetch that it is for. */
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

  /** Counts bytes against the memory for files; null, and nothing is counted, when the customer has no room for them. */
  hold(owner: string, bytes: number): Release | null {
    return this.#memory.tryAcquire(owner, bytes);
  }

  /** Fetches one file, after waiting for the customer's turn while too many are being fetched. Never rejects. */
  async fetch(url: string, options: FetchOptions): Promise<FetchResult> {
    const target = URL.parse(url);
    if (target === null || (target.protocol !== "https:" && target.protocol !== "http:")) return NOT_OURS;
    const release = await this.#fetches.acquire(options.owner, 1, options.abort).catch(() => null);
    try {
      // Whoever waits while the service stops is called up by those that end, and ends here.
      return release === null || this.#closed ? STOPPED : await this.#run(target, options);
    } finally {
      release?.();
    }
  }

  /** Ends open fetches, and begins no more. */
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

/** One fetch, as undici's handler: it hears of each step, and ends once. */
class Fetch implements Dispatcher.DispatchHandler, OnLine {
  line: Line | null = null;
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

  /** Ends the fetch. What is still open of it is cut, what came of it is forgotten. */
  end(fetched: FetchResult): void {
    if (this.#done) return;
    this.#done = true;
    clearTimeout(this.#deadline);
    if (!("bytes" in fetched)) this.#release();
    this.#buffer = Buffer.alloc(0);
    if (this.#controller === null) this.line?.hangUp();
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
      if (status === 101 || this.#interim > INTERIM_ANSWERS_MAX) this.end({ deferred: "answers no HTTP/1.1" });
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
      this.end({ deferred: "was not fetched: too many large files are under way" });
      return;
    }
    // Copied, so that a server that sends a byte at a time costs a byte at a time.
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

  /** Gives the memory of the file back. */
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

/** Answers that say "not now": asked too often, too early, too slowly. */
const LATER: ReadonlySet<number> = new Set([408, 425, 429]);

/** Why an answer with this head is no file; null when its body is one. */
function problemOf(
  status: number,
  headers: Record<string, string | string[] | undefined>,
  { bytesMax, tooLarge }: FetchOptions,
): FetchResult | null {
  if (status >= 500 || LATER.has(status)) return { deferred: `answers ${status}` };
  if (status >= 400) return { refused: `answers ${status}` };
  if (status >= 300) return { refused: `answers ${status}; redirects are not followed, give the address of the file` };
  if (status !== 200) return { refused: `answers ${status} instead of a file` };
  const encoding = String(headers["content-encoding"] ?? "identity").toLowerCase();
  if (encoding !== "identity") return { refused: `answers in the encoding ${encoding.slice(0, 40)}, unasked` };
  return Number(headers["content-length"] ?? 0) > bytesMax ? { refused: tooLarge } : null;
}

/** Codes of certificates that will be no better in a minute. */
const BAD_CERTIFICATE = /^(CERT_|ERR_TLS_CERT|UNABLE_TO_|SELF_SIGNED|DEPTH_ZERO|HOSTNAME_)/;

function outcomeOf(error: Error, deadlineMs: number): FetchResult {
  if (!(error instanceof ConnectError)) return { deferred: "broke off before all of it had come" };
  switch (error.code) {
    case "ADDRESS_REFUSED":
      return NOT_OURS;
    case "DNS_FAILED":
      return { deferred: "has a host name without an address" };
    case "TLS_FAILED": {
      const code = String((error.cause as { code?: unknown } | undefined)?.code);
      if (BAD_CERTIFICATE.test(code)) return { refused: `has a certificate that is not to be trusted (${code})` };
      return { deferred: "offers no TLS" };
    }
    case "TIMEOUT":
      return { deferred: `does not answer within ${Math.min(5, deadlineMs / 1_000)} s` };
    default:
      return { deferred: "cannot be connected to" };
  }
}
