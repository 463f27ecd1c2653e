/** Monitors whether the peer can be used: checks it from time to time, and with growing delays while it is down. */

import type { Clock } from "../../clock.ts";
import { RepeatingTask } from "../../core/repeating-task.ts";
import { doublingMs } from "../../core/retry.ts";

export interface ConnectionMonitorOptions<Trouble> {
  clock: Clock;
  /** Checks the peer: resolves with the reason why it cannot be used, or null. */
  check: () => Promise<Trouble | null>;
  /** `isUp` has changed. */
  changed: () => void;
  /** The time between checks while the peer is up, in real milliseconds. */
  everyMs: number;
  /** The wait after the first failure; it doubles up to the maximum. */
  retryMs: number;
  retryMsMax: number;
}

/** The peer counts as up until a check or a report says otherwise. */
export class ConnectionMonitor<Trouble> {
  readonly #options: ConnectionMonitorOptions<Trouble>;
  readonly #checks: RepeatingTask;
  #trouble: Trouble | null = null;
  #failures = 0;
  #checkedAt = Number.NEGATIVE_INFINITY;

  constructor(options: ConnectionMonitorOptions<Trouble>) {
    this.#options = options;
    const { clock, retryMs } = options;
    // A check explains its failures by its result. The last result stays if it throws.
    this.#checks = new RepeatingTask({ clock, run: () => this.#check(), fault: () => {}, retryMs });
  }

  get trouble(): Trouble | null {
    return this.#trouble;
  }

  get isUp(): boolean {
    return this.#trouble === null;
  }

  /** Checks now. Concurrent calls share one check. Never throws. */
  check(): Promise<void> {
    return this.#checks.run();
  }

  /** Checks unless the last check is younger than `ageMs`. */
  async checkIfOlder(ageMs: number): Promise<void> {
    if (this.#options.clock.real() - this.#checkedAt > ageMs) await this.check();
  }

  /** A request failed in a way that proves that the peer cannot be used. It is down until a check succeeds. */
  reportDown(trouble: Trouble): void {
    if (this.#trouble === null) this.#found(trouble);
    else this.#trouble = trouble;
  }

  /** A request succeeded. */
  reportUp(): void {
    if (this.#trouble !== null) this.#found(null);
  }

  /** Resolves when the check in progress has ended. Its result changes nothing. */
  stop(): Promise<void> {
    return this.#checks.stop();
  }

  async #check(): Promise<number | null> {
    const trouble = await this.#options.check();
    this.#checkedAt = this.#options.clock.real();
    if (this.#checks.isStopped) return null;
    this.#found(trouble);
    return this.#waitMs();
  }

  #found(trouble: Trouble | null): void {
    const wasUp = this.isUp;
    this.#trouble = trouble;
    this.#failures = trouble === null ? 0 : this.#failures + 1;
    this.#checks.schedule(this.#waitMs());
    if (this.isUp !== wasUp && !this.#checks.isStopped) this.#options.changed();
  }

  #waitMs(): number {
    const { everyMs, retryMs, retryMsMax } = this.#options;
    return this.isUp ? everyMs : doublingMs(this.#failures, retryMs, retryMsMax);
  }
}
