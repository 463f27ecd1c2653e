/** Drains a queue lane by lane: claims due items for free permits and runs them, so that no lane and no owner keeps another waiting. */

import type { Clock } from "../clock.ts";
import { FairSemaphore, type Release } from "../core/fair-semaphore.ts";
import { ReadyLanes } from "./ready-lanes.ts";

/**
 * The result of a run, for the permits of its lane.
 *
 * | Result  | Meaning                                                     | Permits of the lane                    |
 * | ------- | ----------------------------------------------------------- | -------------------------------------- |
 * | `good`  | it succeeded, and soon                                      | one more                               |
 * | `late`  | it succeeded after a long time                              | unchanged; at least as at the start    |
 * | `bad`   | it failed                                                   | unchanged                              |
 * | `slow`  | it timed out                                                | one, until a run succeeds              |
 * | `local` | this machine lacked files or memory: nothing about the lane | unchanged; all claims pause            |
 */
export type RunResult = "good" | "late" | "bad" | "slow" | "local";

/** The queue that a loop drains. */
export interface Drain<Item> {
  clock: Clock;
  /** Leases at most `permits` items of each lane. */
  claim(lanes: { lane: string; permits: number }[]): Promise<Item[]>;
  /** Lanes that have something due. */
  dueLanes(): Promise<string[]>;
  /** The owner, a customer, whose lanes share permits. Null: not loaded yet. */
  ownerOf(lane: string): string | null;
  /** Loads the owners and permits of lanes. If `ownerOf` is null afterwards, it is called again. */
  loadOwners(lanes: string[]): Promise<void>;
  laneOf(item: Item): string;
  /**
   * Handles an item to its end. It may `free` its permit earlier, if the rest of its work must not keep other items waiting; the
   * first result counts. An exception goes to `fault`, and the item's lease runs out by itself.
   */
  run(item: Item, free: (result: RunResult) => void): Promise<RunResult>;
  /** Whether another due item may have waited for this one, whose run has ended. */
  mayFreeOthers(item: Item): boolean;
  fault(error: unknown): void;
  inFlight(count: number): void;
  /** Items of the lane at once. */
  permitsPerLane(lane: string): number;
  /** Items of all lanes at once. */
  permitsMax: number;
  /** An owner may hold this multiple of the free permits (see `FairSemaphore`). Infinity: no limit. */
  shareOfFree: number;
}

/** A lane starts with this many permits and earns one more with each good run. */
const PERMITS_AT_START = 4;
/** Lanes named in one claim. */
const LANES_PER_CLAIM_MAX = 64;
/** How often the store is polled for lanes with due retries and schedules, in real milliseconds. */
const POLL_MS = 200;
/** The pause after a failed claim or poll, such as on a full disk, in real milliseconds. */
const PAUSE_AFTER_FAULT_MS = 500;
/** Lanes whose earned permits are kept; beyond it idle lanes are dropped. */
const LANES_KEPT_MAX = 10_000;
/** The next poll waits at least this multiple of the last poll's duration. */
const POLL_COST_FACTOR = 10;

interface Lane {
  running: number;
  permits: number;
  /** The lane was woken or filled its permits while no permit was free: it is claimed when one is. */
  mayHaveMore: boolean;
}

/** A lane in a claim, with the permits reserved for it. */
interface Claiming {
  name: string;
  owner: string;
  permits: number;
  release: Release;
}

/** Drains the lanes of one queue from `start` until `stop`. */
export class Lanes<Item> {
  readonly #drain: Drain<Item>;
  /** Lanes with running items or earned permits. */
  readonly #lanes = new Map<string, Lane>();
  /** Lanes that may have something due. */
  readonly #ready = new ReadyLanes();
  /** Lanes that may have something due and whose owner is not loaded yet. */
  #unknown = new Set<string>();
  readonly #permits: FairSemaphore;
  readonly #running = new Set<Promise<void>>();
  #inFlight = 0;
  #loading = false;
  #claiming = false;
  #stopped = true;
  #cancelPoll: () => void = () => {};
  #cancelPause: (() => void) | null = null;

  constructor(drain: Drain<Item>) {
    this.#drain = drain;
    this.#permits = new FairSemaphore({ permitsMax: drain.permitsMax, shareOfFree: drain.shareOfFree });
  }

  start(): void {
    this.#stopped = false;
    void this.#poll();
  }

  /** These lanes may have something due. */
  wake(lanes: Iterable<string>): void {
    for (const lane of lanes) this.#markReady(lane);
    this.#pump();
  }

  /** Claims nothing more, and resolves when the running items have ended. */
  async stop(): Promise<void> {
    this.#stopped = true;
    this.#cancelPoll();
    this.#cancelPause?.();
    while (this.#running.size > 0) await Promise.all(this.#running);
  }

  async #poll(): Promise<void> {
    const startedAt = this.#drain.clock.real();
    try {
      const lanes = await this.#drain.dueLanes();
      if (this.#stopped) return;
      this.wake(lanes);
    } catch (error) {
      this.#drain.fault(error);
    }
    if (this.#stopped) return;
    const tookMs = this.#drain.clock.real() - startedAt;
    this.#cancelPoll = this.#drain.clock.after(Math.max(POLL_MS, tookMs * POLL_COST_FACTOR), () => void this.#poll());
  }

  #markReady(lane: string): void {
    const owner = this.#drain.ownerOf(lane);
    if (owner === null) this.#unknown.add(lane);
    else this.#ready.add(owner, lane);
  }

  #pump(): void {
    if (this.#stopped || this.#cancelPause !== null) return;
    const wanted = this.#claiming ? [] : this.#take();
    if (this.#unknown.size > 0 && !this.#loading) this.#track(this.#loadOwners());
    if (wanted.length === 0) return;
    this.#claiming = true;
    this.#track(this.#claim(wanted));
  }

  /** Makes `stop` wait for the work. */
  #track(work: Promise<void>): void {
    this.#running.add(work);
    void work.finally(() => this.#running.delete(work));
  }

  async #loadOwners(): Promise<void> {
    const lanes = [...this.#unknown];
    this.#loading = true;
    try {
      await this.#drain.loadOwners(lanes);
      for (const lane of lanes) this.#unknown.delete(lane);
      for (const lane of lanes) this.#markReady(lane);
    } catch (error) {
      this.#pause(error);
    } finally {
      this.#loading = false;
    }
    this.#pump();
  }

  async #claim(wanted: readonly Claiming[]): Promise<void> {
    try {
      const items = await this.#drain.claim(wanted.map(({ name, permits }) => ({ lane: name, permits })));
      const byLane = Map.groupBy(items, (item) => this.#drain.laneOf(item));
      for (const claiming of wanted) {
        const { name, owner, permits, release } = claiming;
        const taken = byLane.get(name) ?? [];
        release(permits - taken.length);
        for (const item of taken) this.#begin(name, item, release);
        // A lane that filled its permits may have more due; any other lane is woken when an item ends or is added.
        if (taken.length === permits) this.#ready.add(owner, name);
      }
    } catch (error) {
      for (const { name, owner, release } of wanted) {
        release();
        this.#ready.add(owner, name);
      }
      this.#pause(error);
    } finally {
      this.#claiming = false;
    }
    this.#pump();
  }

  #pause(error: unknown): void {
    if (this.#cancelPause !== null) return;
    this.#drain.fault(error);
    if (this.#stopped) return;
    this.#cancelPause = this.#drain.clock.after(PAUSE_AFTER_FAULT_MS, () => {
      this.#cancelPause = null;
      this.#pump();
    });
  }

  /** Lanes for the next claim, owner by owner, each with its free permits within its owner's share. */
  #take(): Claiming[] {
    const wanted: Claiming[] = [];
    // Consecutive owners without room for one more.
    let refused = 0;
    while (wanted.length < LANES_PER_CLAIM_MAX && refused < this.#ready.owners) {
      if (this.#permits.used >= this.#drain.permitsMax) break;
      const owner = this.#ready.nextOwner();
      if (owner === null) break;
      const room = this.#permits.room(owner);
      const name = room > 0 ? this.#ready.take(owner) : null;
      if (name === null) {
        refused += 1;
        continue;
      }
      refused = 0;
      const claiming = this.#hold(owner, name, room);
      if (claiming !== null) wanted.push(claiming);
    }
    return wanted;
  }

  #hold(owner: string, name: string, room: number): Claiming | null {
    if (this.#drain.ownerOf(name) === null) {
      // The endpoint was changed meanwhile: its owner is loaded again.
      this.#unknown.add(name);
      return null;
    }
    const lane = this.#lane(name);
    const permits = Math.min(Math.min(lane.permits, this.#drain.permitsPerLane(name)) - lane.running, room);
    // The lane is claimed when a permit is released.
    lane.mayHaveMore = permits <= 0;
    const release = permits <= 0 ? null : this.#permits.tryAcquire(owner, permits);
    return release === null ? null : { name, owner, permits, release };
  }

  #lane(name: string): Lane {
    const permits = Math.min(PERMITS_AT_START, this.#drain.permitsPerLane(name));
    return this.#lanes.get(name) ?? { running: 0, permits, mayHaveMore: false };
  }

  #begin(name: string, item: Item, release: Release): void {
    const lane = this.#lane(name);
    lane.running += 1;
    this.#lanes.set(name, lane);
    this.#inFlight += 1;
    this.#drain.inFlight(this.#inFlight);
    this.#track(this.#run(name, lane, item, release));
  }

  async #run(name: string, lane: Lane, item: Item, release: Release): Promise<void> {
    let isFree = false;
    const free = (result: RunResult) => {
      if (isFree) return;
      isFree = true;
      release(1);
      this.#free(name, lane, result);
    };
    try {
      free(await this.#drain.run(item, free));
    } catch (error) {
      this.#drain.fault(error);
      free("bad");
    }
    if (this.#drain.mayFreeOthers(item)) this.wake([name]);
  }

  #free(name: string, lane: Lane, result: RunResult): void {
    lane.running -= 1;
    this.#inFlight -= 1;
    this.#drain.inFlight(this.#inFlight);
    lane.permits = permitsAfter(lane.permits, result, this.#drain.permitsPerLane(name));
    if (lane.running === 0 && this.#lanes.size > LANES_KEPT_MAX) this.#lanes.delete(name);
    if (result === "local")
      this.#pause(new Error("this machine is out of files or memory: what was claimed goes back"));
    if (lane.mayHaveMore) this.wake([name]);
    else this.#pump();
  }
}

function permitsAfter(permits: number, result: RunResult, permitsMax: number): number {
  switch (result) {
    case "good":
      return Math.min(permits + 1, permitsMax);
    case "late":
      return Math.max(permits, Math.min(PERMITS_AT_START, permitsMax));
    case "slow":
      return 1;
    case "bad":
    case "local":
      return permits;
  }
}
