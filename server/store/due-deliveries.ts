/** The data that the store and the holder of deliveries exchange: reads, pushed changes, and outcomes of attempts. */

import type { Delivery } from "../core/delivery.ts";
import type { DeliveryId } from "../core/id.ts";

/** A place in the order of a lane's deliveries: due time, then insertion. */
export interface LanePlace {
  dueAt: number;
  row: number;
}

/** A lane in a read of due deliveries: at most `limit` deliveries, behind a place. */
export interface LaneRead {
  lane: string;
  after: LanePlace;
  limit: number;
}

/**
 * A read of due deliveries. `now` is shifted time. The envelopes read have about `bytesMax` bytes in all. With
 * `atOnce`, it reads only these deliveries, if they are in the lanes, due, and go at once (`goesAtOnce`), at whatever
 * place they are.
 */
export interface DueRead {
  lanes: readonly LaneRead[];
  now: number;
  bytesMax: number;
  atOnce?: readonly DeliveryId[];
}

/** A due delivery with its event. */
export interface DueDelivery {
  delivery: Delivery;
  /** Orders deliveries of one due time. */
  row: number;
  /** The event's envelope, and its correlation id. */
  bytes: string;
  correlationId: string;
}

/** Due deliveries, in order within each lane, and the lanes that may have more. */
export interface DueDeliveries {
  found: DueDelivery[];
  more: string[];
}

/**
 * A change of due deliveries by a commit. `new`: an event made the delivery, and the holder has read or got everything
 * before it in its lane. `due`: a delivery became due at that place; if `id` is null, deliveries of the lane became due
 * there or later. `gone`: the delivery is no longer due. `all`: any delivery may have become due.
 */
export type PushedChange =
  | { kind: "new"; due: DueDelivery }
  | { kind: "due"; id: DeliveryId | null; lane: string; place: LanePlace }
  | { kind: "gone"; id: DeliveryId }
  | { kind: "all" };

/**
 * The holder posts deliveries. This function gets the changes of due deliveries in the order of the commits. It must
 * not throw.
 */
export type DeliveryHolder = (changes: PushedChange[]) => void;

/**
 * The holder's report to the writer: how many new deliveries have arrived since the last report, and the bytes of their
 * events. `behind`: lanes in which the holder did not take one. The writer pushes no more of a lane in `behind` until
 * the holder has read the lane to its end.
 */
export interface HolderCredit {
  arrived: number;
  bytes: number;
  behind: readonly string[];
}

/**
 * The outcome of an attempt, or the end of a delivery without one: the new values, which were decided on this version.
 */
export interface DeliveryOutcome {
  id: DeliveryId;
  row: number;
  version: number;
  set: FinishedDelivery;
}

/** The properties that an outcome sets. */
export type FinishedDelivery = Pick<
  Delivery,
  "url" | "status" | "attemptCount" | "attempts" | "retryCount" | "dueAt" | "byHand" | "resumeAt"
>;

/**
 * The result of writing an outcome. `ok`: the outcome is on disk. `changed`: the delivery has another version, and
 * nothing was written: decide again on this delivery. `gone`: the delivery was deleted, and nothing was written.
 */
export type FinishResult = { result: "ok" } | { result: "changed"; delivery: Delivery } | { result: "gone" };
