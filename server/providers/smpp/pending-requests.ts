/** Our requests on one session that wait for a response: numbers them, matches responses, and times out. No I/O. */

import type { Clock } from "../../clock.ts";
import type { CommandName, Pdu } from "./pdu.ts";

/** The largest sequence number (SMPP 3.4, 5.1.4). */
const SEQUENCE_MAX = 0x7fff_ffff;

/** A response from the SMSC. */
export type ResponsePdu = Extract<Pdu, { status: number }>;

/** Gets the response, or null if there will be none. */
export type OnResponse = (answer: ResponsePdu | null) => void;

interface AwaitedResponse {
  expects: CommandName;
  onResponse: OnResponse;
  stop: () => void;
}

export class PendingRequests {
  readonly #clock: Clock;
  readonly #limitMs: number;
  readonly #readingPausedUntil: () => number;
  readonly #open = new Map<number, AwaitedResponse>();
  #last: number;
  #strays = 0;

  /**
   * A request times out after `limitMs`. `readingPausedUntil` returns the real time up to which the session did not
   * read: a response may have been waiting there, so the request then gets its full time again. `last` is the number
   * before the first.
   */
  constructor(clock: Clock, limitMs: number, readingPausedUntil: () => number, last = 0) {
    this.#clock = clock;
    this.#limitMs = limitMs;
    this.#readingPausedUntil = readingPausedUntil;
    this.#last = last;
  }

  /** Opens a request and returns its sequence number. `onResponse` is called once, and never before `open` returns. */
  open(expects: CommandName, onResponse: OnResponse): number {
    this.#last = this.#last >= SEQUENCE_MAX ? 1 : this.#last + 1;
    const open: AwaitedResponse = { expects, onResponse, stop() {} };
    this.#open.set(this.#last, open);
    this.#arm(this.#last, open);
    return this.#last;
  }

  /**
   * Ends the request that the response belongs to. A late or repeated response, and one of another command, is counted
   * and changes nothing. A generic_nack may answer any request.
   */
  receive(answer: ResponsePdu): void {
    const open = this.#open.get(answer.sequence);
    if (open === undefined || (answer.command !== open.expects && answer.command !== "generic_nack")) {
      this.#strays += 1;
      return;
    }
    open.stop();
    this.#open.delete(answer.sequence);
    open.onResponse(answer);
  }

  /** Counts a response that could not be read. */
  stray(): void {
    this.#strays += 1;
  }

  /** Ends all open requests without a response. */
  endAll(): void {
    const open = [...this.#open.values()];
    this.#open.clear();
    for (const each of open) {
      each.stop();
      each.onResponse(null);
    }
  }

  get strays(): number {
    return this.#strays;
  }

  #arm(sequence: number, open: AwaitedResponse): void {
    const since = this.#clock.real();
    open.stop = this.#clock.after(this.#limitMs, () => {
      if (this.#readingPausedUntil() > since) {
        this.#arm(sequence, open);
        return;
      }
      this.#open.delete(sequence);
      open.onResponse(null);
    });
  }
}
