/** Detects that BlueBubbles responds to requests but no longer pushes events. Then only backfill finds new rows. */

import type { Clock } from "../../clock.ts";
import type { MacMessage } from "./records.ts";

/** BlueBubbles pushes a row within about a second. A row this old, in milliseconds, should have been pushed. */
const PUSHED_WITHIN_MS = 10_000;
/** This many rows without a push are no coincidence. */
const ROWS_MIN = 3;
const ROWS_KEPT_MAX = 100;

/** Compares the rows that were pushed with the rows that only backfill found. */
export class PushMonitor {
  readonly #clock: Clock;
  /** Guids of rows that backfill found and that should have been pushed. */
  readonly #found = new Set<string>();
  #hearsSince = Number.POSITIVE_INFINITY;

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  /** Whether new rows appear on the Mac and none of them is pushed. */
  get hasStopped(): boolean {
    return this.#found.size >= ROWS_MIN;
  }

  /** A push arrived, or pushes can arrive from now on: pushing is assumed to work. */
  pushReceived(): void {
    this.#hearsSince = this.#clock.real();
    this.#found.clear();
  }

  /** Backfill found a row. */
  rowFound({ guid, dateCreated }: Pick<MacMessage, "guid" | "dateCreated">): void {
    if (dateCreated === null || this.#found.size >= ROWS_KEPT_MAX) return;
    const isDue = this.#clock.real() - dateCreated > PUSHED_WITHIN_MS;
    if (isDue && dateCreated > this.#hearsSince + PUSHED_WITHIN_MS) this.#found.add(guid);
  }
}
