/** The machine's clock, which a test moves forward, for tests of days over real sockets. */

import type { Clock, ClockShift } from "../../server/clock.ts";

/** A clock that runs like the machine's and can jump: timers that a jump makes due run at once, earliest first. */
export class JumpClock {
  readonly #pending = new Set<{ at: number; action: () => void; timer: NodeJS.Timeout | undefined }>();
  #aheadMs = 0;
  /** Timers that are set for this long or longer wait for a jump, however much time passes. */
  heldFromMs = Number.POSITIVE_INFINITY;

  /** The clock of a service; after a restart the next clock continues from the same time. */
  clock(shift: ClockShift): Clock {
    return {
      now: () => this.real() + shift.ms,
      aheadMs: () => shift.ms,
      real: () => this.real(),
      monotonic: () => performance.now() + this.#aheadMs,
      turnMs: () => 0,
      after: (ms, action) => this.#after(ms, action),
    };
  }

  real(): number {
    return Date.now() + this.#aheadMs;
  }

  jump(ms: number): void {
    this.#aheadMs += ms;
    const due = [...this.#pending].filter(({ at }) => at <= this.real()).sort((left, right) => left.at - right.at);
    for (const entry of due) {
      if (!this.#pending.delete(entry)) continue;
      clearTimeout(entry.timer);
      entry.action();
    }
  }

  #after(ms: number, action: () => void): () => void {
    const fire = () => {
      this.#pending.delete(entry);
      action();
    };
    const timer = ms >= this.heldFromMs ? undefined : setTimeout(fire, ms);
    const entry = { at: this.real() + ms, action, timer };
    this.#pending.add(entry);
    return () => {
      this.#pending.delete(entry);
      clearTimeout(timer);
    };
  }
}
