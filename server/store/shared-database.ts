/**
 * The part of a store that only a database of several processes has: versions of what they cache, limits that they
 * share, what they tell each other.
 */

import type { CustomerId, DeliveryId, InstanceId } from "../core/id.ts";
import type { Message } from "../core/message.ts";
import type { RateBucket } from "../core/rate-limit.ts";

/**
 * Parts of the configuration, which processes cache: `keys`; `routing`: customers, numbers and instances; `receivers`:
 * customers and endpoints; `optOuts`; `settings`; `threads`: only which chats were deleted; `quarantine`: only which
 * rows left it.
 */
export const CONFIG_PARTS = ["keys", "routing", "receivers", "optOuts", "settings", "threads", "quarantine"] as const;
export type ConfigPart = (typeof CONFIG_PARTS)[number];
export type ConfigVersions = Readonly<Record<ConfigPart, number>>;

/** Requests to take from the window of a rate limit: at most `wanted`, and no more than `takenMax` by all processes. */
export interface RateTake {
  bucket: RateBucket;
  wanted: number;
  takenMax: number;
  windowMs: number;
}

/**
 * Takes requests of a bucket: how many it got, how many all processes have taken in the window, and when the window
 * ends.
 */
export type TakeRate = (take: RateTake) => Promise<{ given: number; taken: number; endsInMs: number }>;

/** A message in a send attempt, which lasts until `claimedUntil` (real time). */
export interface OpenAttempt extends Pick<Message, "id" | "from" | "to"> {
  claimedUntil: number;
}

/** Deliveries of a customer that a request changed, or that it made of old events. */
export interface AnnouncedDeliveries {
  customerId: CustomerId;
  ids: readonly DeliveryId[];
}

/** The database, as its processes use it together. */
export interface SharedDatabase {
  /**
   * Reads the versions of the configuration: a commit that changes a part, by whichever process, raises the version of
   * the part.
   */
  configVersions(): Promise<ConfigVersions>;
  /**
   * Notes how far the work of this process lags, in milliseconds, and resolves with the longest lag of another process
   * that has beaten within `deadAfterMs`. Lost in a crash of the server.
   */
  exchangeLag(lagMs: number, deadAfterMs: number): Promise<number>;
  /** Takes from the rate limits that all processes share. Lost in a crash of the server. */
  takeRate: TakeRate;
  /** Messages of an instance in a send attempt whose lease another process has, or nobody any more. */
  listOpenAttempts(instanceId: InstanceId): Promise<OpenAttempt[]>;
  /** Tells the other processes of deliveries. Lost in a crash of the server. */
  announceDeliveries(announced: AnnouncedDeliveries): Promise<void>;
  /**
   * The deliveries of some customers (at least one; null: of all) that were announced within the last `withinMs`, a
   * minute at most, and how long ago.
   */
  announcedDeliveries(
    customerIds: readonly CustomerId[] | null,
    withinMs: number,
  ): Promise<(AnnouncedDeliveries & { agoMs: number })[]>;
  /** Removes dead rows from the queues. */
  vacuumQueues(): Promise<void>;
}
