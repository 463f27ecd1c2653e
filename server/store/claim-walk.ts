/**
 * The walk of a lane's claims through the lane behind its front. Each claim continues where the last one ended: through
 * the pairs with a `queued` message, and through the timers. A timer is a due message that is not `queued`. Pure:
 * computes how far the walk has come.
 */

/** The most pairs, and the most timers, that a claim reads behind the front. */
export const STEPS_MAX = 256;
/**
 * After so many successive claims that lease nothing, the walk rests until something else causes a claim of the lane.
 */
export const IDLE_CLAIMS_MAX = 40;
/** The most pairs whose later timers wait for the next round. Beyond it the round through the timers ends. */
export const PASSED_MAX = 1_000;

/** A pair's place among the pairs of its lane. */
export type PairPosition = readonly [from: string, to: string];

/** A timer's place among the timers of its lane. */
export type TimerPosition = readonly [dueAt: number, id: string];

/** Rounds through the pairs or the timers of a lane, each from the first to the last. */
export interface Rounds<Place> {
  /** The pair or timer that was read last; null: a round begins. */
  last: Place | null;
  /** Rounds that still have to end until claims have read everything since the last claim with too few permits. */
  left: number;
}

/** How far a walk has come. */
export interface ClaimWalk {
  pairs: Rounds<PairPosition>;
  timers: Rounds<TimerPosition>;
  /**
   * Names of pairs with a timer that this round has passed. Their later timers wait for the next round, to keep their
   * order.
   */
  passed: readonly string[];
  /** How many successive claims leased nothing. */
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
 * The part of a walk that a claim read: the last pair and the last timer, each null if its round has ended. `passed`:
 * names of the pairs whose timers the claim read and did not lease.
 */
export interface WalkedPart {
  pair: PairPosition | null;
  timer: TimerPosition | null;
  passed: readonly string[];
}

/**
 * Returns the walk after a claim that leased `leased` messages behind the front, of at most `permits`. `more`: the next
 * claim may find more in the lane. After a claim with too few permits, the next claim reads the same timers without the
 * leased ones.
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

/** Rounds in which claims still have to read everything, beginning behind `last`. */
function roundsFrom<Place>(last: Place | null): Rounds<Place> {
  return { last, left: last === null ? 1 : 2 };
}

function goOn<Place>({ left }: Rounds<Place>, last: Place | null): Rounds<Place> {
  return { last, left: last === null ? Math.max(0, left - 1) : left };
}
