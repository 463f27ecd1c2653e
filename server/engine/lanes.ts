/** Drains a queue lane by lane: claims what is due where a slot is free, runs it, and lets no lane hold up another. */

import type { Clock } from "../clock.ts";

/**
 * How a run went, for the slots of its lane. `slow`: it timed out, or nothing can go by its lane at present, so that the
 * lane gets one slot until a run is `good`.
 */
export type RunResult = "good" | "bad" | "slow";

/** What a loop needs to drain one queue. */
export interface Drain<Item> {
  clock: Clock;
  /** Leases at most `slots` items of each lane. */
  claim(lanes: { lane: string; slots: number }[]): Promise<Item[]>;
  /** Lanes that have something due. */
  dueLanes(): Promise<string[]>;
  laneOf(item: Item): string;
  /**
   * Handles an item to its end. It may `free` its slot before that, when what is left to be done must not keep others
   * waiting: how it went counts as it is said first. A throw is told to `fault`, and the item's lease runs out by itself.
   */
  run(item: Item, free: (result: RunResult) => void): Promise<RunResult>;
  fault(error: unknown): void;
  inFlight(count: number): void;
  /** Items of the lane at once. */
  slotsPerLane(lane: string): number;
  /** Items of all lanes at once. */
  slotsMax: number;
}

/** A lane starts with this many slots and earns one more with each good run. */
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
  slots: number;
}

/** A loop over the lanes of one queue, from `start` until `stop`. */
export class Lanes<Item> {
  readonly #drain: Drain<Item>;
  /** Lanes with something running or something learnt about their pace. */
  readonly #lanes = new Map<string, Lane>();
  /** Lanes that may have something due, in the order they were woken. */
  readonly #woken = new Set<string>();
  readonly #running = new Set<Promise<void>>();
  #inFlight = 0;
  #claiming = false;
  #stopped = true;
  #cancelPoll: () => void = () => {};
  #cancelPause: (() => void) | null = null;

  constructor(drain: Drain<Item>) {
    this.#drain = drain;
  }

  start(): void {
    this.#stopped = false;
    void this.#poll();
  }

  /** Says that lanes may have something due. */
  wake(lanes: Iterable<string>): void {
    for (const lane of lanes) this.#woken.add(lane);
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

  #pump(): void {
    if (this.#claiming || this.#stopped || this.#cancelPause !== null) return;
    const free = this.#freeSlots();
    if (free.length === 0) return;
    this.#claiming = true;
    const claimed = this.#claim(free);
    this.#running.add(claimed);
    void claimed.finally(() => this.#running.delete(claimed));
  }

  async #claim(free: { lane: string; slots: number }[]): Promise<void> {
    try {
      for (const { lane } of free) this.#woken.delete(lane);
      const items = await this.#drain.claim(free);
      const taken = new Map<string, number>();
      for (const item of items) {
        const lane = this.#drain.laneOf(item);
        taken.set(lane, (taken.get(lane) ?? 0) + 1);
        this.#begin(lane, item);
      }
      // A lane that filled its slots may have more; one that did not is woken when something of it ends or is added.
      for (const { lane, slots } of free) if (taken.get(lane) === slots) this.#woken.add(lane);
    } catch (error) {
      for (const { lane } of free) this.#woken.add(lane);
      this.#pause(error);
    } finally {
      this.#claiming = false;
    }
    this.#pump();
  }

  #pause(error: unknown): void {
    this.#drain.fault(error);
    if (this.#stopped) return;
    this.#cancelPause = this.#drain.clock.after(PAUSE_AFTER_FAULT_MS, () => {
      this.#cancelPause = null;
      this.#pump();
    });
  }

  /** Woken lanes with a free slot, and how many, within the cap of all lanes. */
  #freeSlots(): { lane: string; slots: number }[] {
    const free: { lane: string; slots: number }[] = [];
    let left = this.#drain.slotsMax - this.#inFlight;
    for (const name of this.#woken) {
      if (left <= 0 || free.length === LANES_PER_CLAIM_MAX) break;
      const lane = this.#lane(name);
      const slots = Math.min(Math.min(lane.slots, this.#drain.slotsPerLane(name)) - lane.running, left);
      if (slots <= 0) continue;
      free.push({ lane: name, slots });
      left -= slots;
    }
    return free;
  }

  #lane(name: string): Lane {
    return this.#lanes.get(name) ?? { running: 0, slots: Math.min(SLOTS_AT_START, this.#drain.slotsPerLane(name)) };
  }

  #begin(name: string, item: Item): void {
    const lane = this.#lane(name);
    lane.running += 1;
    this.#lanes.set(name, lane);
    this.#inFlight += 1;
    this.#drain.inFlight(this.#inFlight);
    const run = this.#run(name, lane, item);
    this.#running.add(run);
    void run.finally(() => this.#running.delete(run));
  }

  async #run(name: string, lane: Lane, item: Item): Promise<void> {
    let isFree = false;
    const free = (result: RunResult) => {
      if (!isFree) this.#free(name, lane, result);
      isFree = true;
    };
    try {
      free(await this.#drain.run(item, free));
    } catch (error) {
      this.#drain.fault(error);
      free("bad");
    }
    // What waited for this one to end may go now.
    this.wake([name]);
  }

  #free(name: string, lane: Lane, result: RunResult): void {
    lane.running -= 1;
    this.#inFlight -= 1;
    this.#drain.inFlight(this.#inFlight);
    if (result === "slow") lane.slots = 1;
    else if (result === "good") lane.slots = Math.min(lane.slots + 1, this.#drain.slotsPerLane(name));
    if (lane.running === 0 && this.#lanes.size > LANES_KEPT_MAX) this.#lanes.delete(name);
    this.wake([name]);
  }
}
