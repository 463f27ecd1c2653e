/** The loop of deliveries as the engine sees it, in this thread or another. */

import type { CustomerId, DeliveryId } from "../../core/id.ts";
import type { ReceiverChange } from "../../store/store.ts";

export interface DeliverLoop {
  start(): void;
  /** Age of the oldest delivery that could be attempted now and is not, in milliseconds. */
  lagMs(): number;
  /** Attempts that have ended since the start. */
  readonly ended: number;
  /** These lanes may have a delivery due. `atOnce`: deliveries among them that a retry by hand or a test asks for. */
  wake(lanes: Iterable<string>, atOnce?: readonly DeliveryId[]): void;
  /** Any lane may have a delivery due. */
  look(): void;
  /**
   * Gives up the deliveries of a customer that have not begun. Once it resolves, none begins that a reset had deleted before.
   * Deliveries that were made since are claimed again.
   */
  drop(customerId: CustomerId): Promise<void>;
  /** Applies changes of endpoints and customers. Once it resolves, no attempt begins with a former value. */
  changed(changes: readonly ReceiverChange[]): void | Promise<void>;
  /** Rows have left the quarantine: endpoints and customers are read again. */
  repaired(): void;
  /** This process owns other lanes than before: gives up what has not begun, and reads every lane anew. */
  lanesChanged(): void;
  /** The shards of attempts in flight, until 5 s after `lanesChanged`: a new owner waits for these, and no longer. */
  shardsInUse(): ReadonlySet<number>;
  /** Begins nothing more, and resolves when the attempts in flight are on disk. */
  stop(): Promise<void>;
}
