/** Requests that wait to be accepted: in turns by customer, and none longer than a limit. Knows no clock and does no I/O. */

import { RoundRobin } from "./round-robin.ts";

/** The bounds of a queue. */
export interface AcceptQueueLimits {
  /** Requests that may wait at once; a further one is refused. */
  waitingMax: number;
  /** How long a request may wait, in milliseconds. */
  waitMsMax: number;
}

/** A request in the queue. */
export interface WaitingAccept<Entry> {
  readonly owner: string;
  readonly since: number;
  readonly entry: Entry;
}

/** Serves owners in turn, and the requests of one owner in order of arrival. Every `now` is monotonic. */
export class AcceptQueue<Entry> {
  readonly #limits: AcceptQueueLimits;
  /** In order of arrival. */
  readonly #waiting = new Set<WaitingAccept<Entry>>();
  readonly #turns = new RoundRobin<WaitingAccept<Entry>>();

  constructor(limits: AcceptQueueLimits) {
    this.#limits = limits;
  }

  /** Requests that wait. */
  get size(): number {
    return this.#waiting.size;
  }

  /** Adds a request. Null if too many wait. */
  join(owner: string, now: number, entry: Entry): WaitingAccept<Entry> | null {
    if (this.#waiting.size >= this.#limits.waitingMax) return null;
    const request = { owner, since: now, entry };
    this.#waiting.add(request);
    this.#turns.add(owner, request);
    return request;
  }

  /** Removes a request. False if it waits no more. */
  leave(request: WaitingAccept<Entry>): boolean {
    if (!this.#waiting.delete(request)) return false;
    this.#turns.remove(request.owner, request);
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
