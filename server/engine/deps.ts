/**
 * The dependencies that most verbs of the engine need; the composition makes them once, and every verb takes them as its
 * first parameter. A verb that needs more names it in that parameter's type: `With<"threadCache" | "optOutCache">`
 * (`engine-deps.ts`), so that its signature says what it can read and change. A class that is itself one of those
 * dependencies takes `Deps` and what else it needs by name, and never `With`: that would be a circle of imports.
 */

import type { Clock } from "../clock.ts";
import type { AllowList } from "../core/address.ts";
import type { CustomerId, DeliveryId, NewId, Random } from "../core/id.ts";
import type { SerialQueue } from "../core/serial-queue.ts";
import type { Store, Transaction } from "../store/store.ts";
import type { Observer } from "./observer.ts";

/** Settings of the engine; times in milliseconds. */
export interface EngineSettings {
  /** Whether only this machine reaches the service. */
  isLocalOnly: boolean;
  webhookAllow: AllowList;
  /** Private addresses from which files may be fetched. */
  fetchAllow: AllowList;
  webhookRetryScheduleMs: readonly number[];
  /** Concurrent attempts to an endpoint without a `maxInFlight` of its own, and to the origin of a `callbackUrl`. */
  webhookConcurrency: number;
  fallbackAfterMs: number | null;
  messageTtlMs: number;
  retentionMs: number | null;
  /** Whether the inboxes of new customers receive events. */
  sandboxInbox: boolean;
  /** Whether an iMessage text such as "sent you $25" pays a request although the provider sees payment payloads. */
  paymentText: boolean;
  /** Whether an SMS text replaces characters by GSM-7 ones that read the same. */
  smartEncoding: boolean;
}

/** Wakes the loops. Each call returns at once. */
export interface Wake {
  /** These lanes may have a message due. `pair`: sender and recipient of the one message that is due (`pairOf`). */
  messages(lanes: Iterable<string>, pair?: string): void;
  /** These lanes may have a delivery due. `atOnce`: deliveries among them that a retry by hand or a test asks for. */
  deliveries(lanes: Iterable<string>, atOnce?: readonly DeliveryId[]): void;
  /** A reset deleted the deliveries of a customer: drops those that wait in memory. Once it resolves, none is sent. */
  resetDeliveries(customerId: CustomerId): Promise<void>;
  /** Rows have left the quarantine: caches that were filled without them are cleared. */
  repaired(): void;
  /** The transaction was committed: notifies listeners of its events. */
  events(transaction: Transaction): void;
  /** An instance went up or down, or routes changed: looks at the messages that wait for an instance that is down. */
  pausedLanes(): void;
  chores(): void;
}

export interface Deps {
  /** Correlation id of the present request, for events of records that another request created. */
  readonly correlationId?: string;
  readonly store: Store;
  readonly clock: Clock;
  readonly newId: NewId;
  readonly random: Random;
  readonly settings: EngineSettings;
  readonly observer: Observer;
  readonly wake: Wake;
  /** Runs work on one message or chat in sequence. */
  readonly serial: SerialQueue;
  /** Incremented by a reset of a sandbox: a decision on earlier reads is made again, and not committed. */
  readonly generation: () => number;
  /** Drops what is cached of the records that a refused transaction required: the next decision reads them again. */
  readonly refused: (transaction: Transaction) => void;
}

/** The same dependencies for one request: events that it causes carry its correlation id. */
export function forRequest<Given extends Deps>(deps: Given, correlationId: string): Given {
  return { ...deps, correlationId };
}
