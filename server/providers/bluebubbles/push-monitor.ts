/** Notices that BlueBubbles pushes nothing any more although its HTTP is well: then only asking finds what happens on the Mac. */

import type { Clock } from "../../clock.ts";
import type { MacMessage } from "./records.ts";

/** BlueBubbles pushes a row within about a second; one this old, in milliseconds, should have been pushed. */
const PUSHED_WITHIN_MS = 10_000;
/** So many rows that were not pushed are no accident. */
const ROWS_MIN = 3;
const ROWS_KEPT_MAX = 100;

/** What was pushed and what was only found, since this process could hear pushes. */
export class PushMonitor {
  readonly #clock: Clock;
  /** Guids of rows that were found and should have been pushed. */
  readonly #found = new Set<string>();
  #hearsSince = Number.POSITIVE_INFINITY;

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  /** Whether rows come to be on the Mac and none of them is pushed. */
  get hasStopped(): boolean {
    return this.#found.size >= ROWS_MIN;
  }

  /** Pushes can be heard from now on, or one was heard: the watch is alive as far as anybody knows. */
  pushReceived(): void {
    this.#hearsSince = this.#clock.real();
    this.#found.clear();
  }

  /** Catching up found a row. */
  rowFound({ guid, dateCreated }: Pick<MacMessage, "guid" | "dateCreated">): void {
    if (dateCreated === null || this.#found.size >= ROWS_KEPT_MAX) return;
    const isDue = this.#clock.real() - dateCreated > PUSHED_WITHIN_MS;
    if (isDue && dateCreated > this.#hearsSince + PUSHED_WITHIN_MS) this.#found.add(guid);
  }
}
