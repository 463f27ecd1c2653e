/** Lets in so much at once, in the order of arrival: what is begun is not held up by what is not. No I/O. */

import type { Clock } from "../../clock.ts";

interface Waiting {
  weight: number;
  admit(): void;
}

export class Turnstile {
  readonly #clock: Clock;
  readonly #room: number;
  readonly #waiting: Waiting[] = [];
  #inside = 0;

  /** `room`: the weight that may be inside at once. */
  constructor(clock: Clock, room: number) {
    this.#clock = clock;
    this.#room = room;
  }

  /**
   * Resolves with the way out, which counts once however often it is taken, when there is room for `weight` (one heavier than the room goes in
   * alone); with null where there was none within `limitMs`, or `abort` came first.
   */
  enter(weight: number, limitMs: number, abort: AbortSignal): Promise<(() => void) | null> {
    return new Promise((resolve) => {
      const settle = (way: (() => void) | null) => {
        stopTimer();
        abort.removeEventListener("abort", leave);
        resolve(way);
      };
      const wayOut = () => {
        this.#leave(waiting.weight);
        waiting.weight = 0;
      };
      const waiting = { weight: Math.min(weight, this.#room), admit: () => settle(wayOut) };
      const leave = () => {
        this.#waiting.splice(this.#waiting.indexOf(waiting), 1);
        settle(null);
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
      if (this.#inside + next.weight > this.#room) return;
      this.#waiting.shift();
      this.#inside += next.weight;
      next.admit();
    }
  }

  #leave(weight: number): void {
    this.#inside -= weight;
    this.#admit();
  }
}
