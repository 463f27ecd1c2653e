/** The loop over lanes on a queue in memory, whose items run until a test ends them: simulated time, no store. */

import assert from "node:assert/strict";
import type { TestContext } from "node:test";
import type { ClaimedItems, Drain } from "../../server/engine/drain.ts";
import { Lanes } from "../../server/engine/lanes.ts";
import { isUntried, type RunResult } from "../../server/engine/run-result.ts";
import { SimulatedClock } from "./clock.ts";

/** An item of the queue. */
export interface Item {
  lane: string;
  id: number;
  key?: string;
}

/** A queue in memory and the loop that drains it. */
export class Queue {
  readonly clock = new SimulatedClock();
  /** Due and not claimed. */
  due: Item[] = [];
  /** The arguments of every claim. */
  readonly claims: { lane: string; permits: number }[][] = [];
  readonly polls: number[] = [];
  /** Ids in the order they began. */
  readonly began: number[] = [];
  /** Ids in the order they ended, by a result or an error. */
  readonly ended: number[] = [];
  readonly faults: unknown[] = [];
  /** The pieces of work in flight, with the functions that end them. */
  readonly running = new Map<number, { item: Item; end: (result: RunResult | Error) => void }>();
  /** Ends items at once if it returns a result. */
  ending: (item: Item) => RunResult | Error | null = () => null;
  /** The error that each claim and poll throws, if set. */
  failing: Error | null = null;
  isStale: (item: Item) => boolean = () => false;
  /** Whether the run of an item waits for its peer from its beginning to its end. */
  asksPeer: (item: Item) => boolean = () => false;
  takesMore: (lane: string) => boolean = () => true;
  /** When the items became due, in the service's time. */
  dueAt: number | null = null;
  inFlight = 0;
  /** By default the owner of a lane is its name up to a slash. */
  ownerOf: (lane: string) => string | null = (lane) => lane.split("/")[0] ?? null;
  #nextId = 1;
  readonly lanes: Lanes<Item>;

  constructor(options: Partial<Drain<Item>> = {}) {
    this.lanes = new Lanes<Item>({
      clock: this.clock,
      claim: async (wanted) => this.claim(wanted),
      dueLanes: async () => {
        this.polls.push(this.clock.real());
        if (this.failing !== null) throw this.failing;
        return [...new Set(this.due.map(({ lane }) => lane))];
      },
      ownerOf: (lane) => this.ownerOf(lane),
      loadOwners: async () => {},
      mayFreeOthers: () => true,
      laneOf: ({ lane }) => lane,
      dueAtOf: () => this.dueAt ?? this.clock.now(),
      takesMore: (lane) => this.takesMore(lane),
      release: (items) => {
        this.due.unshift(...items);
      },
      orderingKeyOf: ({ key = null }) => key,
      isStale: (item) => this.isStale(item),
      prefetch: 0,
      run: (item, _, times) => {
        if (this.asksPeer(item)) times.asks();
        return this.#run(item);
      },
      fault: (error) => this.faults.push(error),
      inFlight: (count) => {
        this.inFlight = count;
      },
      permitsPerLane: () => 16,
      permitsMax: 100,
      shareOfFree: Number.POSITIVE_INFINITY,
      ...options,
    });
  }

  claim(wanted: { lane: string; permits: number }[]): ClaimedItems<Item> {
    this.claims.push(wanted);
    if (this.failing !== null) throw this.failing;
    const claimed: Item[] = [];
    for (const { lane, permits } of wanted)
      claimed.push(...this.due.filter((item) => item.lane === lane).slice(0, permits));
    this.due = this.due.filter((item) => !claimed.includes(item));
    return claimOf(wanted, claimed, ({ lane }) => lane);
  }

  #run(item: Item): Promise<RunResult> {
    this.began.push(item.id);
    return new Promise((resolve, reject) => {
      const end = (result: RunResult | Error) => {
        this.running.delete(item.id);
        if (result instanceof Error || !isUntried(result)) this.ended.push(item.id);
        if (result instanceof Error) reject(result);
        else resolve(result);
      };
      this.running.set(item.id, { item, end });
      const result = this.ending(item);
      if (result !== null) end(result);
    });
  }

  add(lane: string, count: number): void {
    this.due.push(...this.make(lane, count));
  }

  /** New items that are not in the queue: to be pushed. */
  make(lane: string, count: number, key?: string): Item[] {
    return Array.from({ length: count }, () => ({ lane, id: this.#nextId++, ...(key === undefined ? {} : { key }) }));
  }

  /** Adds items and wakes their lanes. */
  async wake(lane: string, count: number): Promise<void> {
    this.add(lane, count);
    this.lanes.wake([lane]);
    await this.turn();
  }

  async start(t?: TestContext): Promise<void> {
    t?.after(() => this.end());
    this.lanes.start();
    await this.turn();
  }

  /** Lets everything happen that can happen now. */
  turn(): Promise<void> {
    return this.clock.advance(0);
  }

  runningOf(lane: string): number[] {
    return [...this.running].flatMap(([id, { item }]) => (item.lane === lane ? [id] : []));
  }

  /** Ends the oldest run of a lane. */
  async finish(lane: string, result: RunResult | Error): Promise<void> {
    const [id] = this.runningOf(lane);
    assert.ok(id !== undefined, `nothing of ${lane} runs`);
    this.running.get(id)?.end(result);
    await this.turn();
  }

  /** Stops the loop, with whatever still runs. */
  async end(): Promise<void> {
    const stopped = this.lanes.stop();
    this.ending = () => "bad";
    for (const { end } of this.running.values()) end("bad");
    await this.turn();
    await stopped;
  }
}

/** The claim that returned these items: lanes that got as many as they asked for may have more. */
function claimOf<Item>(
  asked: readonly { lane: string; permits: number }[],
  items: Item[],
  laneOf: (item: Item) => string,
): ClaimedItems<Item> {
  const counts = new Map<string, number>();
  for (const item of items) counts.set(laneOf(item), (counts.get(laneOf(item)) ?? 0) + 1);
  return { items, more: asked.flatMap(({ lane, permits }) => (counts.get(lane) === permits ? [lane] : [])) };
}
