/** A weighted semaphore: grants permits in the order of arrival. No I/O. */

import type { Clock } from "../../clock.ts";

interface SemaphoreWaiter {
  weight: number;
  admit(): void;
}

export class WeightedSemaphore {
  readonly #clock: Clock;
  readonly #permits: number;
  readonly #waiting: SemaphoreWaiter[] = [];
  #used = 0;

  constructor(clock: Clock, permits: number) {
    this.#clock = clock;
    this.#permits = permits;
  }

  /**
   * Resolves with a function that releases the permits (further calls do nothing), or with null if they were not free
   * within `limitMs` or `abort` came first. A request for more permits than there are gets all of them.
   */
  acquire(weight: number, limitMs: number, abort: AbortSignal): Promise<(() => void) | null> {
    return new Promise((resolve) => {
      const finish = (granted: (() => void) | null) => {
        stopTimer();
        abort.removeEventListener("abort", leave);
        resolve(granted);
      };
      const release = () => {
        this.#release(waiting.weight);
        waiting.weight = 0;
      };
      const waiting = { weight: Math.min(weight, this.#permits), admit: () => finish(release) };
      const leave = () => {
        this.#waiting.splice(this.#waiting.indexOf(waiting), 1);
        finish(null);
        this.#admit();
      };
      const stopTimer = this.#clock.after(limitMs, leave);
      abort.addEventListener("abort", leave, { once: true });
      this.#waiting.push(waiting);
      if (abort.aborted) leave();
      else this.#admit();
    });
  }

  #admit(): void {
    for (let next = this.#waiting[0]; next !== undefined; next = this.#waiting[0]) {
      if (this.#used + next.weight > this.#permits) return;
      this.#waiting.shift();
      this.#used += next.weight;
      next.admit();
    }
  }

  #release(weight: number): void {
    this.#used -= weight;
    this.#admit();
  }
}
