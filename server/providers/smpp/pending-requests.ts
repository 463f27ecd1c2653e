/** Our requests on one session that wait for their answer: numbered, matched, given up in time. No I/O. */

import type { Clock } from "../../clock.ts";
import type { CommandName, Pdu } from "./pdu.ts";

/** SMPP 3.4, 5.1.4: from 1 to this. */
const SEQUENCE_MAX = 0x7fff_ffff;

/** An answer of the peer's. */
export type ResponsePdu = Extract<Pdu, { status: number }>;

/** Is told the answer, or null when there will be none that is waited for. */
export type OnResponse = (answer: ResponsePdu | null) => void;

interface PendingRequest {
  expects: CommandName;
  onResponse: OnResponse;
  stop: () => void;
}

export class PendingRequests {
  readonly #clock: Clock;
  readonly #limitMs: number;
  readonly #readingPausedUntil: () => number;
  readonly #open = new Map<number, PendingRequest>();
  #last: number;
  #strays = 0;

  /**
   * A request is given up after `limitMs`. `readingPausedUntil` says up to when (real) we did not listen: what we may not have
   * heard is not held against the peer, and the request gets its time again. `last` is the number before the first.
   */
  constructor(clock: Clock, limitMs: number, readingPausedUntil: () => number, last = 0) {
    this.#clock = clock;
    this.#limitMs = limitMs;
    this.#readingPausedUntil = readingPausedUntil;
    this.#last = last;
  }

  /** Opens a request and answers its sequence number. `settle` is called once, never before this returns. */
  open(expects: CommandName, onResponse: OnResponse): number {
    this.#last = this.#last >= SEQUENCE_MAX ? 1 : this.#last + 1;
    const open: PendingRequest = { expects, onResponse, stop() {} };
    this.#open.set(this.#last, open);
    this.#arm(this.#last, open);
    return this.#last;
  }

  /**
   * Settles the request that was answered. An answer that nobody waits for, a second one, and one of another kind are
   * counted and change nothing; a generic_nack answers whatever it names.
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

  /** Counts an answer that could not be read at all. */
  stray(): void {
    this.#strays += 1;
  }

  /** Settles all that is open with null. */
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

  #arm(sequence: number, open: PendingRequest): void {
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
