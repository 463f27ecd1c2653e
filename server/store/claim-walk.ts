/**
 * The walk through a lane behind its front, on which the claims of the lane go on one after the other: through the pairs with a
 * `queued` message, and through the timers, which are due messages that are not `queued`. Pure: it computes how far the walk has come.
 */

/** Pairs, and timers, that a claim reads behind the front at most. */
export const STEPS_MAX = 256;
/** Claims one after the other that walk and lease nothing. Then the walk rests until something else has the lane claimed. */
export const IDLE_CLAIMS_MAX = 40;
/** Pairs whose later timers wait for the next round. Beyond it the round through the timers ends. */
export const PASSED_MAX = 1_000;

/** A pair's place among those of its lane. */
export type PairPosition = readonly [from: string, to: string];

/** A timer's place among those of its lane. */
export type TimerPosition = readonly [dueAt: number, id: string];

/** Rounds through the pairs or the timers of a lane, each from the first to the last. */
export interface Rounds<Place> {
  /** The pair or timer that was read last; null: a round begins. */
  last: Place | null;
  /** Rounds that have to end until everything was read since a claim had too few permits. */
  left: number;
}

/** How far a walk has come. */
export interface ClaimWalk {
  pairs: Rounds<PairPosition>;
  timers: Rounds<TimerPosition>;
  /** Names of pairs with a timer that the round has passed. Their later timers wait for the next round, so that they keep their order. */
  passed: readonly string[];
  /** Claims one after the other that leased nothing. */
  idle: number;
}

/** A walk that begins. */
export const WALK_BEGINS: ClaimWalk = {
  pairs: roundsFrom<PairPosition>(null),
  timers: roundsFrom<TimerPosition>(null),
  passed: [],
  idle: 0,
};

/**
 * The part of a walk that a claim read: the last pair and timer, each null if the round has ended, and the names of the pairs whose timers
 * it read and did not lease.
 */
export interface WalkedPart {
  pair: PairPosition | null;
  timer: TimerPosition | null;
  passed: readonly string[];
}

/**
 * The walk after a claim that leased messages behind the front, at most `permits`. `more`: the next claim may find more in the lane.
 * After a claim with too few permits the next one reads the same timers, from which those that were leased are gone.
 */
export function walkOn(
  { pairs, timers, passed, idle }: ClaimWalk,
  read: WalkedPart,
  { leased, permits }: { leased: number; permits: number },
): { walk: ClaimWalk; more: boolean } {
  if (leased >= permits)
    return { walk: { pairs: roundsFrom(read.pair), timers: roundsFrom(timers.last), passed, idle: 0 }, more: true };
  const names = [...new Set([...passed, ...read.passed])];
  const timer = names.length > PASSED_MAX ? null : read.timer;
  const walk: ClaimWalk = {
    pairs: goOn(pairs, read.pair),
    timers: goOn(timers, timer),
    passed: timer === null ? [] : names,
    idle: leased > 0 ? 0 : idle + 1,
  };
  const more = walk.idle < IDLE_CLAIMS_MAX && (walk.pairs.left > 0 || walk.timers.left > 0);
  if (more) return { walk, more };
  return { walk: { ...walk, pairs: roundsFrom(read.pair), timers: roundsFrom(timer), idle: 0 }, more };
}

/** Rounds in which everything is still to be read, from behind `last` on. */
function roundsFrom<Place>(last: Place | null): Rounds<Place> {
  return { last, left: last === null ? 1 : 2 };
}

function goOn<Place>({ left }: Rounds<Place>, last: Place | null): Rounds<Place> {
  return { last, left: last === null ? Math.max(0, left - 1) : left };
}
