/**
 * A pool of permits that owners (customers) share fairly: owners are served in turn, and each has a cap that grows while others
 * need less. Knows no clock and does no I/O.
 */

/**
 * Releases `weight` permits, at most those still held, or all of them. A call without permits left does nothing.
 */
export type Release = (weight?: number) => void;

/** The bounds of a pool. */
export interface FairSemaphoreOptions {
  /** Permits in all: open requests, streams, bytes. */
  permitsMax: number;
  /**
   * An owner may hold up to this many times the permits that are free (a dynamic threshold: Choudhury and Hahne, "Dynamic
   * queue length thresholds for shared-memory packet switches", 1998). With 4, an owner alone holds at most 80 % of the
   * pool, two hold 44 % each, and a new owner always finds permits. Infinity: no cap, only fair order.
   */
  shareOfFree: number;
  /** Requests of one owner that may wait at once; a further one is refused. Default: no bound. */
  waitingMax?: number;
}

interface SemaphoreRequest {
  weight: number;
  grant: (release: Release) => void;
}

interface SemaphoreOwner {
  used: number;
  /** Virtual time of the next request of this owner (start-time fair queueing: Goyal, Vin, Cheng, 1996). */
  turn: number;
  waiting: SemaphoreRequest[];
}

/**
 * Shares permits among owners. A request of weight `w` takes `w` permits. An owner without permits may take as many as are
 * free; an owner with permits takes more only within its share. Waiting requests are granted fairly: the owner that recently
 * took the least weight is served first, and requests of one owner are served in order of arrival.
 */
export class FairSemaphore {
  readonly #permitsMax: number;
  readonly #shareOfFree: number;
  readonly #waitingMax: number;
  /** Owners that hold permits or wait for some. */
  readonly #owners = new Map<string, SemaphoreOwner>();
  #used = 0;
  /** Requests that wait, of all owners. */
  #waiting = 0;
  /** Virtual time of the last granted request. */
  #turn = 0;

  constructor({ permitsMax, shareOfFree, waitingMax = Number.POSITIVE_INFINITY }: FairSemaphoreOptions) {
    this.#permitsMax = permitsMax;
    this.#shareOfFree = shareOfFree;
    this.#waitingMax = waitingMax;
  }

  /** Permits in use. */
  get used(): number {
    return this.#used;
  }

  /** Permits that this owner holds. */
  usedBy(owner: string): number {
    return this.#owners.get(owner)?.used ?? 0;
  }

  /** Requests of this owner that wait. */
  waitingBy(owner: string): number {
    return this.#owners.get(owner)?.waiting.length ?? 0;
  }

  /** Permits that this owner could take now, one by one, without waiting. */
  room(owner: string): number {
    const free = this.#permitsMax - this.#used;
    if (this.#shareOfFree === Number.POSITIVE_INFINITY) return free;
    const used = this.usedBy(owner);
    // Each permit reduces `free`: the largest n with used + n <= share * (free - n), plus the one that an owner without
    // permits may always take.
    const within = Math.floor((this.#shareOfFree * free - used) / (1 + this.#shareOfFree));
    return Math.min(free, Math.max(within, used === 0 ? 1 : 0));
  }

  /** Takes permits without waiting. Null if the share or the pool is used up, or other requests wait. */
  tryAcquire(owner: string, weight = 1): Release | null {
    if (this.#next() !== null || (this.#owners.get(owner)?.waiting.length ?? 0) > 0) return null;
    return this.#fits(this.usedBy(owner), weight) ? this.#take(owner, weight) : null;
  }

  /**
   * Takes permits, waiting for them if necessary. Resolves with null if `waitingMax` requests of this owner wait already, or if
   * the weight exceeds the pool. Rejects with the reason of `abort` if it is aborted first.
   */
  async acquire(owner: string, weight = 1, abort?: AbortSignal): Promise<Release | null> {
    abort?.throwIfAborted();
    const taken = this.tryAcquire(owner, weight);
    if (taken !== null) return taken;
    const state = this.#ownerOf(owner);
    if (weight > this.#permitsMax || state.waiting.length >= this.#waitingMax) {
      this.#forget(owner, state);
      return null;
    }
    return new Promise((resolve, reject) => {
      const onAbort = () => {
        state.waiting = state.waiting.filter((other) => other !== waiting);
        this.#waiting -= 1;
        this.#forget(owner, state);
        // Other requests may have waited behind this one.
        this.#grant();
        reject(abort?.reason);
      };
      const grant = (release: Release) => {
        abort?.removeEventListener("abort", onAbort);
        resolve(release);
      };
      const waiting = { weight, grant };
      state.waiting.push(waiting);
      this.#waiting += 1;
      abort?.addEventListener("abort", onAbort, { once: true });
    });
  }

  /** Whether an owner that holds `used` permits may take `weight` more. */
  #fits(used: number, weight: number): boolean {
    const left = this.#permitsMax - this.#used - weight;
    return left >= 0 && (used === 0 || used + weight <= this.#shareOf(left));
  }

  /** Permits that one owner may hold while this many are free. Infinity times zero is not a number: there is no cap. */
  #shareOf(free: number): number {
    return this.#shareOfFree === Number.POSITIVE_INFINITY ? this.#permitsMax : this.#shareOfFree * free;
  }

  #take(name: string, weight: number): Release {
    const owner = this.#ownerOf(name);
    owner.used += weight;
    this.#used += weight;
    this.#turn = Math.max(this.#turn, owner.turn);
    owner.turn += weight;
    let held = weight;
    return (some) => {
      // Called as an event listener, it gets the event as its argument.
      const given = typeof some === "number" ? Math.min(some, held) : held;
      if (given <= 0) return;
      held -= given;
      owner.used -= given;
      this.#used -= given;
      this.#forget(name, owner);
      this.#grant();
    };
  }

  #ownerOf(name: string): SemaphoreOwner {
    const known = this.#owners.get(name);
    if (known !== undefined) {
      known.turn = Math.max(known.turn, this.#turn);
      return known;
    }
    const owner = { used: 0, turn: this.#turn, waiting: [] };
    this.#owners.set(name, owner);
    return owner;
  }

  #forget(name: string, { used, waiting }: SemaphoreOwner): void {
    if (used === 0 && waiting.length === 0) this.#owners.delete(name);
  }

  /** Grants waiting requests in fair order, up to one that has to wait for free permits. */
  #grant(): void {
    for (let next = this.#next(); next !== null; next = this.#next()) {
      const { name, owner, head } = next;
      if (!this.#fits(owner.used, head.weight)) return;
      owner.waiting.shift();
      this.#waiting -= 1;
      head.grant(this.#take(name, head.weight));
    }
  }

  /**
   * The next waiting request. Owners beyond their share are skipped. A request within the share of its owner stays next while
   * too few permits are free, so that small requests never starve a large one.
   */
  #next(): { name: string; owner: SemaphoreOwner; head: SemaphoreRequest } | null {
    if (this.#waiting === 0) return null;
    let next: { name: string; owner: SemaphoreOwner; head: SemaphoreRequest } | null = null;
    for (const [name, owner] of this.#owners) {
      const [head] = owner.waiting;
      if (head === undefined || (owner.used > 0 && !this.#fits(owner.used, head.weight))) continue;
      if (next === null || owner.turn < next.owner.turn) next = { name, owner, head };
    }
    return next;
  }
}
