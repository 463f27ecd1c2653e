/** Observations of the engine, for metrics, usage and the log. Every method returns at once and never throws. */

import type { CustomerId, KeyId } from "../core/id.ts";
import type { OwnLimit } from "../outgoing/connection.ts";

/** How an attempt ended, for the metric of that name. */
export type AttemptOutcome = "succeeded" | "failed" | "refused" | "timeout";

export interface Observer {
  accepted(): void;
  /** A provider took a message. */
  sent(customerId: CustomerId, keyId: KeyId | null, segments: number): void;
  /** A contact wrote to a customer. */
  received(customerId: CustomerId): void;
  unknownOutcome(): void;
  attempted(customerId: CustomerId, outcome: AttemptOutcome): void;
  /** A delivery went back untried, since this machine could not connect. */
  outOf(limit: OwnLimit): void;
  /** How long after it was due a delivery was taken up, in milliseconds. */
  dueLag(lagMs: number): void;
  inFlight(loop: "dispatch" | "deliver", count: number): void;
  /** Somebody set the machine's time, forward or (negative) back. */
  clockStepped(ms: number): void;
  /**
   * A fault that a person should know of; the work goes on. `where` is the name of the file that reports it, or the provider's
   * function that threw: `provider.send`.
   */
  fault(where: string, error: unknown): void;
}
