/** The machine's clock, which a test moves forward: for what takes days and must go over real sockets. */

import type { Clock, ClockShift } from "../../server/clock.ts";

/** A clock that goes as the machine's does, and jumps: all that comes due in a jump runs at once, earliest first. */
export class JumpClock {
  readonly #pending = new Set<{ at: number; action: () => void; timer: NodeJS.Timeout }>();
  #aheadMs = 0;

  /** The clock of a service; after a restart the next one goes on from the same time. */
  clock(shift: ClockShift): Clock {
    return {
      now: () => this.real() + shift.ms,
      real: () => this.real(),
      monotonic: () => performance.now() + this.#aheadMs,
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
    const timer = setTimeout(() => {
      this.#pending.delete(entry);
      action();
    }, ms);
    const entry = { at: this.real() + ms, action, timer };
    this.#pending.add(entry);
    return () => {
      this.#pending.delete(entry);
      clearTimeout(timer);
    };
  }
}
