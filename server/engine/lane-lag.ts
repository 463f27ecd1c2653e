/** Measures for how long the runs of a lane wait for its peer, a provider or a receiver. */

/** Weight of the last run in the averages of a lane. */
const LAST_WEIGHT = 0.1;

/**
 * The times of a lane's runs. They wait for the peer if, on average, they spend at least half of their time waiting for it, or if half
 * of the present ones do: the peer hangs.
 */
export class LaneLag {
  readonly #monotonic: () => number;
  #running = 0;
  /** The runs that wait for their peer, and since when; the longest wait first. */
  readonly #asking = new Map<RunTimes, number>();
  /** Averages of a run, in milliseconds: from its beginning to its end, and its wait for the peer. */
  #heldMs = 0;
  #peerMs = 0;
  #heldUntil = Number.NEGATIVE_INFINITY;

  constructor(monotonic: () => number) {
    this.#monotonic = monotonic;
  }

  begin(): RunTimes {
    this.#running += 1;
    return new RunTimes(this, this.#monotonic, this.#monotonic());
  }

  /** A run waits for its peer since this instant; null: no longer. */
  asking(run: RunTimes, since: number | null): void {
    if (since === null) this.#asking.delete(run);
    else this.#asking.set(run, since);
  }

  ended(heldMs: number, peerMs: number): void {
    this.#running -= 1;
    this.#heldMs += (heldMs - this.#heldMs) * LAST_WEIGHT;
    this.#peerMs += (peerMs - this.#peerMs) * LAST_WEIGHT;
  }

  /** The time in which a run of the lane holds its permit, in milliseconds; 0 before the first one has ended. */
  get runMs(): number {
    return this.#heldMs;
  }

  /** The work of the lane waits for something that is not this process. */
  hold(now: number): void {
    this.#heldUntil = now;
  }

  /** Until when the work of the lane waited for something that is not this process (monotonic time). */
  get heldUntil(): number {
    return this.#heldUntil;
  }

  /** Whether the runs of the lane wait for its peer. `soonMs`: a peer that responds within this time is not slow. */
  waitsForPeer(now: number, soonMs: number): boolean {
    if (this.#peerMs > soonMs && this.#peerMs * 2 >= this.#heldMs) return true;
    const waiting = this.runsWaiting(now, soonMs);
    return waiting > 0 && waiting * 2 >= this.#running;
  }

  /** The runs that have waited for their peer for longer than `soonMs`. */
  runsWaiting(now: number, soonMs: number): number {
    let waiting = 0;
    for (const since of this.#asking.values()) {
      if (now - since <= soonMs) break;
      waiting += 1;
    }
    return waiting;
  }
}

/** Times one run: for how long it holds its permit, and for how much of that time it waits for its peer. */
export class RunTimes {
  readonly #lane: LaneLag;
  readonly #monotonic: () => number;
  #beganAt: number;
  #askedAt: number | null = null;
  #peerMs = 0;
  #hasEnded = false;

  constructor(lane: LaneLag, monotonic: () => number, beganAt: number) {
    this.#lane = lane;
    this.#monotonic = monotonic;
    this.#beganAt = beganAt;
  }

  /** The work of the run begins only now: before, it waited for another run. */
  begins(): void {
    this.answered();
    this.#peerMs = 0;
    this.#beganAt = this.#monotonic();
  }

  /** From now on the run waits for its peer, or for another run that may wait for a peer. */
  asks(): void {
    // A run may go on without its permit: the lane does not wait for it any more.
    if (this.#askedAt !== null || this.#hasEnded) return;
    this.#askedAt = this.#monotonic();
    this.#lane.asking(this, this.#askedAt);
  }

  answered(): void {
    if (this.#askedAt === null) return;
    this.#peerMs += this.#monotonic() - this.#askedAt;
    this.#askedAt = null;
    this.#lane.asking(this, null);
  }

  /** The run releases its permit. To be called once. */
  ended(): void {
    this.answered();
    this.#hasEnded = true;
    this.#lane.ended(this.#monotonic() - this.#beganAt, this.#peerMs);
  }
}
