/** Counts faults that an operator should hear of, until none has happened for an hour. Limits nothing, so it is no window. */

import type { Clock } from "../../clock.ts";

/** After this time without another one, the count is 0. */
const FORGOTTEN_MS = 3_600_000;

export class RecentCount {
  readonly #clock: Clock;
  #count = 0;
  #lastAt = 0;

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  /** How often it happened, none of them more than an hour after the one before; 0 an hour after the last. */
  get value(): number {
    return this.#clock.real() - this.#lastAt < FORGOTTEN_MS ? this.#count : 0;
  }

  note(): void {
    this.#count = this.value + 1;
    this.#lastAt = this.#clock.real();
  }
}
