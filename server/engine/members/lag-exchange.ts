/**
 * Tells the other processes of the database how far the work of this one lags, and asks how far theirs does, several times a second: accepts
 * wait for the slowest process, and no longer than it is slow.
 */

import { RepeatingTask } from "../../core/repeating-task.ts";
import type { Deps } from "../deps.ts";

/** Time between two exchanges, in real milliseconds. */
const EXCHANGE_EVERY_MS = 250;
/** The same while a process lags: when it does no more, accepts go on at once. */
const EXCHANGE_WHILE_LAGGING_MS = 50;
/** A lag that was read longer ago is not known, in real milliseconds. */
const KNOWN_MS_MAX = 1_000;

/** What an exchange needs. `ownLagMs`: how far this process lags; `lagMsMax`: the lag beyond which accepts wait. In milliseconds. */
export interface LagExchangeOptions extends Pick<Deps, "store" | "clock" | "observer"> {
  ownLagMs: () => number;
  lagMsMax: number;
}

export class LagExchange {
  readonly #options: LagExchangeOptions;
  readonly #exchanges: RepeatingTask;
  /** The longest lag of another process, and when it was asked for (monotonic time). */
  #elsewhere = { lagMs: 0, askedAt: Number.NEGATIVE_INFINITY };

  constructor(options: LagExchangeOptions) {
    this.#options = options;
    this.#exchanges = new RepeatingTask({
      clock: options.clock,
      run: () => this.#exchange(),
      fault: (error) => options.observer.fault("lag-exchange", error),
      retryMs: EXCHANGE_EVERY_MS,
    });
  }

  /** The longest lag of another process, in milliseconds; 0 if it is not known. */
  get elsewhereMs(): number {
    const { lagMs, askedAt } = this.#elsewhere;
    return this.#options.clock.monotonic() - askedAt <= KNOWN_MS_MAX ? lagMs : 0;
  }

  /** Begins, unless no other process can use the database. */
  start(): void {
    if (this.#options.store.shared !== null) this.#exchanges.schedule(0);
  }

  /** Exchanges nothing more, and resolves when the exchange in progress has ended. */
  stop(): Promise<void> {
    return this.#exchanges.stop();
  }

  /** Resolves with the time until the next exchange. */
  async #exchange(): Promise<number> {
    const { clock, store, ownLagMs, lagMsMax } = this.#options;
    const askedAt = clock.monotonic();
    const own = Math.round(ownLagMs());
    const lagMs = (await store.shared?.exchangeLag(own)) ?? 0;
    this.#elsewhere = { lagMs, askedAt };
    return Math.max(own, lagMs) > lagMsMax ? EXCHANGE_WHILE_LAGGING_MS : EXCHANGE_EVERY_MS;
  }
}
