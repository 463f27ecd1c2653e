/**
 * Tells the other processes of the database how far this process lags, and asks for their lags, several times a second.
 * So accepts wait while the slowest process lags, and no longer.
 */

import { RepeatingTask } from "../../core/repeating-task.ts";
import type { Deps } from "../deps.ts";
import { DEAD_AFTER_MS } from "./shared-membership.ts";

/** Time between two exchanges, in real milliseconds. */
const EXCHANGE_EVERY_MS = 250;
/**
 * The shorter time, in real milliseconds, while this process lags or its accepts wait for another process.
 * So the waiting accepts go on at once when the other process lags no more.
 */
const EXCHANGE_WHILE_LAGGING_MS = 50;
/** A reported lag that is older than this holds up no accepts, in real milliseconds: the database is out of reach. */
const KNOWN_MS_MAX = 5_000;

/** The dependencies and limits of an exchange. */
export interface LagExchangeOptions extends Pick<Deps, "store" | "clock" | "observer"> {
  /** How far this process lags, in milliseconds. */
  ownLagMs: () => number;
  /** Accepts wait beyond this lag, in milliseconds. Shorter lags are told as 0. */
  lagMsMax: number;
  /** Whether this process accepts messages. */
  accepts: boolean;
}

export class LagExchange {
  readonly #options: LagExchangeOptions;
  readonly #exchanges: RepeatingTask;
  /** The longest lag of another process, and when it was told (monotonic time). */
  #elsewhere = { lagMs: 0, toldAt: Number.NEGATIVE_INFINITY };

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
    const { lagMs, toldAt } = this.#elsewhere;
    return this.#options.clock.monotonic() - toldAt <= KNOWN_MS_MAX ? lagMs : 0;
  }

  /** Begins, unless no other process can use the database. */
  start(): void {
    if (this.#options.store.shared !== null) this.#exchanges.schedule(0);
  }

  /** Stops the exchanges, and resolves when the exchange in progress has ended. */
  stop(): Promise<void> {
    return this.#exchanges.stop();
  }

  /** Resolves with the time until the next exchange. */
  async #exchange(): Promise<number> {
    const { clock, store, ownLagMs, lagMsMax, accepts } = this.#options;
    const own = toldLag(ownLagMs(), lagMsMax);
    const lagMs = (await store.shared?.exchangeLag(own, DEAD_AFTER_MS)) ?? 0;
    this.#elsewhere = { lagMs, toldAt: clock.monotonic() };
    return own > 0 || (accepts && lagMs > lagMsMax) ? EXCHANGE_WHILE_LAGGING_MS : EXCHANGE_EVERY_MS;
  }
}

/**
 * Rounds a lag for its report: 0, or the limit doubled until it is as long. So the row of a process changes only a few
 * times in an overload.
 */
function toldLag(lagMs: number, lagMsMax: number): number {
  if (lagMs <= lagMsMax) return 0;
  return lagMsMax * 2 ** Math.ceil(Math.log2(lagMs / lagMsMax));
}
