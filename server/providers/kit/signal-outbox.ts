/**
 * Reports signals to the engine: once, or with retries until the engine accepts them. `stop()` waits for reports in
 * flight and cancels pending retries.
 */

import type { Clock } from "../../clock.ts";
import { doublingMs } from "../../core/retry.ts";
import type { Applied, Signal } from "../provider.ts";
import { InFlight } from "./in-flight.ts";

/** The wait before the first retry; it doubles up to the maximum. */
const RETRY_AFTER_MS = 50;
const RETRY_AFTER_MS_MAX = 10_000;

export class SignalOutbox {
  readonly #clock: Clock;
  readonly #inFlight = new InFlight();
  readonly #pauses = new Set<() => void>();
  #signals: (signal: Signal) => Promise<Applied> = () => Promise.reject(new Error("the instance is not started"));
  #lastAcceptedAt = Number.NEGATIVE_INFINITY;
  #isEnding = false;
  #isStopped = false;

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  /** Sets the receiver of the signals. Until then every report throws. */
  begin(signals: (signal: Signal) => Promise<Applied>): void {
    this.#signals = signals;
  }

  /** Whether retries have ended. */
  get isEnding(): boolean {
    return this.#isEnding;
  }

  /** When the engine last accepted a signal, by the real clock; minus infinity before the first. */
  get lastAcceptedAt(): number {
    return this.#lastAcceptedAt;
  }

  /** Reports once. Throws if the engine could not store the signal, and after `stop()`. */
  async report(signal: Signal): Promise<Applied> {
    if (this.#isStopped) throw new Error("the instance is stopped");
    const applied = await this.#inFlight.track(this.#signals(signal));
    if (applied === "applied") this.#lastAcceptedAt = this.#clock.real();
    return applied;
  }

  /**
   * Reports until the engine accepts the signal. Throws the last error once `limitMs` have passed; after `end()` it
   * reports only once.
   */
  async reportWithRetries(signal: Signal, limitMs = Number.POSITIVE_INFINITY): Promise<Applied> {
    const endsAt = this.#clock.real() + limitMs;
    for (let tries = 0; ; tries += 1) {
      try {
        return await this.report(signal);
      } catch (error) {
        const leftMs = endsAt - this.#clock.real();
        if (this.#isEnding || leftMs <= 0) throw error;
        await this.pause(Math.min(retryDelayMs(tries), leftMs));
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
    await this.#inFlight.ended();
  }
}

/** The wait before the next retry, after `tries` retries. */
export function retryDelayMs(tries: number): number {
  return doublingMs(tries + 1, RETRY_AFTER_MS, RETRY_AFTER_MS_MAX);
}
