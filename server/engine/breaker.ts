/**
 * The circuit breaker of a peer: a provider instance, or a receiver of webhooks. After the instance reported that it is down, or no
 * connection to the receiver was made, nothing is sent to it for a while, then one message or delivery probes it.
 */

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
 *
 * A receiver of webhooks does not report that it is down. Ten attempts in a row without a connection (`failed`) trip its breaker for a
 * second, and so does each further one. Each attempt that made a connection (`connected`) closes it, and doubles how many may run at once,
 * until that is the lane's own number.
 */
export type BreakerState = "closed" | "open" | "half-open";

/** A breaker stays open for as long as the instance asked for, within these bounds, in milliseconds. */
const OPEN_MS_MIN = 1_000;
const OPEN_MS_MAX = 60_000;
/** Time in which no other message may probe, unless the present probe ends, in milliseconds. */
const PROBE_MS = 60_000;

/** Attempts in a row without a connection that trip the breaker of a receiver. */
const FAILURES_MAX = 10;
/** For how long they do, in milliseconds. */
export const UNREACHED_MS = 1_000;

/** Starts closed. Every `now` is a time of one clock: the service's for instances, the monotonic one for receivers. */
export class CircuitBreaker {
  /** When the wait ends; null while the breaker is closed. */
  #openUntil: number | null = null;
  /** The message of another lane that probes the instance, and until when no other message may. */
  #probe: { messageId: MessageId; untilAt: number } | null = null;
  /** Attempts in a row without a connection. */
  #failures = 0;
  /** How many attempts may run at once since a receiver was not reached; null: as many as the lane may. */
  #allowed: number | null = null;

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
    this.#failures = 0;
    this.#allowed = null;
  }

  /** An attempt made no connection. */
  failed(now: number): void {
    this.#failures += 1;
    // Attempts that began before the breaker opened do not prolong its wait.
    if (this.#failures < FAILURES_MAX || this.state(now) === "open") return;
    this.trip(UNREACHED_MS, now);
    this.#allowed = 1;
  }

  /** An attempt made a connection. `permitsMax`: how many may run at once as soon as the receiver is well. */
  connected(permitsMax: number): void {
    this.#failures = 0;
    if (this.#allowed === null) return;
    this.#openUntil = null;
    this.#allowed *= 2;
    if (this.#allowed >= permitsMax) this.#allowed = null;
  }

  /** Whether fewer attempts may run at once than the lane's own number, since its receiver was not reached. */
  get isLimited(): boolean {
    return this.#allowed !== null;
  }

  /** Whether a message that waits in another lane may move to the instance. In `half-open` the first one to ask becomes the probe. */
  admits(messageId: MessageId, now: number): boolean {
    const state = this.state(now);
    if (state !== "half-open") return state === "closed";
    if (this.#probe === null || this.#probe.untilAt <= now) this.#probe = { messageId, untilAt: now + PROBE_MS };
    return this.#probe.messageId === messageId;
  }

  /** How many items of its lane may run at once: one in `half-open`, else at most `permitsMax`. While it is `open`, its lane is paused. */
  permits(permitsMax: number, now: number): number {
    const allowed = Math.min(permitsMax, this.#allowed ?? permitsMax);
    return this.state(now) === "half-open" ? Math.min(1, allowed) : allowed;
  }
}
