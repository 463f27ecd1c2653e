/** The fake Mac's private API: commands go to the helper in Messages one after the other, and are counted. */

import type { Clock } from "../../../server/clock.ts";
import { iMessageError, type Refusal, unhandled } from "./envelope.ts";
import type { Faults } from "./faults.ts";

/** The error of routes that check for the helper first. */
const SETUP = "Please make sure you have completed the setup for the Private API, and your helper is connected!";

/** Time between two commands that the helper of a real Mac needs. */
const LOCK_MS = 200;

/** A command that reached the helper. */
export interface HelperCall {
  action: string;
  at: number;
}

export class PrivateApi {
  readonly calls: HelperCall[] = [];
  readonly #clock: Clock;
  readonly #faults: Faults;
  /** Whether a command waits until 200 ms after the previous one, by the Mac's clock. */
  readonly #waits: boolean;
  #freeAt = 0;

  constructor(clock: Clock, faults: Faults, waits: boolean) {
    this.#clock = clock;
    this.#faults = faults;
    this.#waits = waits;
  }

  get isOn(): boolean {
    return !this.#faults.has("privateApiOff");
  }

  get isConnected(): boolean {
    return !this.#faults.has("helperGone");
  }

  /** Executes a command. `headline` null: the route does not check first, so that a refusal is an unhandled error. */
  async command(action: string, headline: string | null = SETUP): Promise<void> {
    const refusal = (message: string): Refusal =>
      headline === null ? unhandled(message) : iMessageError(headline, message);
    if (!this.isOn) throw refusal("iMessage Private API is not enabled!");
    if (!this.isConnected) throw refusal("iMessage Private API Helper is not connected!");
    if (this.#waits) await this.#lock();
    this.calls.push({ action, at: this.#clock.real() });
  }

  /** The most commands within one second. */
  get busiestSecond(): number {
    let most = 0;
    for (const [index, first] of this.calls.entries()) {
      let count = 0;
      for (let at = index; at < this.calls.length && (this.calls[at]?.at ?? 0) < first.at + 1_000; at += 1) count += 1;
      most = Math.max(most, count);
    }
    return most;
  }

  async #lock(): Promise<void> {
    const now = this.#clock.real();
    const startsAt = Math.max(now, this.#freeAt);
    this.#freeAt = startsAt + LOCK_MS;
    if (startsAt > now) await new Promise<void>((resolve) => void this.#clock.after(startsAt - now, resolve));
  }
}
