/** Tells the service what came in. A stop waits for what is being told, and wakes what waits to be told again. */

import type { Clock } from "../../clock.ts";
import { doublingMs } from "../../core/retry.ts";
import type { Applied, Signal } from "../provider.ts";

/** The first wait before something is told again; it doubles up to the most. */
const AGAIN_AFTER_MS = 50;
const AGAIN_AFTER_MS_MAX = 10_000;

/** See the file's own sentence. `stop` is final. */
export class Telling {
  readonly #clock: Clock;
  readonly #inFlight = new Set<Promise<unknown>>();
  readonly #pauses = new Set<() => void>();
  #signals: (signal: Signal) => Promise<Applied> = () => Promise.reject(new Error("the instance is not started"));
  #isStopped = false;

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  begin(signals: (signal: Signal) => Promise<Applied>): void {
    this.#signals = signals;
  }

  get isStopped(): boolean {
    return this.#isStopped;
  }

  /** Throws where the service could not take it, and after a stop. */
  async tell(signal: Signal): Promise<Applied> {
    if (this.#isStopped) throw new Error("the instance is stopped");
    const telling = this.#signals(signal);
    const done = () => void this.#inFlight.delete(telling);
    this.#inFlight.add(telling);
    telling.then(done, done);
    return await telling;
  }

  /** Tells until the service takes it; gives up at a stop. Answers whether it was taken. */
  async tellUntilTaken(signal: Signal): Promise<boolean> {
    for (let tries = 0; !this.#isStopped; tries += 1) {
      try {
        await this.tell(signal);
        return true;
      } catch {
        await this.pause(againAfterMs(tries));
      }
    }
    return false;
  }

  /** Resolves after `ms`, or at a stop. */
  pause(ms: number): Promise<void> {
    return new Promise((resolve) => {
      const end = () => {
        stopTimer();
        this.#pauses.delete(end);
        resolve();
      };
      const stopTimer = this.#clock.after(ms, end);
      this.#pauses.add(end);
      if (this.#isStopped) end();
    });
  }

  /** Lets nothing more be told, ends all pauses, and resolves when what is being told is taken or refused. */
  async stop(): Promise<void> {
    this.#isStopped = true;
    for (const end of [...this.#pauses]) end();
    await Promise.allSettled(this.#inFlight);
  }
}

/** How long to wait before something is told again that was told `tries` times after the first. */
export function againAfterMs(tries: number): number {
  return doublingMs(tries + 1, AGAIN_AFTER_MS, AGAIN_AFTER_MS_MAX);
}
