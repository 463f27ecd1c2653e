/** The state of one claim of messages in a lane. */

import type { MessageLane, WaitingPair } from "../store.ts";
import type { PairPlace } from "./lane-cursor.ts";
import { type AddressPair, pairName } from "./message-leases.ts";

/**
 * The most messages of one pair in a claim, if the lane sets no `runMax`. Such messages are a run: sent in sequence.
 */
const RUN_MAX = 8;

/** A claim of one lane in progress. */
export interface Collecting {
  lane: MessageLane;
  now: number;
  /** Waiting pairs: a claim leases only the messages that the pair waits for, and messages that are not `queued`. */
  waiting: ReadonlySet<string>;
  /** How many messages this claim has leased, for each pair that was free before it. */
  runs: Map<string, number>;
  runMax: number;
  found: { id: string; pair: AddressPair; lease: number }[];
  /** Whether the claim left a free pair that may have due messages for the next claim. */
  hasMore: boolean;
  lease(place: PairPlace): void;
}

/** Begins a claim. `add` leases a message and returns the token of the lease. */
export function collect(
  lane: MessageLane,
  now: number,
  waiting: readonly WaitingPair[],
  add: (place: PairPlace) => number,
): Collecting {
  const found: Collecting["found"] = [];
  return {
    lane,
    now,
    waiting: new Set(waiting.map(({ from, to }) => pairName([from, to]))),
    runs: new Map(),
    runMax: lane.runMax ?? RUN_MAX,
    found,
    hasMore: false,
    lease: (place) => found.push({ id: place.id, pair: place.pair, lease: add(place) }),
  };
}

/** Puts the messages of each pair in the order of acceptance, which is the order of ids. Each pair keeps its places. */
export function inOrderOfAcceptance(found: Collecting["found"]): Collecting["found"] {
  const runs = Map.groupBy(
    found.toSorted((a, b) => (a.id < b.id ? -1 : 1)),
    ({ pair }) => pairName(pair),
  );
  return found.map((one) => runs.get(pairName(one.pair))?.shift() ?? one);
}
