/** Sends files to clients. Limits their memory, and ends them when a client stalls or the service stops. */

import type { ServerResponse } from "node:http";
import type { Clock } from "../clock.ts";
import { ApiError } from "../core/error.ts";
import { FairSemaphore, type Release } from "../core/fair-semaphore.ts";
import type { CustomerId } from "../core/id.ts";
import { closeAfter, type OpenResponses } from "./open-responses.ts";

/** Bytes of downloads in memory at once, from the read until the client has received them. */
const HELD_BYTES_MAX = 256 * 1_048_576;
/** A customer alone may hold half of the memory, so that another file of the largest size still fits (see `FairSemaphore`). */
const SHARE_OF_FREE = 1;
const BUSY_RETRY_AFTER_SECONDS = 5;
/** Bytes that are written, and then released, at a time. */
const PIECE_BYTES = 1_048_576;
/** Pieces cut before other requests are served: 16 MiB take some 5 ms. */
const PIECES_AT_ONCE = 16;
/** A client that reads nothing for so long is disconnected, in milliseconds. */
const IDLE_MS_MAX = 20_000;
/** How long a download may go on while the service stops, in milliseconds: less than the whole stop may take. */
const STOP_MS_MAX = 20_000;

/** The downloads of this process. */
export class Downloads {
  readonly #clock: Clock;
  readonly #openResponses: OpenResponses;
  readonly #permits = new FairSemaphore({ permitsMax: HELD_BYTES_MAX, shareOfFree: SHARE_OF_FREE });

  constructor(clock: Clock, openResponses: OpenResponses) {
    this.#clock = clock;
    this.#openResponses = openResponses;
  }

  /** Bytes of downloads in memory now. */
  get usedBytes(): number {
    return this.#permits.used;
  }

  /** Reserves memory for a file of this customer. Throws 503 if the customer's share of the memory for downloads is used up. */
  acquire(customerId: CustomerId, bytes: number): Release {
    const release = this.#permits.tryAcquire(customerId, bytes);
    if (release !== null) return release;
    const whose = this.#permits.usedBy(customerId) > 0 ? " of this customer's files" : "";
    throw new ApiError("SERVICE_UNAVAILABLE", `Too many downloads${whose} are open at once; try again.`, {
      retryAfterSeconds: BUSY_RETRY_AFTER_SECONDS,
    });
  }

  /**
   * Writes the bytes, and releases each piece when the client has received it. Disconnects a client that stops reading, or
   * that has not received everything when the service has to stop.
   */
  send(bytes: Uint8Array, release: Release, response: ServerResponse): void {
    let cancel = () => {};
    const forget = this.#openResponses.add(() => {
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
    // Ends only after the last piece is out: a connection whose response has ended counts as idle, and a stop closes it.
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

/** Copies the bytes into pieces, so that the memory of each piece is freed when it is sent and not with the last one. */
async function cut(bytes: Uint8Array): Promise<Uint8Array[]> {
  if (bytes.length <= PIECE_BYTES && bytes.length === bytes.buffer.byteLength) return [bytes];
  const pieces: Uint8Array[] = [];
  for (let start = 0; start < bytes.length; start += PIECE_BYTES) {
    // `Buffer.slice` would return a view.
    pieces.push(Uint8Array.prototype.slice.call(bytes, start, start + PIECE_BYTES));
    if (pieces.length % PIECES_AT_ONCE === 0) await new Promise((resolve) => setImmediate(resolve));
  }
  return pieces;
}
