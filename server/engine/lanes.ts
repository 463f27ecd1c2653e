/** Drains a queue lane by lane: claims what is due where a permit is free, runs it, and lets no lane and no owner hold up another. */

import type { Clock } from "../clock.ts";
import { FairSemaphore, type Release } from "../core/fair-semaphore.ts";
import { ReadyLanes } from "./ready-lanes.ts";

/**
 * How a run went, for the permits of its lane.
 *
 * | Result  | Meaning                                                                     | Slots of the lane                   |
 * | ------- | --------------------------------------------------------------------------- | ----------------------------------- |
 * | `good`  | it went well, and soon                                                      | one more                            |
 * | `late`  | it went well after a long time                                              | as they are; at least as at the start |
 * | `bad`   | it failed                                                                   | as they are                         |
 * | `slow`  | it timed out, or nothing can go by the lane at present                      | one, until a run goes well          |
 * | `local` | this machine could not do it (files, memory): it says nothing of the lane   | as they are; all claims pause       |
 */
export type RunResult = "good" | "late" | "bad" | "slow" | "local";

/** What a loop needs to drain one queue. */
export interface Drain<Item> {
  clock: Clock;
  /** Leases at most `permits` items of each lane. */
  claim(lanes: { lane: string; permits: number }[]): Promise<Item[]>;
  /** Lanes that have something due. */
  dueLanes(): Promise<string[]>;
  /** Who shares permits and turns with the lane's other users: a customer. Null: not known yet. */
  ownerOf(lane: string): string | null;
  /** Finds out what `ownerOf` and `permitsPerLane` answer of lanes. Where `ownerOf` is null after it, it is asked again. */
  loadOwners(lanes: string[]): Promise<void>;
  laneOf(item: Item): string;
  /**
   * Handles an item to its end. It may `free` its permit before that, when what is left to be done must not keep others
   * waiting: how it went counts as it is said first. A throw is told to `fault`, and the item's lease runs out by itself.
   */
  run(item: Item, free: (result: RunResult) => void): Promise<RunResult>;
  /** Whether something that is due may have waited for this item, whose run has ended. */
  mayFreeOthers(item: Item): boolean;
  fault(error: unknown): void;
  inFlight(count: number): void;
  /** Items of the lane at once. */
  permitsPerLane(lane: string): number;
  /** Items of all lanes at once. */
  permitsMax: number;
  /** An owner may hold so many times the permits that are free (see `FairSemaphore`). Infinity: no cap. */
  shareOfFree: number;
}

/** A lane starts with this many permits and earns one more with each good run. */
const SLOTS_AT_START = 4;
/** Lanes named in one claim. */
const LANES_PER_CLAIM_MAX = 64;
/** How often lanes are asked for that nobody woke: retries and schedules that came due. Real milliseconds. */
const POLL_MS = 200;
/** After a claim or a poll that failed (no room on the disk), the next is tried no sooner. Real milliseconds. */
const PAUSE_AFTER_FAULT_MS = 500;
/** Lanes whose pace is remembered; beyond it those that come to rest are forgotten. */
const LANES_KEPT_MAX = 10_000;
/** Share of a poll's own duration that may be spent polling: one tenth. */
const POLL_COST_FACTOR = 10;

interface Lane {
  running: number;
  permits: number;
  /** It was woken, or its last claim filled its permits, while it had no permit free: it is claimed when one is. */
  mayHaveMore: boolean;
}

/** A lane in a claim, with the permits that are held for what the claim brings. */
interface Claiming {
  name: string;
  owner: string;
  permits: number;
  release: Release;
}

/** A loop over the lanes of one queue, from `start` until `stop`. */
export class Lanes<Item> {
  readonly #drain: Drain<Item>;
  /** Lanes with something running or something learnt about their pace. */
  readonly #lanes = new Map<string, Lane>();
  /** Lanes that may have something due. */
  readonly #ready = new ReadyLanes();
  /** Lanes that may have something due, of whose owner nothing is known yet. */
  #unknown = new Set<string>();
  readonly #permits: FairSemaphore;
  readonly #running = new Set<Promise<void>>();
  #inFlight = 0;
  #learning = false;
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

  /** Says that lanes may have something due. */
  wake(lanes: Iterable<string>): void {
    for (const lane of lanes) this.#markReady(lane);
    this.#pump();
  }

  /** Claims nothing more, and resolves when what is in flight has ended. */
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
    if (this.#unknown.size > 0 && !this.#learning) this.#track(this.#learn());
    if (wanted.length === 0) return;
    this.#claiming = true;
    this.#track(this.#claim(wanted));
  }

  /** Has `stop` wait for it. */
  #track(work: Promise<void>): void {
    this.#running.add(work);
    void work.finally(() => this.#running.delete(work));
  }

  async #learn(): Promise<void> {
    const lanes = [...this.#unknown];
    this.#learning = true;
    try {
      await this.#drain.loadOwners(lanes);
      for (const lane of lanes) this.#unknown.delete(lane);
      for (const lane of lanes) this.#markReady(lane);
    } catch (error) {
      this.#pause(error);
    } finally {
      this.#learning = false;
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
        // A lane that filled its permits may have more; one that did not is woken when something of it ends or is added.
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

  /** Lanes for the next claim, owner by owner, each with permits for its free permits as far as its owner's share goes. */
  #take(): Claiming[] {
    const wanted: Claiming[] = [];
    // Owners in turn that had no room for one more.
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
      // Its endpoint was changed meanwhile.
      this.#unknown.add(name);
      return null;
    }
    const lane = this.#lane(name);
    const permits = Math.min(Math.min(lane.permits, this.#drain.permitsPerLane(name)) - lane.running, room);
    // A permit that gets free makes it ready again.
    lane.mayHaveMore = permits <= 0;
    const release = permits <= 0 ? null : this.#permits.tryAcquire(owner, permits);
    return release === null ? null : { name, owner, permits, release };
  }

  #lane(name: string): Lane {
    const permits = Math.min(SLOTS_AT_START, this.#drain.permitsPerLane(name));
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
    lane.permits = slotsAfter(lane.permits, result, this.#drain.permitsPerLane(name));
    if (lane.running === 0 && this.#lanes.size > LANES_KEPT_MAX) this.#lanes.delete(name);
    if (result === "local")
      this.#pause(new Error("this machine is out of files or memory: what was claimed goes back"));
    if (lane.mayHaveMore) this.wake([name]);
    else this.#pump();
  }
}

function slotsAfter(permits: number, result: RunResult, slotsMax: number): number {
  switch (result) {
    case "good":
      return Math.min(permits + 1, slotsMax);
    case "late":
      return Math.max(permits, Math.min(SLOTS_AT_START, slotsMax));
    case "slow":
      return 1;
    case "bad":
    case "local":
      return permits;
  }
}
