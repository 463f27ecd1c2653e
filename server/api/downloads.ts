/** Files on their way to clients: how much of them may be in memory, and their end when a client or the service stops. */

import type { ServerResponse } from "node:http";
import type { Clock } from "../clock.ts";
import { ApiError } from "../core/error.ts";
import { FairSemaphore, type Release } from "../core/fair-semaphore.ts";
import type { CustomerId } from "../core/id.ts";
import { closeAfter, type OpenResponses } from "./open-responses.ts";

/** Bytes of downloads in memory at once, from reading them until the client has taken them. */
const HELD_BYTES_MAX = 256 * 1_048_576;
/** A customer alone may hold half of it, so that a file of the largest size still fits in beside (see `FairSemaphore`). */
const SHARE_OF_FREE = 1;
const BUSY_RETRY_AFTER_SECONDS = 5;
/** Bytes that are written, and given back, at a time. */
const PIECE_BYTES = 1_048_576;
/** Pieces that are cut before other requests get their turn: 16 MiB take some 5 ms. */
const PIECES_AT_ONCE = 16;
/** A client that takes nothing for so long is given up, in milliseconds. */
const IDLE_MS_MAX = 20_000;
/** How long a download may go on while the service stops, in milliseconds: less than that has in all. */
const STOP_MS_MAX = 20_000;

/** The downloads of this process. */
export class Downloads {
  readonly #clock: Clock;
  readonly #lasting: OpenResponses;
  readonly #permits = new FairSemaphore({ permitsMax: HELD_BYTES_MAX, shareOfFree: SHARE_OF_FREE });

  constructor(clock: Clock, lasting: OpenResponses) {
    this.#clock = clock;
    this.#lasting = lasting;
  }

  /** Bytes that are counted now. */
  get usedBytes(): number {
    return this.#permits.used;
  }

  /** Counts the bytes of a file of this customer. Throws a 503 when its share of the memory for downloads is used up. */
  acquire(customerId: CustomerId, bytes: number): Release {
    const release = this.#permits.tryAcquire(customerId, bytes);
    if (release !== null) return release;
    const whose = this.#permits.usedBy(customerId) > 0 ? " of this customer's files" : "";
    throw new ApiError("SERVICE_UNAVAILABLE", `Too many downloads${whose} are open at once; try again.`, {
      retryAfterSeconds: BUSY_RETRY_AFTER_SECONDS,
    });
  }

  /**
   * Writes bytes out, and gives back by `release` each piece that the client has taken. A client that takes nothing any
   * more, or not all while the service stops, is cut off.
   */
  send(bytes: Uint8Array, release: Release, response: ServerResponse): void {
    let cancel = () => {};
    const forget = this.#lasting.add(() => {
      closeAfter(response);
      cancel = this.#clock.after(STOP_MS_MAX, () => response.destroy());
    });
    response.once("close", () => {
      forget();
      cancel();
      release();
    });
    response.setTimeout(IDLE_MS_MAX, () => response.destroy());
    void pour(bytes, release, response);
  }
}

async function pour(bytes: Uint8Array, release: Release, response: ServerResponse): Promise<void> {
  const pieces = await cut(bytes);
  const next = () => {
    const piece = pieces.shift();
    // Ended only when all of it is out: a connection whose answer has ended counts as idle, and is closed at a stop.
    if (piece === undefined) response.end();
    else if (!response.destroyed) {
      response.write(piece, () => {
        release(piece.length);
        next();
      });
    }
  };
  next();
}

/** The bytes in pieces with memory of their own, so that a piece is freed when it is sent, and not with the last one. */
async function cut(bytes: Uint8Array): Promise<Uint8Array[]> {
  if (bytes.length <= PIECE_BYTES && bytes.length === bytes.buffer.byteLength) return [bytes];
  const pieces: Uint8Array[] = [];
  for (let start = 0; start < bytes.length; start += PIECE_BYTES) {
    // Of a Buffer, its own `slice` would be a view.
    pieces.push(Uint8Array.prototype.slice.call(bytes, start, start + PIECE_BYTES));
    if (pieces.length % PIECES_AT_ONCE === 0) await new Promise((resolve) => setImmediate(resolve));
  }
  return pieces;
}
