/** Reads the lag of a loop over lanes: the age of its oldest work that could start now and has not. */

import type { FairSemaphore } from "../core/fair-semaphore.ts";
import type { Drain } from "./drain.ts";
import { isHeld, type Lane, waitingSince } from "./lane-state.ts";

/** A peer that responds within this many turns of the event loop is not what its lane waits for. */
const PEER_TURNS = 4;

/** The parts of a loop that its lag is read from. */
interface LoopParts<Item> {
  drain: Pick<Drain<Item>, "clock" | "takesMore" | "ownerOf" | "permitsMax">;
  lanes: ReadonlyMap<string, Lane<Item>>;
  permits: Pick<FairSemaphore, "room" | "used">;
  /** Items of the lane that may run at once. */
  permitsOf(lane: Lane<Item>): number;
}

/** One reading of the lag. */
interface Reading {
  now: number;
  /** A peer that takes longer is slow, in milliseconds. */
  soonMs: number;
  /** Whether the runs of an owner, or of all owners (null), wait for their peers. */
  waitForPeers: Map<string | null, boolean>;
}

/**
 * Waiting work of a lane lags unless something else holds it up:
 *
 * | The lane | Its work waits for |
 * |---|---|
 * | is paused, its peer was not reached or asked it to wait, its owner is not loaded, its account is down or at its limit | that |
 * | could run more, but its owner has no permit left | the runs with these permits: it lags unless half of them wait for their peers |
 * | has all of its own permits in use | its own runs: it lags unless they wait for the peer (`LaneLag`) |
 *
 * It lags since it was due and nothing held it up. A busy process reads a response only when its event loop comes round again, so a
 * fast peer looks as slow as the loop: a peer counts as slow only beyond four turns of the event loop.
 */
export class LoopLag<Item> {
  readonly #parts: LoopParts<Item>;
  /** Lanes whose work may be waiting. */
  readonly #waiting = new Set<Lane<Item>>();

  constructor(parts: LoopParts<Item>) {
    this.#parts = parts;
  }

  /** The lane may have waiting work. */
  add(lane: Lane<Item>): void {
    this.#waiting.add(lane);
  }

  remove(lane: Lane<Item>): void {
    this.#waiting.delete(lane);
  }

  /** The pause or the account of a lane may have changed: work that it held up lags from now on. */
  changed(lane: Lane<Item>): void {
    const wasBlocked = lane.isBlocked;
    lane.isBlocked = this.#isBlocked(lane);
    if (wasBlocked || lane.isBlocked) lane.lag.hold(this.#parts.drain.clock.monotonic());
  }

  /** The lag in milliseconds; 0 if nothing lags. `resumedAt`: the end of the last pause of all lanes (monotonic time). */
  readMs(resumedAt: number): number {
    const { clock } = this.#parts.drain;
    const reading: Reading = {
      now: clock.monotonic(),
      soonMs: clock.turnMs() * PEER_TURNS,
      waitForPeers: new Map(),
    };
    let longestMs = 0;
    for (const lane of this.#waiting) {
      const since = waitingSince(lane);
      if (since === null) {
        this.#waiting.delete(lane);
        continue;
      }
      if (this.#isHeld(lane, reading)) lane.lag.hold(reading.now);
      longestMs = Math.max(longestMs, reading.now - Math.max(since, resumedAt, lane.lag.heldUntil));
    }
    return longestMs;
  }

  /** Whether the work of a lane waits for something that is not this process. */
  #isHeld(lane: Lane<Item>, reading: Reading): boolean {
    lane.isBlocked = this.#isBlocked(lane);
    if (lane.isBlocked) return true;
    const owner = this.#parts.drain.ownerOf(lane.name);
    const { permits, permitsOf } = this.#parts;
    if (owner !== null && lane.running < permitsOf(lane) && permits.room(owner) === 0)
      return this.#waitForPeers(owner, reading);
    return lane.lag.waitsForPeer(reading.now, reading.soonMs);
  }

  #isBlocked(lane: Lane<Item>): boolean {
    const { name, breaker, cancelPause } = lane;
    const { clock, ownerOf, takesMore } = this.#parts.drain;
    if (isHeld(lane, clock.now())) return true;
    return cancelPause !== null || breaker.isLimited || ownerOf(name) === null || !takesMore(name);
  }

  /** Whether half of the runs that have the permits of an owner wait for their peers: its own or, if no permit is free, all runs. */
  #waitForPeers(owner: string, { now, soonMs, waitForPeers }: Reading): boolean {
    const { drain, lanes, permits } = this.#parts;
    const holder = permits.used < drain.permitsMax ? owner : null;
    const known = waitForPeers.get(holder);
    if (known !== undefined) return known;
    let [running, waiting] = [0, 0];
    for (const lane of lanes.values()) {
      if (lane.running === 0 || (holder !== null && drain.ownerOf(lane.name) !== holder)) continue;
      running += lane.running;
      waiting += lane.lag.runsWaiting(now, soonMs);
    }
    const doWait = waiting * 2 >= running;
    waitForPeers.set(holder, doWait);
    return doWait;
  }
}
