/** The queue that a loop over lanes drains: how it claims, runs and releases items. */

import type { Clock } from "../clock.ts";
import type { RunTimes } from "./lane-lag.ts";
import type { RunResult } from "./run-result.ts";

/** Claimed items, and the lanes that may have more due items now. */
export interface ClaimedItems<Item> {
  items: Item[];
  more: Iterable<string>;
}

/** The queue that a loop drains. */
export interface Drain<Item> {
  clock: Clock;
  /** Leases at most `permits` items of each lane. */
  claim(lanes: { lane: string; permits: number }[]): Promise<ClaimedItems<Item>>;
  /** Ends the leases of items that are not run: they stay due. Never throws. */
  release(items: readonly Item[]): void;
  /** Lanes with due items. `took`: see `DueLook`. */
  dueLanes(took: (ms: number) => void): Promise<string[]>;
  /** The owner, a customer, whose lanes share permits. Null: not loaded yet. */
  ownerOf(lane: string): string | null;
  /** Loads the owners and permits of lanes. If `ownerOf` is null afterwards, it is called again. */
  loadOwners(lanes: string[]): Promise<void>;
  laneOf(item: Item): string;
  /** When the item was due, in the service's time. */
  dueAtOf(item: Item): number;
  /** Whether the account of the lane takes more work: it is up and not at its limit. If not, the work of the lane waits for that. */
  takesMore(lane: string): boolean;
  /**
   * Items of a lane with one ordering key run in sequence, in the order they were claimed or pushed. Null: in any
   * order.
   */
  orderingKeyOf(item: Item): string | null;
  /** Whether the lease of an item has too little time left to begin with it. */
  isStale(item: Item): boolean;
  /**
   * Handles an item to its end. It may `free` its permit earlier, if the rest of its work must not delay other items;
   * the first result counts. It tells `times` when it waits for its peer. An exception goes to `fault`, and the item's lease
   * expires.
   */
  run(item: Item, free: (result: RunResult) => void, times: RunTimes): Promise<RunResult>;
  /** Whether another due item may have waited for this one, whose run has ended, and could not be claimed. */
  mayFreeOthers(item: Item): boolean;
  fault(error: unknown): void;
  inFlight(count: number): void;
  /** Items of the lane that run at once. */
  permitsPerLane(lane: string): number;
  /** Items of all lanes that run at once. */
  permitsMax: number;
  /** An owner may hold this multiple of the free permits (see `FairSemaphore`). Infinity: no limit. */
  shareOfFree: number;
  /** Items that a lane claims ahead of its permits; 0: only for free permits. */
  prefetch: number;
  /**
   * A lane claims no more ahead than it runs in this time, in milliseconds; none before its first run has ended, nor while its
   * account takes no more. Absent: no bound.
   */
  prefetchMs?: number;
}
