/** Back-pressure: accepts wait while sending lags behind, so that accepting never starves sending. */

import { addAbortListener } from "node:events";
import type { Clock } from "../../clock.ts";
import { AcceptQueue } from "../../core/accept-queue.ts";
import { overloaded } from "../../core/error.ts";
import type { CustomerId } from "../../core/id.ts";
import { pauseAfter } from "../../core/look-pause.ts";
import type { Store } from "../../store/store.ts";

/** Requests and transactions that may wait, before new writes are refused with a 503. */
const WAITING_MAX = 2_000;
/** An accept is admitted after this time whatever lags, in milliseconds. */
const WAIT_MS_MAX = 1_000;
/** Accepts wait beyond this lag, in milliseconds. */
export const LAG_MS_MAX = 100;
/** How often waiting accepts are considered, and the lag is read at most, in milliseconds. A busy process does both later. */
const TICK_MS = 5;
/** For how long a reading of the lag counts: there may be thousands of lanes. */
const READINGS = { costFactor: 50, msMin: TICK_MS, msMax: 250 };
/** Accepts admitted in a millisecond once nothing lags, however late the ticks come. */
const ADMITTED_PER_MS = 3.2;
/** Accepts admitted at a time, at most: the work that they cause is seen before the next ones. */
const ADMITTED_MAX = 128;
/** While something lags, one accept is admitted after this many runs of the loops: most of the pipeline works off what waits. */
const RUNS_PER_ACCEPT = 16;
/** `Retry-After` of a refused request, in seconds. */
const BUSY_RETRY_AFTER_SECONDS = 1;

/** The loops that send messages and deliver webhooks. */
export interface Pipeline {
  /** Age of the oldest work of each loop that could start now and has not, in milliseconds. */
  lagMs(): Record<"dispatch" | "deliver", number>;
  /** Runs that have ended since the start. */
  ended(): number;
}

/**
 * When an accept begins:
 *
 * | | The accept |
 * |---|---|
 * | the lag is at most 100 ms, and no accept waits | begins at once |
 * | the lag is at most 100 ms | waits its turn; 3.2 accepts begin in a millisecond, at most 128 at a time |
 * | the lag is longer | waits its turn; one accept begins after every 16 runs of the pipeline |
 * | it has waited 1 s | begins |
 * | 2,000 requests and transactions wait | is refused with a 503 |
 * | its customer has its share of the 2,000 places | is refused with a 503 |
 * | the service stops | begins at once: a request in flight is finished |
 * | its client leaves | leaves the queue |
 *
 * The lag is the age of work that could start now and has not (`loop-lag.ts`). Customers have turns. A full disk is no lag.
 */
export class BackPressure {
  readonly #clock: Clock;
  readonly #store: Pick<Store, "backlog" | "isFull">;
  readonly #pipeline: Pipeline;
  readonly #queue = new AcceptQueue<PromiseWithResolvers<void>>({ waitingMax: WAITING_MAX, waitMsMax: WAIT_MS_MAX });
  /** The longer lag, as it was read last. */
  #lagMs = 0;
  /** The lag is not read again before. */
  #lagKnownUntil = Number.NEGATIVE_INFINITY;
  /** Accepts that wait have been considered for the time up to here (monotonic), and for so many ended runs. */
  #considered = { at: 0, ended: 0 };
  #cancelTick: (() => void) | null = null;
  #isStopped = false;

  constructor({ clock, store }: { clock: Clock; store: Pick<Store, "backlog" | "isFull"> }, pipeline: Pipeline) {
    this.#clock = clock;
    this.#store = store;
    this.#pipeline = pipeline;
  }

  /** Accepts that wait. */
  get waiting(): number {
    return this.#queue.size;
  }

  /** The lag of each loop, in milliseconds. Nothing lags while the disk is full. */
  lagMs(): ReturnType<Pipeline["lagMs"]> {
    return this.#store.isFull ? { dispatch: 0, deliver: 0 } : this.#pipeline.lagMs();
  }

  /** Null while the service can take on writes; else after how many seconds callers should try again. */
  get overloadSeconds(): number | null {
    return this.#queue.size + this.#store.backlog > WAITING_MAX ? BUSY_RETRY_AFTER_SECONDS : null;
  }

  /**
   * Resolves when an accept of the customer may begin. Undefined: it may begin at once. Rejects with the reason of `gone`
   * if its client leaves. Throws a 503 if too many wait.
   */
  turn(customerId: CustomerId, gone: () => AbortSignal): Promise<void> | undefined {
    if (this.#isStopped) return undefined;
    const now = this.#clock.monotonic();
    if (this.#queue.size === 0 && this.#readLag(now) <= LAG_MS_MAX) return undefined;
    const client = gone();
    client.throwIfAborted();
    const turn = Promise.withResolvers<void>();
    const waiting = this.#queue.join(customerId, now, turn);
    if (waiting === null) throw overloaded(BUSY_RETRY_AFTER_SECONDS);
    // After a response the signal is aborted too.
    addAbortListener(client, () => {
      if (this.#queue.leave(waiting)) turn.reject(client.reason);
    });
    if (this.#cancelTick === null) this.#considered = { at: now, ended: this.#pipeline.ended() };
    this.#setTick();
    return turn.promise;
  }

  /** Admits the accepts that wait, and all later ones: requests in flight are finished. */
  stop(): void {
    this.#isStopped = true;
    this.#cancelTick?.();
    this.#cancelTick = null;
    for (const { resolve } of this.#queue.clear()) resolve();
  }

  #readLag(now: number): number {
    if (now < this.#lagKnownUntil) return this.#lagMs;
    const { dispatch, deliver } = this.lagMs();
    this.#lagMs = Math.max(dispatch, deliver);
    const tookMs = this.#clock.monotonic() - now;
    this.#lagKnownUntil = now + tookMs + pauseAfter(tookMs, READINGS);
    return this.#lagMs;
  }

  #setTick(): void {
    this.#cancelTick ??= this.#clock.after(TICK_MS, () => {
      this.#cancelTick = null;
      const now = this.#clock.monotonic();
      for (const { resolve } of this.#queue.admit(now, this.#admittedNow(now))) resolve();
      if (this.#queue.size > 0) this.#setTick();
    });
  }

  /** Accepts that may begin now: by the time that has passed or, while something lags, by the runs that have ended. */
  #admittedNow(now: number): number {
    const ended = this.#pipeline.ended();
    const { at: lastAt, ended: lastEnded } = this.#considered;
    if (this.#readLag(now) <= LAG_MS_MAX) {
      this.#considered = { at: now, ended };
      return Math.min(Math.floor((now - lastAt) * ADMITTED_PER_MS), ADMITTED_MAX);
    }
    const accepts = Math.floor((ended - lastEnded) / RUNS_PER_ACCEPT);
    this.#considered = { at: now, ended: lastEnded + accepts * RUNS_PER_ACCEPT };
    return accepts;
  }
}
