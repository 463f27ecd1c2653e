/** A clock that advances only by a test's calls, for tests and the simulation. Nothing here uses real time. */

import { setImmediate as turn } from "node:timers/promises";
import type { Clock, ClockShift } from "../../server/clock.ts";

interface Timer {
  at: number;
  /** Place among timers of the same time. */
  order: number;
  /** Null when it was stopped. */
  action: (() => void) | null;
}

/** 2026-01-01T00:00:00Z: the default start of simulated time. */
const START_AT = Date.UTC(2026, 0, 1);

/** Contract of `Clock.after`: never for more than an hour. */
const AFTER_MS_MAX = 3_600_000;

/** Turns of the event loop after each timer: promises that wait for one another across a few turns all get through. */
const TURNS = 4;

/**
 * Simulated time. `after` runs nothing by itself: `advance` does, earliest first and, of equal times, in the order they
 * were set. The same calls give the same run.
 */
export class SimulatedClock implements Clock {
  #realAt: number;
  /** How far the machine's time was set forward or back. Timers do not notice. */
  #steppedMs = 0;
  /** How far `now` is ahead of `real`. */
  readonly ahead: ClockShift = { ms: 0 };
  /** Length of a turn of the event loop, as far as it is asked for: simulated turns take no time. */
  busyMs = 0;
  /** A binary heap, earliest first. Stopped timers stay in it until they come up. */
  readonly #timers: Timer[] = [];
  #set = 0;
  #pending = 0;
  #advancing = false;

  constructor(startAt = START_AT) {
    this.#realAt = startAt;
  }

  now(): number {
    return this.real() + this.ahead.ms;
  }

  aheadMs(): number {
    return this.ahead.ms;
  }

  real(): number {
    return this.#realAt + this.#steppedMs;
  }

  monotonic(): number {
    return this.#realAt;
  }

  turnMs(): number {
    return this.busyMs;
  }

  /**
   * Like a machine's timer: whole milliseconds, at least one. Throws a RangeError for more than an hour and for values
   * that are not finite.
   */
  after(ms: number, action: () => void): () => void {
    if (!(ms <= AFTER_MS_MAX)) throw new RangeError(`a clock waits at most ${AFTER_MS_MAX} ms in one go, not ${ms}`);
    const at = this.#realAt + Math.max(1, Math.trunc(ms));
    const timer: Timer = { at, order: this.#set, action };
    this.#set += 1;
    this.#pending += 1;
    push(this.#timers, timer);
    return () => {
      if (timer.action !== null) this.#pending -= 1;
      timer.action = null;
    };
  }

  /** Timers that wait. */
  get pending(): number {
    return this.#pending;
  }

  /** When the next timer is due (real), or null when none waits. */
  get nextAt(): number | null {
    while (this.#timers[0]?.action === null) pop(this.#timers);
    const at = this.#timers[0]?.at;
    return at === undefined ? null : at + this.#steppedMs;
  }

  /** Sets the machine's time forward or back, as a person does or NTP. Runs no timer. */
  step(ms: number): void {
    this.#steppedMs += ms;
  }

  /** Moves the shifted clock alone, as the sandbox's does: forward only. Runs no timer. */
  shift(ms: number): void {
    if (!(ms >= 0)) throw new RangeError(`the shift only goes forward, not by ${ms}`);
    this.ahead.ms += ms;
  }

  /**
   * Lets `ms` pass, running each timer at its time, also those set on the way, and after each what it set off.
   * An error of a timer ends it. One call at a time.
   */
  async advance(ms: number): Promise<void> {
    const until = this.#realAt + ms;
    await this.#exclusive(async () => {
      await settled();
      while (await this.#runNext(until));
      this.#realAt = until;
    });
  }

  /** As `advance`, but only until `condition` holds: whether it came to hold within `limitMs`. */
  async advanceUntil(condition: () => boolean, limitMs: number): Promise<boolean> {
    const until = this.#realAt + limitMs;
    return await this.#exclusive(async () => {
      await settled();
      while (!condition()) {
        if (await this.#runNext(until)) continue;
        this.#realAt = until;
        return condition();
      }
      return true;
    });
  }

  /** Runs the earliest timer due by `until`; false when there is none. */
  async #runNext(until: number): Promise<boolean> {
    const nextAt = this.nextAt;
    if (nextAt === null) return false;
    const at = nextAt - this.#steppedMs;
    if (at > until) return false;
    const timer = pop(this.#timers);
    const { action } = timer;
    timer.action = null;
    this.#pending -= 1;
    this.#realAt = at;
    action?.();
    await settled();
    return true;
  }

  async #exclusive<Value>(run: () => Promise<Value>): Promise<Value> {
    if (this.#advancing) throw new Error("the clock is being advanced already");
    this.#advancing = true;
    try {
      return await run();
    } finally {
      this.#advancing = false;
    }
  }
}

function isBefore(a: Timer, b: Timer): boolean {
  return a.at < b.at || (a.at === b.at && a.order < b.order);
}

function push(heap: Timer[], timer: Timer): void {
  let index = heap.length;
  while (index > 0) {
    const above = (index - 1) >>> 1;
    const parent = at(heap, above);
    if (isBefore(parent, timer)) break;
    heap[index] = parent;
    index = above;
  }
  heap[index] = timer;
}

/** Takes the earliest timer out of a heap that is not empty. */
function pop(heap: Timer[]): Timer {
  const first = at(heap, 0);
  const last = heap.pop();
  if (last === undefined || heap.length === 0) return first;
  let index = 0;
  for (;;) {
    let child = index * 2 + 1;
    if (child >= heap.length) break;
    if (child + 1 < heap.length && isBefore(at(heap, child + 1), at(heap, child))) child += 1;
    if (isBefore(last, at(heap, child))) break;
    heap[index] = at(heap, child);
    index = child;
  }
  heap[index] = last;
  return first;
}

function at(heap: Timer[], index: number): Timer {
  const timer = heap[index];
  if (timer === undefined) throw new RangeError(`no timer at ${index} of ${heap.length}`);
  return timer;
}

async function settled(): Promise<void> {
  for (let index = 0; index < TURNS; index += 1) await turn();
}
