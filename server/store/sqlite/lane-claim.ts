/** One claim of messages in a lane while it is collected. */

import type { MessageLane, WaitingPair } from "../store.ts";
import type { PairPlace } from "./lane-cursor.ts";
import { type AddressPair, pairName } from "./message-leases.ts";

/** The most messages of one sender and recipient in a claim, if the lane does not say: a run, sent in sequence. */
const RUN_MAX = 8;

/** A claim of one lane while it is collected. */
export interface Collecting {
  lane: MessageLane;
  now: number;
  /** Pairs of which only some messages may be claimed. */
  waiting: ReadonlySet<string>;
  /** Messages leased so far of the pairs that were free before the claim. */
  runs: Map<string, number>;
  runMax: number;
  found: { id: string; pair: AddressPair; lease: number }[];
  /** Whether a pair was found free and may have due messages for the next claim. */
  hasMore: boolean;
  lease(place: PairPlace): void;
}

/** A claim that has found nothing yet. `add` leases a message, and returns the token. */
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

/** Messages with those of each pair in the order of acceptance, which is the order of ids. */
export function inOrderOfAcceptance(found: Collecting["found"]): Collecting["found"] {
  const runs = Map.groupBy(
    found.toSorted((a, b) => (a.id < b.id ? -1 : 1)),
    ({ pair }) => pairName(pair),
  );
  return found.map((one) => runs.get(pairName(one.pair))?.shift() ?? one);
}
