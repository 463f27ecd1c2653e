/** Drains a queue lane by lane: claims due items, keeps them until they get a permit, and runs them, so that no lane and no owner keeps another waiting. */

import { FairSemaphore, type Release } from "../core/fair-semaphore.ts";
import { RoundRobin } from "../core/round-robin.ts";
import { UNREACHED_MS } from "./breaker.ts";
import type { Drain } from "./drain.ts";
import { DueLook } from "./due-look.ts";
import { canBegin, demandOf, type LaneDemand, permitsOf, takeDemands } from "./lane-demand.ts";
import { addClaimed, createLane, isHeld, isIdle, isLimited, type Lane } from "./lane-state.ts";
import { LoopLag } from "./loop-lag.ts";
import { hadConnection, isUntried, PERMITS_AT_START, pausesLane, permitsAfter, type RunResult } from "./run-result.ts";

/** The pause after a failed claim, such as on a full disk, in real milliseconds. */
const PAUSE_AFTER_FAULT_MS = 500;
/** The pause of a lane whose item could not be tried, such as for want of a free port, in real milliseconds. */
const UNTRIED_PAUSE_MS = 1_000;
/** A look finds the due items of a lane within this time, in milliseconds; otherwise they lag. */
const FOUND_WITHIN_MS = 5_000;
/** Lanes whose earned permits are kept; beyond it idle lanes are dropped. */
const LANES_KEPT_MAX = 10_000;

/** Drains the lanes of one queue from `start` until `stop`. */
export class Lanes<Item> {
  readonly #drain: Drain<Item>;
  /** Lanes with items or earned permits. */
  readonly #lanes = new Map<string, Lane<Item>>();
  /** Lanes with a prefetched item that may begin. */
  readonly #toBegin = new RoundRobin<string>();
  /** Lanes that may have something due and want it. */
  readonly #toClaim = new RoundRobin<string>();
  /** Lanes whose owner is not loaded yet. */
  readonly #unknown = new Set<string>();
  readonly #permits: FairSemaphore;
  readonly #running = new Set<Promise<void>>();
  readonly #lag: LoopLag<Item>;
  readonly #look: DueLook;
  /** End of the last pause of all lanes (monotonic time). */
  #resumedAt = Number.NEGATIVE_INFINITY;
  #ended = 0;
  #inFlight = 0;
  #isLoading = false;
  #isClaiming = false;
  #isStopped = true;
  #cancelPause: (() => void) | null = null;

  constructor(drain: Drain<Item>) {
    this.#drain = drain;
    this.#permits = new FairSemaphore({ permitsMax: drain.permitsMax, shareOfFree: drain.shareOfFree });
    this.#lag = new LoopLag({
      drain,
      lanes: this.#lanes,
      permits: this.#permits,
      permitsOf: (lane) => permitsOf(lane, drain),
    });
    this.#look = new DueLook({
      clock: drain.clock,
      dueLanes: (took) => {
        // Lanes that wait for a peer are noted also while nobody asks.
        this.lagMs();
        return drain.dueLanes(took);
      },
      found: (lanes) => this.wake(lanes),
      fault: (error) => drain.fault(error),
    });
  }

  start(): void {
    this.#isStopped = false;
    this.#look.start();
  }

  /** These lanes may have something due. */
  wake(lanes: Iterable<string>): void {
    for (const name of lanes) {
      this.#lag.changed(this.#lane(name));
      this.#mark(name, true);
    }
    this.#pump();
  }

  /** Any lane may have something due: looks at once. */
  look(): void {
    this.#look.now();
  }

  /**
   * Takes over items that the store leased to this loop, in the order in which they have to run: before those of a claim that
   * is in progress, since the store leased them first. Those to a peer that is not reached, or asked to wait, go back to the store.
   */
  push(items: readonly Item[]): void {
    const now = this.#drain.clock.now();
    for (const item of items) {
      const lane = this.#lane(this.#drain.laneOf(item));
      const isThroughStore = isLimited(lane, now) || lane.putOffUntil > now;
      if (isThroughStore) this.#drain.release([item]);
      else lane.prefetched.add(item);
      this.#mark(lane.name, isThroughStore);
    }
    if (this.#isStopped) this.#releaseAll();
    else this.#pump();
  }

  /** Lanes that may run fewer items at once than their own number: their peer was not reached, or asked them to wait. */
  get limited(): Lane<Item>[] {
    const now = this.#drain.clock.now();
    return [...this.#lanes.values()].filter((lane) => isLimited(lane, now));
  }

  /** The peer asks the lane to wait until then, in the service's time. Its items go back to the store, and the looks find them later. */
  hold(name: string, until: number): void {
    const lane = this.#lane(name);
    lane.heldUntil = Math.max(lane.heldUntil, until);
    this.#lag.changed(lane);
    this.#releaseHeld(lane);
  }

  /** Items of the lane are put off until then, in the service's time: a new one may not overtake them before a look has found them. */
  putOff(name: string, until: number): void {
    const lane = this.#lane(name);
    lane.putOffUntil = Math.max(lane.putOffUntil, until + FOUND_WITHIN_MS);
  }

  #releaseHeld(lane: Lane<Item>): void {
    if (lane.prefetched.size === 0 || !isHeld(lane, this.#drain.clock.now())) return;
    lane.moreSince ??= this.#drain.clock.monotonic();
    this.#release(lane);
  }

  /**
   * Runs leased items at once, whatever their lanes wait for and beside the permits of the lanes. Returns those for which their owner has
   * no permit.
   */
  runAtOnce(items: readonly Item[]): Item[] {
    return items.filter((item) => {
      const lane = this.#lane(this.#drain.laneOf(item));
      const owner = this.#drain.ownerOf(lane.name);
      const release = owner === null || this.#isStopped ? null : this.#permits.tryAcquire(owner);
      if (release !== null) this.#begin(lane, item, release, true);
      return release === null;
    });
  }

  /** Gives up the items that match and have not begun. The next look finds those whose records are not gone. */
  drop(matches: (item: Item) => boolean): void {
    for (const lane of this.#lanes.values()) this.#release(lane, matches);
  }

  /** Gives the items of a lane that have not begun back to the store. */
  giveBack(name: string): void {
    const lane = this.#lanes.get(name);
    if (lane === undefined || lane.prefetched.size === 0) return;
    this.#release(lane);
    this.#mark(name, true);
  }

  /** The peer of a lane has changed: what was learned about the former one's connections does not count. */
  peerChanged(name: string): void {
    const lane = this.#lanes.get(name);
    if (lane === undefined || !isLimited(lane, this.#drain.clock.now())) return;
    lane.heldUntil = Number.NEGATIVE_INFINITY;
    lane.breaker.reset();
    lane.cancelPause?.();
    lane.cancelPause = null;
    this.wake([name]);
  }

  /** Claims and begins nothing more, and resolves when the running items have ended. Items that have not begun are released. */
  async stop(): Promise<void> {
    this.#isStopped = true;
    this.#look.stop();
    this.#cancelPause?.();
    for (const lane of this.#lanes.values()) lane.cancelPause?.();
    this.#releaseAll();
    while (this.#running.size > 0) await Promise.all(this.#running);
  }

  /** Runs that have ended since the start. */
  get ended(): number {
    return this.#ended;
  }

  /**
   * Age of the oldest work that could start now and has not, in milliseconds (see `LoopLag`); 0 if there is none. Work that no look
   * has found for 5 s counts.
   */
  lagMs(): number {
    const knownMs = this.#isStopped || this.#cancelPause !== null ? 0 : this.#lag.readMs(this.#resumedAt);
    return Math.max(knownMs, this.#look.lagMs());
  }

  /** Puts a lane where it is served next. `mayHaveMore`: the store may have due items of it. */
  #mark(name: string, mayHaveMore: boolean): void {
    const lane = this.#lane(name);
    if (mayHaveMore) lane.moreSince ??= this.#drain.clock.monotonic();
    const owner = this.#drain.ownerOf(name);
    if (owner === null) {
      this.#unknown.add(name);
      return;
    }
    this.#lag.add(lane);
    if (canBegin(lane, this.#drain)) this.#toBegin.add(owner, name);
    if (lane.moreSince !== null && demandOf(lane, this.#drain) > 0) this.#toClaim.add(owner, name);
  }

  #pump(): void {
    if (this.#isStopped || this.#cancelPause !== null) return;
    this.#beginAll();
    if (this.#unknown.size > 0 && !this.#isLoading) this.#track(this.#loadOwners());
    const wanted = this.#isClaiming
      ? []
      : takeDemands(this.#toClaim, this.#permits, this.#drain, (name) => this.#lane(name));
    if (wanted.length > 0) this.#track(this.#claim(wanted));
  }

  /** Makes `stop` wait for the work. */
  #track(work: Promise<void>): void {
    this.#running.add(work);
    void work.finally(() => this.#running.delete(work));
  }

  async #loadOwners(): Promise<void> {
    const lanes = [...this.#unknown];
    this.#isLoading = true;
    try {
      await this.#drain.loadOwners(lanes);
      for (const lane of lanes) this.#unknown.delete(lane);
      for (const lane of lanes) this.#mark(lane, false);
    } catch (error) {
      this.#pause(error);
    } finally {
      this.#isLoading = false;
    }
    this.#pump();
  }

  /** Begins prefetched items while permits are free, an item of each owner in turn. */
  #beginAll(): void {
    // Consecutive owners without room for one more.
    let refused = 0;
    while (refused < this.#toBegin.owners && this.#permits.used < this.#drain.permitsMax) {
      const owner = this.#toBegin.nextOwner();
      if (owner === null) return;
      const name = this.#permits.room(owner) > 0 ? this.#toBegin.take(owner) : null;
      const hasPermit = name !== null && this.#beginOne(owner, name);
      refused = hasPermit ? 0 : refused + 1;
    }
  }

  /** Begins the first item of a lane, if it can begin. Returns false if no permit is free. */
  #beginOne(owner: string, name: string): boolean {
    const lane = this.#lane(name);
    if (!canBegin(lane, this.#drain)) return true;
    const { first } = lane.prefetched;
    if (first !== null && this.#drain.isStale(first)) {
      this.#release(lane);
      this.#mark(name, true);
      return true;
    }
    const isOwned = this.#drain.ownerOf(name) !== null;
    const release = isOwned ? this.#permits.tryAcquire(owner) : null;
    const item = release === null ? null : lane.prefetched.take();
    if (release !== null && item !== null) this.#begin(lane, item, release);
    // Its endpoint may have changed meanwhile: its owner is loaded again.
    this.#mark(name, false);
    return !isOwned || release !== null;
  }

  async #claim(wanted: readonly LaneDemand<Item>[]): Promise<void> {
    this.#isClaiming = true;
    try {
      const { items, more } = await this.#drain.claim(
        wanted.map(({ lane, permits }) => ({ lane: lane.name, permits })),
      );
      const lastSince = addClaimed(items, (item) => this.#lane(this.#drain.laneOf(item)), this.#drain);
      for (const name of more) this.#lane(name).moreSince = lastSince.get(name) ?? this.#drain.clock.monotonic();
    } catch (error) {
      for (const { lane } of wanted) lane.moreSince = lane.claimingSince;
      this.#pause(error);
    } finally {
      this.#isClaiming = false;
      for (const { lane } of wanted) this.#endClaim(lane);
    }
    if (this.#isStopped) this.#releaseAll();
    this.#pump();
  }

  #endClaim(lane: Lane<Item>): void {
    lane.claimingSince = null;
    this.#releaseHeld(lane);
    this.#mark(lane.name, false);
    this.#forgetIdle(lane);
  }

  #pause(error: unknown): void {
    if (this.#cancelPause !== null) return;
    this.#drain.fault(error);
    if (this.#isStopped) return;
    this.#cancelPause = this.#drain.clock.after(PAUSE_AFTER_FAULT_MS, () => {
      this.#cancelPause = null;
      this.#resumedAt = this.#drain.clock.monotonic();
      this.#pump();
    });
  }

  /** Counts runs without a connection. Items that wait for such a peer go back to the store until a probe makes one. */
  #noteConnection(lane: Lane<Item>, result: RunResult): void {
    const { breaker } = lane;
    const connected = hadConnection(result);
    if (connected === true) breaker.connected(this.#drain.permitsPerLane(lane.name));
    if (connected !== false) return;
    const now = this.#drain.clock.monotonic();
    breaker.failed(now);
    if (!breaker.isLimited) return;
    if (lane.prefetched.size > 0) lane.moreSince ??= now;
    this.#release(lane);
    if (breaker.state(now) === "open") this.#pauseLane(lane, UNREACHED_MS);
  }

  #pauseLane(lane: Lane<Item>, ms: number): void {
    if (lane.cancelPause !== null || this.#isStopped) return;
    lane.cancelPause = this.#drain.clock.after(ms, () => {
      lane.cancelPause = null;
      this.#lag.changed(lane);
      this.#mark(lane.name, false);
      this.#pump();
    });
    this.#lag.changed(lane);
  }

  #lane(name: string): Lane<Item> {
    const known = this.#lanes.get(name);
    if (known !== undefined) return known;
    const { clock, orderingKeyOf, permitsPerLane } = this.#drain;
    const permits = Math.min(PERMITS_AT_START, permitsPerLane(name));
    const lane = createLane({ name, permits, orderingKeyOf, monotonic: () => clock.monotonic() });
    this.#lanes.set(name, lane);
    return lane;
  }

  #begin(lane: Lane<Item>, item: Item, release: Release, isAtOnce = false): void {
    if (!isAtOnce) lane.running += 1;
    this.#inFlight += 1;
    this.#drain.inFlight(this.#inFlight);
    this.#track(this.#run(lane, item, release, isAtOnce));
  }

  async #run(lane: Lane<Item>, item: Item, release: Release, isAtOnce: boolean): Promise<void> {
    let isFree = false;
    const times = lane.lag.begin();
    const free = (result: RunResult) => {
      if (isFree) return;
      isFree = true;
      times.ended();
      release();
      this.#free(lane, item, result, isAtOnce);
    };
    try {
      free(await this.#drain.run(item, free, times));
    } catch (error) {
      this.#drain.fault(error);
      free("bad");
    }
    if (this.#drain.mayFreeOthers(item)) this.wake([lane.name]);
  }

  #free(lane: Lane<Item>, item: Item, result: RunResult, isAtOnce: boolean): void {
    if (!isAtOnce) lane.running -= 1;
    this.#inFlight -= 1;
    this.#ended += 1;
    this.#drain.inFlight(this.#inFlight);
    lane.permits = permitsAfter(lane.permits, result, this.#drain.permitsPerLane(lane.name));
    if (isAtOnce && isUntried(result)) this.#drain.release([item]);
    else if (isUntried(result)) lane.prefetched.putBack(item);
    else if (!isAtOnce) lane.prefetched.ended(item);
    if (pausesLane(result)) this.#pauseLane(lane, UNTRIED_PAUSE_MS);
    this.#noteConnection(lane, result);
    if (result === "local") this.#pause(new Error("this machine is out of files or memory: deliveries wait"));
    if (this.#isStopped) this.#release(lane);
    this.#releaseHeld(lane);
    this.#mark(lane.name, false);
    this.#forgetIdle(lane);
    this.#pump();
  }

  #forgetIdle(lane: Lane<Item>): void {
    if (this.#lanes.size <= LANES_KEPT_MAX || !isIdle(lane, this.#drain.clock.now())) return;
    this.#lag.remove(lane);
    this.#lanes.delete(lane.name);
  }

  /** Releases what a lane has not begun. */
  #release(lane: Lane<Item>, matches: (item: Item) => boolean = () => true): void {
    const items = lane.prefetched.remove(matches);
    if (items.length > 0) this.#drain.release(items);
  }

  #releaseAll(): void {
    for (const lane of this.#lanes.values()) this.#release(lane);
  }
}
