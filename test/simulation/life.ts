/** One life of the service's process. After its death no timer fires and no promise resolves. */

import type { Clock } from "../../server/clock.ts";

/** Never resolves: for code of a dead process that awaits something. */
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
      aheadMs: () => clock.aheadMs(),
      real: () => clock.real(),
      monotonic: () => clock.monotonic(),
      turnMs: () => clock.turnMs(),
      after: (ms, action) =>
        clock.after(ms, () => {
          if (this.#alive) action();
        }),
    };
  }

  get alive(): boolean {
    return this.#alive;
  }

  /** Ends the life as `kill -9` would. */
  die(): void {
    this.#alive = false;
    this.#end();
  }

  /** The result of `work`; never resolves if the life ends first. */
  async whileAlive<Value>(work: Promise<Value>): Promise<Value> {
    try {
      const value = await work;
      return this.#alive ? value : await never();
    } catch (error) {
      if (this.#alive) throw error;
      return await never();
    }
  }

  /** Resolves while the life lasts; afterwards never. */
  lives(): Promise<void> {
    return this.#alive ? Promise.resolve() : never();
  }
}
