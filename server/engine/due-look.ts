/** Looks for lanes with due work again and again: it is how a loop hears of retries, schedules and what other processes accepted. */

import type { Clock } from "../clock.ts";
import { FAILED_LOOK_PAUSE_MS, pauseAfterLook } from "../core/look-pause.ts";

/** The pause between two looks, unless they are slow, in real milliseconds. */
const LOOK_EVERY_MS = 200;
/** Work that has waited this long for a look lags, in real milliseconds. */
const LAG_AFTER_MS = 5_000;

/** The parts of a look. */
interface DueLookParts {
  clock: Clock;
  /** Lanes with due work. Calls `took` with the time that the database itself needed, in milliseconds, if the database says so. */
  dueLanes(took: (ms: number) => void): Promise<string[]>;
  /** Called with the lanes of each look. */
  found(lanes: string[]): void;
  /** Called with the error of a look that failed. */
  fault(error: unknown): void;
}

/** Looks from `start` until `stop`. A slow look is followed by a pause of at most 2 s, a failed one by a pause of 500 ms. */
export class DueLook {
  readonly #parts: DueLookParts;
  /** When the last look that succeeded began (monotonic time). */
  #lookedAt = Number.POSITIVE_INFINITY;
  #isStopped = true;
  #isLooking = false;
  /** Whether another look follows the present one at once, which may have begun too early. */
  #isAsked = false;
  #cancel: () => void = () => {};

  constructor(parts: DueLookParts) {
    this.#parts = parts;
  }

  start(): void {
    this.#isStopped = false;
    this.#lookedAt = this.#parts.clock.monotonic();
    void this.#look();
  }

  /** Looks at once, or as soon as the look in progress has ended. */
  now(): void {
    if (this.#isStopped) return;
    this.#isAsked = true;
    if (this.#isLooking) return;
    this.#cancel();
    void this.#look();
  }

  /** Looks no more. The lanes of a look that is in progress are dropped. */
  stop(): void {
    this.#isStopped = true;
    this.#cancel();
  }

  /** For how long due work may have waited for a look, in milliseconds, if that is 5 s or longer; else 0. */
  lagMs(): number {
    if (this.#isStopped) return 0;
    const waitedMs = this.#parts.clock.monotonic() - this.#lookedAt;
    return waitedMs >= LAG_AFTER_MS ? waitedMs : 0;
  }

  async #look(): Promise<void> {
    this.#isLooking = true;
    let pauseMs: number | null;
    do {
      this.#isAsked = false;
      pauseMs = await this.#lookOnce();
    } while (pauseMs !== null && this.#isAsked && !this.#isStopped);
    this.#isLooking = false;
    if (!this.#isStopped)
      this.#cancel = this.#parts.clock.after(pauseMs ?? FAILED_LOOK_PAUSE_MS, () => void this.#look());
  }

  /** Resolves with the pause that follows; null if the look has failed. Never throws. */
  async #lookOnce(): Promise<number | null> {
    const { clock, dueLanes, found, fault } = this.#parts;
    const startedAt = clock.monotonic();
    // This process, its connection or a list before it may stand still, which costs the database nothing.
    let costMs: number | null = null;
    try {
      const lanes = await dueLanes((ms) => {
        costMs = ms;
      });
      if (this.#isStopped) return 0;
      this.#lookedAt = startedAt;
      const pauseMs = pauseAfterLook(costMs ?? clock.monotonic() - startedAt, LOOK_EVERY_MS);
      found(lanes);
      return pauseMs;
    } catch (error) {
      fault(error);
      return null;
    }
  }
}
