/** Tells the service what came in. A stop waits for what is being told, and wakes what waits to be told again. */

import type { Clock } from "../../clock.ts";
import { doublingMs } from "../../core/retry.ts";
import type { Applied, Signal } from "../provider.ts";

/** The first wait before something is told again; it doubles up to the most. */
const AGAIN_AFTER_MS = 50;
const AGAIN_AFTER_MS_MAX = 10_000;

/** See the file's own sentence. `stop` is final. */
export class SmppReporter {
  readonly #clock: Clock;
  readonly #inFlight = new Set<Promise<unknown>>();
  readonly #pauses = new Set<() => void>();
  #signals: (signal: Signal) => Promise<Applied> = () => Promise.reject(new Error("the instance is not started"));
  #lastAcceptedAt = Number.NEGATIVE_INFINITY;
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
  async report(signal: Signal): Promise<Applied> {
    if (this.#isStopped) throw new Error("the instance is stopped");
    const reporting = this.#signals(signal);
    const done = () => void this.#inFlight.delete(reporting);
    this.#inFlight.add(reporting);
    reporting.then(done, done);
    const applied = await reporting;
    if (applied === "applied") this.#lastAcceptedAt = this.#clock.real();
    return applied;
  }

  /** When the service last took a signal, real; minus infinity before the first. */
  get lastAcceptedAt(): number {
    return this.#lastAcceptedAt;
  }

  /** Tells until the service takes it; near the end only once. Answers whether it was taken. */
  async reportUntilAccepted(signal: Signal): Promise<boolean> {
    for (let tries = 0; ; tries += 1) {
      try {
        await this.report(signal);
        return true;
      } catch {
        if (this.#isEnding) return false;
        await this.pause(retryDelayMs(tries));
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
export function retryDelayMs(tries: number): number {
  return doublingMs(tries + 1, AGAIN_AFTER_MS, AGAIN_AFTER_MS_MAX);
}
