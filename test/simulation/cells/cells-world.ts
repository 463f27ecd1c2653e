/** The surroundings of simulated cells: one clock, chance from a seed, a network that loses messages, and the fences. */

import { SimulatedClock } from "../../support/clock.ts";
import { Chance } from "../chance.ts";

/** Checks that keep a move of a customer safe. A sabotage removes one of them. */
export const FENCES = [
  "an accept requires the role and the version",
  "a send attempt requires the role",
  "the role survives a crash",
  "the old cell stops before the new cell serves",
  "changes after the first copy are copied",
  "idempotency keys are copied",
  "pending deliveries are copied",
  "a cell without the role refuses hooks",
  "an accept is on disk before its response",
] as const;
export type Fence = (typeof FENCES)[number];

/** A caller waits this long for a reply. No request arrives later. */
export const REPLY_MS_MAX = 200;
/** Shares of requests and of replies. */
export interface Weather {
  lost: number;
  slow: number;
}

/** Time, chance and the network of one run. */
export class CellsWorld {
  readonly clock = new SimulatedClock();
  readonly chance: Chance;
  readonly #weather: Weather;
  readonly #missing: Fence | null;
  #ids = 0;

  constructor(seed: string, weather: Weather, missing: Fence | null) {
    this.chance = new Chance(`cells ${seed}`);
    this.#weather = weather;
    this.#missing = missing;
  }

  holds(fence: Fence): boolean {
    return fence !== this.#missing;
  }

  /** A name that nothing else has, in any cell. */
  newId(prefix: string): string {
    this.#ids += 1;
    return `${prefix}${this.#ids}`;
  }

  pause(ms: number): Promise<void> {
    return new Promise((resolve) => {
      this.clock.after(ms, resolve);
    });
  }

  /** Resolves with the reply, or with null if the request or the reply is lost or late: then either may have happened. */
  call<Reply>(serve: () => Promise<Reply>): Promise<Reply | null> {
    const { clock, chance } = this;
    const { lost } = this.#weather;
    return new Promise((resolve) => {
      clock.after(REPLY_MS_MAX, () => resolve(null));
      if (chance.flip(lost)) return;
      clock.after(this.#delayMs(), async () => {
        const reply = await serve();
        if (!chance.flip(lost)) clock.after(this.#delayMs(), () => resolve(reply));
      });
    });
  }

  /** Calls until a reply comes: `serve` must be repeatable. */
  async callUntilReply<Reply>(serve: () => Promise<Reply>): Promise<Reply> {
    for (;;) {
      const reply = await this.call(serve);
      if (reply !== null) return reply;
      await this.pause(this.chance.between(10, 200));
    }
  }

  #delayMs(): number {
    const { chance } = this;
    return chance.flip(this.#weather.slow) ? chance.between(50, REPLY_MS_MAX - 1) : chance.between(1, 10);
  }
}
