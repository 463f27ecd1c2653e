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
  #takenAt = Number.NEGATIVE_INFINITY;
  #isEnding = false;
  #isStopped = false;

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  begin(signals: (signal: Signal) => Promise<Applied>): void {
    this.#signals = signals;
  }

  /** Whether nothing is to be tried again. */
  get isEnding(): boolean {
    return this.#isEnding;
  }

  /** Throws where the service could not take it, and after a stop. */
  async tell(signal: Signal): Promise<Applied> {
    if (this.#isStopped) throw new Error("the instance is stopped");
    const telling = this.#signals(signal);
    const done = () => void this.#inFlight.delete(telling);
    this.#inFlight.add(telling);
    telling.then(done, done);
    const applied = await telling;
    if (applied === "applied") this.#takenAt = this.#clock.real();
    return applied;
  }

  /** When the service last took a signal, real; minus infinity before the first. */
  get takenAt(): number {
    return this.#takenAt;
  }

  /** Tells until the service takes it; near the end only once. Answers whether it was taken. */
  async tellUntilTaken(signal: Signal): Promise<boolean> {
    for (let tries = 0; ; tries += 1) {
      try {
        await this.tell(signal);
        return true;
      } catch {
        if (this.#isEnding) return false;
        await this.pause(againAfterMs(tries));
      }
    }
  }

  /** Resolves after `ms`, or near the end. */
  pause(ms: number): Promise<void> {
    return new Promise((resolve) => {
      const end = () => {
        stopTimer();
        this.#pauses.delete(end);
        resolve();
      };
      const stopTimer = this.#clock.after(ms, end);
      this.#pauses.add(end);
      if (this.#isEnding) end();
    });
  }

  /** Ends all pauses, and lets nothing be tried again; what there is to tell for the first time is still told. */
  end(): void {
    this.#isEnding = true;
    for (const end of [...this.#pauses]) end();
  }

  /** Lets nothing more be told, and resolves when what is being told is taken or refused. */
  async stop(): Promise<void> {
    this.end();
    this.#isStopped = true;
    await Promise.allSettled(this.#inFlight);
  }
}

/** How long to wait before something is told again that was told `tries` times after the first. */
export function againAfterMs(tries: number): number {
  return doublingMs(tries + 1, AGAIN_AFTER_MS, AGAIN_AFTER_MS_MAX);
}
