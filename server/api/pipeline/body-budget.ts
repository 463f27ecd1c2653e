/** Limits the memory of all bodies that are read and handled (503), and shares it fairly between customers. */

import type { IncomingMessage, ServerResponse } from "node:http";
import type { Clock } from "../../clock.ts";
import { ApiError } from "../../core/error.ts";
import { FairSemaphore, type Release } from "../../core/fair-semaphore.ts";
import { announcedBytes, readBody } from "./body.ts";
import { CLIENT_GONE } from "./client-gone.ts";

/** Largest small body, in bytes. Small bodies are counted by number, so that they never wait behind large ones. */
const SMALL_BODY_BYTES = 16_384;

/** Small bodies at once: 32 MiB, if each had its full size. */
const SMALL_BODIES_MAX = 2_048;

/** Bytes of large bodies at once, from the first byte until the handler has ended: six bodies of the largest size. */
const LARGE_BODY_BYTES_MAX = 64 * 1_048_576;

/** Bodies beyond this size are parsed one at a time, in bytes: parsing 256 KiB takes about a millisecond. */
const PARSE_ALONE_BYTES = 262_144;

/** A handler that takes longer than this, in milliseconds, is waiting for something: the next large body may be parsed. */
const PARSE_MS_MAX = 250;

/** An owner alone may hold 80 % of the budget (see `FairSemaphore`). */
const SHARE_OF_FREE = 4;

/** Bodies of one owner that may wait for the budget at once. */
const WAITING_MAX = 100;

/** Longest wait of a body for memory, in milliseconds: half of the time in which a request has to arrive. */
const WAIT_MS_MAX = 5_000;

const RETRY_AFTER_SECONDS = 5;

/**
 * Bodies of callers without a key that are read at once, and how many more of one address may wait. One address has at most
 * as many places as are free: alone it has half of them, and any other address finds some.
 */
const PLACES = {
  /** Anybody may send one, within a second. */
  signIn: { placesMax: 128, waitingMax: 0 },
  /** The caller has the token of a hook or an inbox. A provider may send many at once. */
  callback: { placesMax: 1_024, waitingMax: 1_024 },
} as const;

const PLACE_AFTER_SECONDS = 1;

/** A place for the body of a caller without a key. */
export interface BodyPlace {
  kind: keyof typeof PLACES;
  /** The network of the client. */
  client: string;
}

/** The limits within which a body is read. */
export interface BodyLimits {
  /** Largest body, in bytes; a larger body is a 413. */
  bytesMax: number;
  /** Called once, as soon as a body is certain. Throws to refuse the body. */
  admit?: () => void;
  /** The body has to be here within this time, in milliseconds; else it is a 408. Without a limit the server's own holds for the whole request. */
  withinMs?: number | undefined;
  /** The place that the body takes until it is read, if the caller has no key; else null. */
  place?: BodyPlace | null;
}

/** The budget of all bodies of this process. */
export class BodyBudget {
  readonly #clock: Clock;
  readonly #small = pool(SMALL_BODIES_MAX);
  readonly #large = pool(LARGE_BODY_BYTES_MAX);
  readonly #places = { signIn: placesOf("signIn"), callback: placesOf("callback") };
  /** Held by the one large body that is parsed and handled now. */
  readonly #parsing = new FairSemaphore({ permitsMax: 1, shareOfFree: Number.POSITIVE_INFINITY });

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  /** Bytes of large bodies in memory now. */
  get usedBytes(): number {
    return this.#large.used;
  }

  /** Throws 503 if the request announces a large body and this owner has as many of those waiting as it may. */
  checkQueue(owner: string, request: IncomingMessage): void {
    if (announcedBytes(request) <= SMALL_BODY_BYTES) return;
    if (this.#large.waitingBy(owner) >= WAITING_MAX) throw busy(true);
  }

  /** The body of one request of this owner, neither read nor counted yet. */
  open(owner: string): HeldBody {
    return new HeldBody(this, owner);
  }

  /**
   * Acquires permits for a body of `bytes` bytes, or for so many more bytes of a large body. Waits at most 5 s. Throws 503
   * after that, and `ClientGone` if the client leaves.
   */
  acquire(owner: string, bytes: number, request: IncomingMessage): Release | Promise<Release> {
    const [permits, weight] = bytes <= SMALL_BODY_BYTES ? [this.#small, 1] : [this.#large, bytes];
    return permits.tryAcquire(owner, weight) ?? this.#wait(permits, owner, weight, request);
  }

  /** Takes a place. Waits at most 5 s. Throws 503 after that, and `ClientGone` if the client leaves. */
  acquirePlace({ kind, client }: BodyPlace, request: IncomingMessage): Release | Promise<Release> {
    const permits = this.#places[kind];
    return permits.tryAcquire(client) ?? this.#wait(permits, client, 1, request, tooManyOfClient);
  }

  /** Waits until a large body of this owner may be parsed. */
  async acquireParsing(owner: string, request: IncomingMessage): Promise<Release> {
    const release = await this.#wait(this.#parsing, owner, 1, request);
    let isOver = false;
    const end = () => {
      cancel();
      if (isOver) return;
      isOver = true;
      // Serves requests that came in between before the next large body.
      setImmediate(release);
    };
    const cancel = this.#clock.after(PARSE_MS_MAX, end);
    return end;
  }

  /** A body that is here within `ms`. Throws 408 after that. */
  within(ms: number, read: Promise<Buffer>): Promise<Buffer> {
    return new Promise((resolve, reject) => {
      const late = `The body did not arrive within ${ms / 1_000} s. Send it at once.`;
      const cancel = this.#clock.after(ms, () => reject(new ApiError("REQUEST_TIMEOUT", late)));
      read.then(resolve, reject).finally(cancel);
    });
  }

  async #wait(
    permits: FairSemaphore,
    owner: string,
    weight: number,
    request: IncomingMessage,
    refusal: (isOwn: boolean) => ApiError = busy,
  ): Promise<Release> {
    const abort = new AbortController();
    const gone = () => abort.abort(CLIENT_GONE);
    const cancel = this.#clock.after(WAIT_MS_MAX, () => abort.abort(refusal(permits.usedBy(owner) > 0)));
    request.once("close", gone);
    try {
      const release = await permits.acquire(owner, weight, abort.signal);
      if (release === null) throw refusal(true);
      return release;
    } finally {
      cancel();
      request.off("close", gone);
    }
  }
}

function pool(permitsMax: number): FairSemaphore {
  return new FairSemaphore({ permitsMax, shareOfFree: SHARE_OF_FREE, waitingMax: WAITING_MAX });
}

function placesOf(kind: keyof typeof PLACES): FairSemaphore {
  const { placesMax, waitingMax } = PLACES[kind];
  return new FairSemaphore({ permitsMax: placesMax, shareOfFree: 1, waitingMax });
}

function tooManyOfClient(): ApiError {
  const message = `Too many requests from this address have not sent their bodies yet. Try again in ${PLACE_AFTER_SECONDS} s.`;
  return new ApiError("SERVICE_UNAVAILABLE", message, { retryAfterSeconds: PLACE_AFTER_SECONDS });
}

function busy(isOwn: boolean): ApiError {
  const reason = isOwn
    ? "Other requests of this customer hold its share of the memory for bodies."
    : "Requests of other customers hold the memory for bodies.";
  const message = `${reason} Send fewer requests at once, and try again in ${RETRY_AFTER_SECONDS} s.`;
  return new ApiError("SERVICE_UNAVAILABLE", message, { retryAfterSeconds: RETRY_AFTER_SECONDS });
}

/** The body of one request, and its permits from the budget until `release`. */
export class HeldBody {
  readonly #budget: BodyBudget;
  readonly #owner: string;
  #releases: Release[] = [];
  #isReleased = false;

  constructor(budget: BodyBudget, owner: string) {
    this.#budget = budget;
    this.#owner = owner;
  }

  /**
   * Reads the bytes of the body, empty if there is no body. A body of announced length waits for memory before its first
   * byte; a body in chunks waits whenever it outgrows its permits. Throws as `readBody` does, and 503 if memory is short.
   */
  async read(request: IncomingMessage, response: ServerResponse, limits: BodyLimits): Promise<Buffer> {
    const { place = null } = limits;
    if (place === null) return this.#read(request, response, limits);
    const acquired = this.#budget.acquirePlace(place, request);
    const release = acquired instanceof Promise ? await acquired : acquired;
    try {
      return await this.#read(request, response, limits);
    } finally {
      release();
    }
  }

  #read(request: IncomingMessage, response: ServerResponse, limits: BodyLimits): Promise<Buffer> {
    const { bytesMax, admit = () => {}, withinMs } = limits;
    const read = readBody(request, response, { bytesMax, admit, reserve: (bytes) => this.#reserve(bytes, request) });
    return withinMs === undefined ? read : this.#budget.within(withinMs, read);
  }

  /** Counts the bytes of a body that has been read. Throws as `acquire` does. */
  keepRead({ length }: Uint8Array, request: IncomingMessage): void | Promise<void> {
    return this.#reserve(length, request);
  }

  /** Waits until no other large body is parsed, if this body is large. */
  waitToParse({ length }: Buffer, request: IncomingMessage): void | Promise<void> {
    if (length <= PARSE_ALONE_BYTES) return undefined;
    return this.#budget.acquireParsing(this.#owner, request).then((release) => this.#keep(release));
  }

  /** Returns all permits, after the handler has ended. */
  release(): void {
    this.#isReleased = true;
    for (const release of this.#releases) release();
    this.#releases = [];
  }

  #reserve(bytes: number, request: IncomingMessage): void | Promise<void> {
    const acquired = this.#budget.acquire(this.#owner, bytes, request);
    if (acquired instanceof Promise) return acquired.then((release) => this.#keep(release));
    this.#keep(acquired);
  }

  #keep(release: Release): void {
    if (this.#isReleased) release();
    else this.#releases.push(release);
  }
}
