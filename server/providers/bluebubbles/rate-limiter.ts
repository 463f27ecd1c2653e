/** How fast one Mac is used: calls of its Private API a second, and new conversations an hour. Talks to nobody. */

import type { Clock } from "../../clock.ts";
import { jsonOf } from "../../core/loose-json.ts";
import type { Memory } from "../provider.ts";

/** The Mac does one call in 200 ms, one after the other: a little slower leaves room for its own. */
const CALL_EVERY_MS = 250;
/** Calls that wait at once; beyond it the newest is turned away. */
const WAITING_MAX = 256;

/** A call was turned away, or called off before its turn. Nothing of it was done. */
export class RateLimited extends Error {}

/** Turns for calls of the Mac's Private API: in the order they were asked for, one every 250 ms. Ends with `stop`. */
export class PrivateApiRateLimiter {
  readonly #clock: Clock;
  readonly #waiting: { go: () => void; drop: () => void }[] = [];
  #freeAt = Number.NEGATIVE_INFINITY;
  #stopTimer: (() => void) | null = null;
  #stopped = false;

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  /** Calls that wait for their turn. */
  get waiting(): number {
    return this.#waiting.length;
  }

  /** Resolves when it is the caller's turn. Rejects with `RateLimited` when called off, stopped, or when too many wait. */
  acquire(abort?: AbortSignal): Promise<void> {
    return new Promise((resolve, reject) => {
      if (this.#stopped || abort?.aborted === true) return reject(new RateLimited("called off before its turn"));
      if (this.#waiting.length >= WAITING_MAX) return reject(new RateLimited(`${WAITING_MAX} calls wait for the Mac`));
      const leave = () => abort?.removeEventListener("abort", callOff);
      const place = {
        go: () => {
          leave();
          resolve();
        },
        drop: () => {
          leave();
          reject(new RateLimited("called off before its turn"));
        },
      };
      const callOff = () => {
        this.#waiting.splice(this.#waiting.indexOf(place), 1);
        place.drop();
      };
      abort?.addEventListener("abort", callOff, { once: true });
      this.#waiting.push(place);
      this.#serve();
    });
  }

  /** Turns everybody away, now and from now on. */
  stop(): void {
    this.#stopped = true;
    this.#stopTimer?.();
    this.#stopTimer = null;
    for (const place of this.#waiting.splice(0)) place.drop();
  }

  #serve(): void {
    if (this.#stopTimer !== null) return;
    const now = this.#clock.real();
    // A clock that was set back holds nobody up for longer.
    this.#freeAt = Math.min(this.#freeAt, now + CALL_EVERY_MS);
    if (this.#freeAt <= now) {
      const next = this.#waiting.shift();
      if (next === undefined) return;
      this.#freeAt = now + CALL_EVERY_MS;
      next.go();
    }
    if (this.#waiting.length === 0) return;
    this.#stopTimer = this.#clock.after(this.#freeAt - now, () => {
      this.#stopTimer = null;
      this.#serve();
    });
  }
}

const NEW_CHATS_KEY = "new-chats";
const NEW_CHATS_WITHIN_MS = 3_600_000;

/**
 * New conversations within any hour: Apple takes note of who begins many. Kept in the instance's memory, so that a
 * restart does not begin to count anew.
 */
export class NewChatLimit {
  readonly #clock: Clock;
  readonly #memory: Memory;
  readonly #perHour: number;
  #begunAt: number[] = [];

  constructor(clock: Clock, memory: Memory, perHour: number) {
    this.#clock = clock;
    this.#memory = memory;
    this.#perHour = perHour;
  }

  /** Takes up what the last process left. */
  async load(): Promise<void> {
    const entries = await this.#memory.list(NEW_CHATS_KEY);
    this.#begunAt = parseTimes(entries.find(({ key }) => key === NEW_CHATS_KEY)?.value);
  }

  /** Counts one more, on disk, and answers null; or, where that were too many, after how many milliseconds to ask again. */
  async acquire(): Promise<number | null> {
    const now = this.#clock.real();
    // What seems to lie ahead was written before the clock was set back: it counts as of now.
    const recent = this.#begunAt.map((at) => Math.min(at, now)).filter((at) => now - at < NEW_CHATS_WITHIN_MS);
    const [oldest = now] = recent;
    if (recent.length >= this.#perHour) return Math.max(1_000, oldest + NEW_CHATS_WITHIN_MS - now);
    this.#begunAt = [...recent, now];
    await this.#memory.put(NEW_CHATS_KEY, JSON.stringify(this.#begunAt));
    return null;
  }

  /** Takes the newest back: its conversation did not come to be. */
  async release(): Promise<void> {
    this.#begunAt = this.#begunAt.slice(0, -1);
    await this.#memory.put(NEW_CHATS_KEY, JSON.stringify(this.#begunAt));
  }
}

/** Times in order; none of a value that cannot be read. */
function parseTimes(text = "[]"): number[] {
  const value = jsonOf(text);
  return Array.isArray(value) ? value.filter((at) => typeof at === "number").sort((a, b) => a - b) : [];
}
