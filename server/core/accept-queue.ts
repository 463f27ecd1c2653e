/**
 * Requests that wait to be accepted: in turns by customer, and none longer than a limit. Knows no clock and does no I/O. A fair
 * semaphore bounds who may wait; it does not admit, since the lag of sending admits, and no request gives a permit back.
 */

import { FairSemaphore, type Release } from "./fair-semaphore.ts";
import { RoundRobin } from "./round-robin.ts";

/** An owner may hold this multiple of the free places: 80 % of all when alone, 44 % each of two (see `FairSemaphore`). */
const SHARE_OF_FREE = 4;

/** The bounds of a queue. */
export interface AcceptQueueLimits {
  /** Requests that may wait at once, those of all owners; a further one is refused. */
  waitingMax: number;
  /** How long a request may wait, in milliseconds. */
  waitMsMax: number;
}

/** A request in the queue. */
export interface WaitingAccept<Entry> {
  readonly owner: string;
  readonly since: number;
  readonly entry: Entry;
  readonly releasePlace: Release;
}

/** Serves owners in turn, and the requests of one owner in order of arrival. Every `now` is monotonic. */
export class AcceptQueue<Entry> {
  readonly #limits: AcceptQueueLimits;
  /** In order of arrival. */
  readonly #waiting = new Set<WaitingAccept<Entry>>();
  readonly #places: FairSemaphore;
  readonly #turns = new RoundRobin<WaitingAccept<Entry>>();

  constructor(limits: AcceptQueueLimits) {
    this.#limits = limits;
    this.#places = new FairSemaphore({ permitsMax: limits.waitingMax, shareOfFree: SHARE_OF_FREE });
  }

  /** Requests that wait. */
  get size(): number {
    return this.#waiting.size;
  }

  /** Adds a request. Null if too many wait, of all owners or of this one. */
  join(owner: string, now: number, entry: Entry): WaitingAccept<Entry> | null {
    const releasePlace = this.#places.tryAcquire(owner);
    if (releasePlace === null) return null;
    const request = { owner, since: now, entry, releasePlace };
    this.#waiting.add(request);
    this.#turns.add(owner, request);
    return request;
  }

  /** Removes a request. False if it waits no more. */
  leave(request: WaitingAccept<Entry>): boolean {
    if (!this.#waiting.delete(request)) return false;
    this.#turns.remove(request.owner, request);
    request.releasePlace();
    return true;
  }

  /** Removes the requests that have waited for as long as they may, then `count` others in turn, and returns all of them. */
  admit(now: number, count: number): Entry[] {
    const admitted: WaitingAccept<Entry>[] = [];
    for (const request of this.#waiting) {
      if (now - request.since < this.#limits.waitMsMax) break;
      admitted.push(request);
    }
    for (const request of admitted) this.leave(request);
    for (let left = count; left > 0 && this.size > 0; left -= 1) {
      const request = this.#turns.take(this.#turns.nextOwner() ?? "");
      if (request === null) break;
      this.leave(request);
      admitted.push(request);
    }
    return admitted.map(({ entry }) => entry);
  }

  /** Removes and returns all. */
  clear(): Entry[] {
    const all = [...this.#waiting];
    for (const request of all) this.leave(request);
    return all.map(({ entry }) => entry);
  }
}
