/** Monitors whether the peer can be used: checks it from time to time, and with growing delays while it is down. */

import type { Clock } from "../../clock.ts";
import { RepeatingTask } from "../../core/repeating-task.ts";
import { doublingMs } from "../../core/retry.ts";

/** The shortest time between two checks that events cause, in milliseconds: anybody may have sent them. */
const EVENT_CHECK_EVERY_MS = 1_000;

export interface ConnectionMonitorOptions<Trouble> {
  clock: Clock;
  /** Checks the peer: resolves with the reason why it cannot be used, or null. */
  check: () => Promise<Trouble | null>;
  /** `isUp` has changed. */
  changed: () => void;
  /** The time between checks while the peer is up, in real milliseconds. */
  everyMs: number;
  /** The wait after the first failure, at least 1 s; it doubles up to the maximum. */
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
  /** An event came, and no check has begun since. */
  #hasEvent = false;
  /** When the last check that an event caused began, by the monotonic clock. */
  #eventCheckAt = Number.NEGATIVE_INFINITY;

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

  /**
   * An event came from the peer, which proves nothing. If the peer is down, checks it now, or after the check in progress, or a second after
   * the last check that an event caused. The waits between further checks begin small again.
   */
  eventReceived(): void {
    const { isRunning } = this.#checks;
    if (this.isUp && !isRunning) return;
    this.#hasEvent = true;
    if (isRunning) return;
    const waitMs = this.#untilEventCheckMs();
    if (waitMs === 0) void this.check();
    else this.#checks.schedule(waitMs);
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

  /** Resolves with the time until the next check. */
  async #check(): Promise<number | null> {
    await this.#checkOnce();
    // Once more at most: callers wait for the end.
    if (this.#hasEvent && this.#untilEventCheckMs() === 0 && !this.#checks.isStopped) await this.#checkOnce();
    return this.#hasEvent ? this.#untilEventCheckMs() : this.#waitMs();
  }

  async #checkOnce(): Promise<void> {
    if (this.#hasEvent) {
      this.#hasEvent = false;
      this.#eventCheckAt = this.#options.clock.monotonic();
      this.#failures = 0;
    }
    const trouble = await this.#options.check();
    this.#checkedAt = this.#options.clock.real();
    if (this.#checks.isStopped) return;
    this.#found(trouble);
    if (trouble === null) this.#hasEvent = false;
  }

  #untilEventCheckMs(): number {
    return Math.max(0, this.#eventCheckAt + EVENT_CHECK_EVERY_MS - this.#options.clock.monotonic());
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
