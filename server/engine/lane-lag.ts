/** Tells work of a lane that waits for this process from work that waits for its peer: a provider or a receiver. */

/** Weight of the last run in the averages of a lane. */
const LAST_WEIGHT = 0.1;
/** A peer that responds within this many turns of the event loop is not what its lane waits for. */
const PEER_TURNS = 4;

/**
 * Waiting work of a lane lags only if nothing else holds it up:
 *
 * | The lane | Its work |
 * |---|---|
 * | its runs spend half of their time or more waiting for the peer, and longer than four turns of the event loop | waits for a slow peer |
 * | half of its runs or more have waited for the peer for longer than that | waits for a peer that hangs |
 * | is paused, its account is down, or its owner has no permit left for it | waits for that |
 * | any other | lags, since the instant at which it was due and nothing above held |
 *
 * A busy process reads a response only when its event loop comes round again, so a fast peer looks as slow as the loop. Work behind
 * such a peer does not wait for the peer.
 */
export class LaneLag {
  readonly #monotonic: () => number;
  #running = 0;
  /** The runs that wait for their peer, and since when; the longest wait first. */
  readonly #asking = new Map<RunTimes, number>();
  /** Averages of a run, in milliseconds: from its beginning to its end, and its wait for the peer. */
  #heldMs = 0;
  #peerMs = 0;
  /** Until then the work of the lane waited for something that is not this process. */
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

  /** The work of the lane waits for something that is not this process. */
  hold(now: number): void {
    this.#heldUntil = now;
  }

  /** For how long work that waits since `since` could have run, in milliseconds. `turnMs`: a turn of the event loop. */
  lagMs(since: number, now: number, turnMs: number): number {
    if (this.#waitsForPeer(now, turnMs * PEER_TURNS)) this.hold(now);
    return now - Math.max(since, this.#heldUntil);
  }

  #waitsForPeer(now: number, soonMs: number): boolean {
    if (this.#peerMs > soonMs && this.#peerMs * 2 >= this.#heldMs) return true;
    let hanging = 0;
    for (const since of this.#asking.values()) {
      if (now - since <= soonMs) break;
      hanging += 1;
    }
    return hanging > 0 && hanging * 2 >= this.#running;
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
