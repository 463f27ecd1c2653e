/** Due deliveries as the store and their holder exchange them: what is read, what commits push, and the ends of attempts. */

import type { Delivery } from "../core/delivery.ts";
import type { DeliveryId } from "../core/id.ts";

/** A place in the order of a lane's deliveries: due time, then insertion. */
export interface LanePlace {
  dueAt: number;
  row: number;
}

/** A lane in a read of due deliveries: at most `limit` of them, behind a place. */
export interface LaneRead {
  lane: string;
  after: LanePlace;
  limit: number;
}

/**
 * A read of due deliveries. `now` is shifted time. The events of those that are read have about `bytesMax` in all. With `atOnce` it reads
 * those of these deliveries of the lanes that are due and go at once (`goesAtOnce`), wherever they are in their lanes.
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

/** Due deliveries, those of a lane in its order, and the lanes that may have more. */
export interface DueDeliveries {
  found: DueDelivery[];
  more: string[];
}

/**
 * A change of the due deliveries by a commit. `new`: an event made it, and everything before it in its lane was read or pushed. `due`: a delivery,
 * or some of a lane (`id` is null), became due, not before that place. `gone`: it is no longer due. `all`: any may have become due.
 */
export type PushedChange =
  | { kind: "new"; due: DueDelivery }
  | { kind: "due"; id: DeliveryId | null; lane: string; place: LanePlace }
  | { kind: "gone"; id: DeliveryId }
  | { kind: "all" };

/** The one who posts deliveries: takes over what commits did, in their order. It must not throw. */
export type DeliveryHolder = (changes: PushedChange[]) => void;

/**
 * The word of a holder to the writer: how many new deliveries have arrived since it last told, the bytes of their events, and the lanes in which
 * it did not take one: nothing more of these is pushed until they are read to their end.
 */
export interface HolderCredit {
  arrived: number;
  bytes: number;
  behind: readonly string[];
}

/** The end of an attempt, or of a delivery without one: the new values, decided on this version. */
export interface DeliveryOutcome {
  id: DeliveryId;
  row: number;
  version: number;
  set: FinishedDelivery;
}

/** The properties that the end of an attempt sets. */
export type FinishedDelivery = Pick<
  Delivery,
  "url" | "status" | "attemptCount" | "attempts" | "retryCount" | "dueAt" | "byHand" | "resumeAt"
>;

/**
 * The result of an outcome. `ok`: it is on disk. `changed`: the delivery has another version; decide again on this one. `gone`: the delivery
 * was deleted; nothing was written.
 */
export type FinishResult = { result: "ok" } | { result: "changed"; delivery: Delivery } | { result: "gone" };
