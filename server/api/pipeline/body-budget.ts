/** The memory that bodies of requests take while they are read and worked on: one budget for all of them, in turns by customer. */

import type { IncomingMessage, ServerResponse } from "node:http";
import type { Clock } from "../../clock.ts";
import { ApiError } from "../../core/error.ts";
import { FairSemaphore, type Release } from "../../core/fair-semaphore.ts";
import { announcedBytes, ClientGone, readBody } from "./body.ts";

/** Up to this size a body is small: it is counted by number, so that it never waits behind large ones. In bytes. */
const SMALL_BODY_BYTES = 16_384;

/** Small bodies at once: 32 MiB, if each had its full size. */
const SMALL_BODIES_MAX = 2_048;

/** Bytes of large bodies at once, from their first byte until their handler has ended: six of the largest. */
const LARGE_BODY_BYTES_MAX = 64 * 1_048_576;

/** From this size on, bodies are parsed one at a time: parsing 256 KiB takes about a millisecond. */
const TURN_BYTES_MIN = 262_144;

/** A handler that takes longer than this gives its turn to the next large body, in milliseconds: it waits for something. */
const TURN_MS_MAX = 250;

/** An owner alone may hold 80 % of the budget (see `FairSemaphore`). */
const SHARE_OF_FREE = 4;

/** Bodies of one owner that may wait for the budget at once. */
const WAITING_MAX = 100;

/** How long a body waits before its request is refused, in milliseconds: half of what a request has to arrive. */
const WAIT_MS_MAX = 5_000;

const RETRY_AFTER_SECONDS = 5;

/** How a body is read. */
export interface BodyLimits {
  /** Largest body, in bytes; a larger one is a 413. */
  bytesMax: number;
  /** Asked once, as soon as it is certain that there is a body; refuses by throwing. */
  admit?: () => void;
}

/** The budget of all bodies of this process. */
export class BodyBudget {
  readonly #clock: Clock;
  readonly #small = pool(SMALL_BODIES_MAX);
  readonly #large = pool(LARGE_BODY_BYTES_MAX);
  /** The body that is being parsed and handled. */
  readonly #turn = new FairSemaphore({ permitsMax: 1, shareOfFree: Number.POSITIVE_INFINITY });

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  /** Bytes of large bodies that are counted now. */
  get usedBytes(): number {
    return this.#large.used;
  }

  /** Throws a 503 if this owner has as many bodies waiting as it may, and the request announces another large one. */
  checkQueue(owner: string, request: IncomingMessage): void {
    if (announcedBytes(request) <= SMALL_BODY_BYTES) return;
    if (this.#large.waitingBy(owner) >= WAITING_MAX) throw busy(true);
  }

  /** The body of one request of this owner: not read yet, and nothing counted. */
  open(owner: string): HeldBody {
    return new HeldBody(this, owner);
  }

  /**
   * Permits for a body of `bytes` bytes, or for so many more of a large one. Waits for the owner's turn, at most 5 s;
   * throws a 503 after that, and `ClientGone` if the client goes away.
   */
  acquire(owner: string, bytes: number, request: IncomingMessage): Release | Promise<Release> {
    const [permits, weight] = bytes <= SMALL_BODY_BYTES ? [this.#small, 1] : [this.#large, bytes];
    return permits.tryAcquire(owner, weight) ?? this.#wait(permits, owner, weight, request);
  }

  /** Waits until this owner may have a large body parsed and handled. */
  async acquireTurn(owner: string, request: IncomingMessage): Promise<Release> {
    const release = await this.#wait(this.#turn, owner, 1, request);
    let isOver = false;
    const end = () => {
      cancel();
      if (isOver) return;
      isOver = true;
      // Requests that came meanwhile are answered before the next large body.
      setImmediate(release);
    };
    const cancel = this.#clock.after(TURN_MS_MAX, end);
    return end;
  }

  async #wait(permits: FairSemaphore, owner: string, weight: number, request: IncomingMessage): Promise<Release> {
    const abort = new AbortController();
    const gone = () => abort.abort(new ClientGone());
    const cancel = this.#clock.after(WAIT_MS_MAX, () => abort.abort(busy(permits.usedBy(owner) > 0)));
    request.once("close", gone);
    try {
      const release = await permits.acquire(owner, weight, abort.signal);
      if (release === null) throw busy(true);
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

function busy(isOwn: boolean): ApiError {
  const what = isOwn
    ? "Requests of this customer already hold its share of the memory for bodies"
    : "Requests of others already hold the memory for bodies";
  return new ApiError(
    "SERVICE_UNAVAILABLE",
    `${what}. Send fewer at once, and try again in ${RETRY_AFTER_SECONDS} s.`,
    {
      retryAfterSeconds: RETRY_AFTER_SECONDS,
    },
  );
}

/** The body of one request, and what it holds of the budget until `release`. */
export class HeldBody {
  readonly #bodies: BodyBudget;
  readonly #owner: string;
  #releases: Release[] = [];
  #isReleased = false;

  constructor(bodies: BodyBudget, owner: string) {
    this.#bodies = bodies;
    this.#owner = owner;
  }

  /**
   * The bytes of the body, empty if there is none. A body of announced length waits before its first byte is taken; one
   * in chunks waits each time it outgrows what it holds. Throws as `readBody` does, and a 503 if the budget is used up.
   */
  read(request: IncomingMessage, response: ServerResponse, wanted: BodyLimits): Promise<Buffer> {
    const { bytesMax, admit = () => {} } = wanted;
    return readBody(request, response, { bytesMax, admit, reserve: (bytes) => this.#reserve(bytes, request) });
  }

  /** Waits, if these bytes are many, until no other large body is being parsed. */
  turn({ length }: Buffer, request: IncomingMessage): void | Promise<void> {
    if (length <= TURN_BYTES_MIN) return undefined;
    return this.#bodies.acquireTurn(this.#owner, request).then((release) => this.#keep(release));
  }

  /** Gives everything back: the handler has ended. */
  release(): void {
    this.#isReleased = true;
    for (const release of this.#releases) release();
    this.#releases = [];
  }

  #reserve(bytes: number, request: IncomingMessage): void | Promise<void> {
    const acquired = this.#bodies.acquire(this.#owner, bytes, request);
    if (acquired instanceof Promise) return acquired.then((release) => this.#keep(release));
    this.#keep(acquired);
  }

  #keep(release: Release): void {
    if (this.#isReleased) release();
    else this.#releases.push(release);
  }
}
