/** The circuit breaker of a provider instance: after the instance reported that it is down, nothing is sent to it for a while, then one message probes it. */

import type { MessageId } from "../core/id.ts";

/**
 * | State       | Messages of its lane | Messages of other lanes  | `trip`           | its wait ends | `reset`  |
 * | ----------- | -------------------- | ------------------------ | ---------------- | ------------- | -------- |
 * | `closed`    | all                  | all                      | `open`           | `closed`      | `closed` |
 * | `open`      | none                 | none                     | `open`, new wait | `half-open`   | `closed` |
 * | `half-open` | one at a time        | one probe in each minute | `open`           | `half-open`   | `closed` |
 *
 * `trip`: the instance reported that it is down. `reset`: it accepted a message, was connected anew, or reported that it
 * went up or down by itself.
 */
export type BreakerState = "closed" | "open" | "half-open";

/** A breaker stays open for as long as the instance asked for, within these bounds, in milliseconds. */
const OPEN_MS_MIN = 1_000;
const OPEN_MS_MAX = 60_000;
/** Time in which no other message may probe, unless the present probe ends, in milliseconds. */
const PROBE_MS = 60_000;

/** Starts closed. Every `now` is the service's time. */
export class CircuitBreaker {
  /** When the wait ends; null while the breaker is closed. */
  #openUntil: number | null = null;
  /** The message of another lane that probes the instance, and until when no other message may. */
  #probe: { messageId: MessageId; untilAt: number } | null = null;

  state(now: number): BreakerState {
    if (this.#openUntil === null) return "closed";
    return now < this.#openUntil ? "open" : "half-open";
  }

  /** Opens the breaker for `waitMs`, within its bounds. */
  trip(waitMs: number, now: number): void {
    this.#openUntil = now + Math.min(Math.max(waitMs, OPEN_MS_MIN), OPEN_MS_MAX);
    this.#probe = null;
  }

  /** Closes the breaker. */
  reset(): void {
    this.#openUntil = null;
    this.#probe = null;
  }

  /** Whether a message that waits in another lane may move to the instance. In `half-open` the first one to ask becomes the probe. */
  admits(messageId: MessageId, now: number): boolean {
    const state = this.state(now);
    if (state !== "half-open") return state === "closed";
    if (this.#probe === null || this.#probe.untilAt <= now) this.#probe = { messageId, untilAt: now + PROBE_MS };
    return this.#probe.messageId === messageId;
  }

  /** How many messages of its lane may be sent at once: one in `half-open`, else `permitsMax`. While it is `open`, its lane is paused. */
  permits(permitsMax: number, now: number): number {
    return this.state(now) === "half-open" ? Math.min(1, permitsMax) : permitsMax;
  }
}
