/** One life of the service's process: its time, until it dies. The dead change nothing and are told nothing. */

import type { Clock } from "../../server/clock.ts";

/** A promise that nobody keeps: whoever waits for the world of a dead process waits for ever, and is forgotten. */
function never(): Promise<never> {
  return new Promise(() => {});
}

export class Life {
  /** 1 for the first. */
  readonly number: number;
  readonly clock: Clock;
  /** Resolves when it dies. */
  readonly death: Promise<void>;
  #alive = true;
  #end: () => void = () => {};

  constructor(number: number, clock: Clock) {
    this.number = number;
    this.death = new Promise((resolve) => {
      this.#end = resolve;
    });
    this.clock = {
      now: () => clock.now(),
      real: () => clock.real(),
      after: (ms, action) =>
        clock.after(ms, () => {
          if (this.#alive) action();
        }),
    };
  }

  get alive(): boolean {
    return this.#alive;
  }

  /** Like `kill -9`: from here on nothing gets in or out. */
  die(): void {
    this.#alive = false;
    this.#end();
  }

  /** What `work` comes to, as long as there is somebody to hear it. */
  async told<Value>(work: Promise<Value>): Promise<Value> {
    try {
      const value = await work;
      return this.#alive ? value : await never();
    } catch (error) {
      if (this.#alive) throw error;
      return await never();
    }
  }

  /** Resolves for the living only. */
  lives(): Promise<void> {
    return this.#alive ? Promise.resolve() : never();
  }
}
