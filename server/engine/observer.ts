/** Observations of the engine, for metrics, usage and the log. Every method returns at once and never throws. */

import type { Event } from "../core/event.ts";
import type { CustomerId, KeyId } from "../core/id.ts";
import type { OwnLimit } from "../outgoing/connection.ts";

/** How an attempt ended, for the metric's label. */
export type AttemptOutcome = "succeeded" | "failed" | "refused" | "timeout";

export interface Observer {
  accepted(): void;
  /** An event was committed. */
  emitted(event: Event): void;
  /** A provider accepted a message. */
  sent(customerId: CustomerId, keyId: KeyId | null, segments: number): void;
  /** A contact wrote to a customer. */
  received(customerId: CustomerId): void;
  unknownOutcome(): void;
  attempted(customerId: CustomerId, outcome: AttemptOutcome): void;
  /** A delivery was released untried, because this machine could not connect. */
  outOf(limit: OwnLimit): void;
  /** The delay between a delivery's due time and the start of its attempt, in milliseconds. */
  dueLag(lagMs: number): void;
  /** How many receivers of webhooks are not reached, so that due deliveries wait for them. */
  breakersOpen(count: number): void;
  inFlight(loop: "dispatch" | "deliver", count: number): void;
  /** Somebody set the machine's time, forward or (negative) back. */
  clockStepped(ms: number): void;
  /**
   * A fault that a person should know of; the work goes on. `where` is the name of the file that reports it, or the provider's
   * function that threw: `provider.send`.
   */
  fault(where: string, error: unknown): void;
}
