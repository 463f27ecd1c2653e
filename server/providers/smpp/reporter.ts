/**
 * Reports signals to the engine and retries until it accepts them. `stop()` waits for reports in flight and cancels
 * pending retries.
 */

import type { Clock } from "../../clock.ts";
import { doublingMs } from "../../core/retry.ts";
import type { Applied, Signal } from "../provider.ts";

/** The wait before the first retry; it doubles up to the maximum. */
const AGAIN_AFTER_MS = 50;
const AGAIN_AFTER_MS_MAX = 10_000;

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

  /** Whether retries have ended. */
  get isEnding(): boolean {
    return this.#isEnding;
  }

  /** Reports once. Throws if the engine could not store the signal, and after `stop()`. */
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

  /** When the engine last accepted a signal, by the real clock; minus infinity before the first. */
  get lastAcceptedAt(): number {
    return this.#lastAcceptedAt;
  }

  /** Reports until the engine accepts the signal; after `end()` only once. Returns whether it was accepted. */
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

  /** Resolves after `ms`, or at `end()`. */
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

  /** Ends all pauses and retries. First reports are still made. */
  end(): void {
    this.#isEnding = true;
    for (const end of [...this.#pauses]) end();
  }

  /** Refuses further reports, and resolves when those in flight have ended. */
  async stop(): Promise<void> {
    this.end();
    this.#isStopped = true;
    await Promise.allSettled(this.#inFlight);
  }
}

/** The wait before the next retry, after `tries` retries. */
export function retryDelayMs(tries: number): number {
  return doublingMs(tries + 1, AGAIN_AFTER_MS, AGAIN_AFTER_MS_MAX);
}
