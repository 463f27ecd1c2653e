/** Counts the deliveries that this process has leased, so that it leases no more than it may hold. In memory, without SQL. */

import type { Delivery } from "../../core/delivery.ts";
import { DeliveryBudget, IN_HAND_MAX } from "../../core/delivery-budget.ts";
import type { Event } from "../../core/event.ts";
import { withoutStepBack } from "../../core/step-back.ts";
import { type DueRow, encodeRecord } from "../jobs/jobs.ts";
import type { SqlValue } from "../rows.ts";
import { LaneFloors } from "./lane-floors.ts";

/** New deliveries of a lane stay on disk behind a lease that has less time left: it may be over by the clock of the database. */
const LEFT_MS_MIN = 5_000;

/** The row of a delivery whose place behind others of its due time is not known: it counts as the first of them. */
export const NO_ROW = 0;

/** A delivery in its lane. `size`: the length of its event. */
export interface LeasedPlace {
  id: string;
  lane: string;
  customerId: string;
  size: number;
}

/** A lease of this process. */
interface OwnLease extends LeasedPlace {
  lease: number;
  /** By the monotonic clock. */
  endsAt: number;
}

/** A delivery that an event of the SQL transaction in progress makes. `isOffered`: it may be leased at once. */
export interface LeasableDelivery extends LeasedPlace {
  values: SqlValue[];
  isOffered: boolean;
  bytes: string;
  correlationId: string;
}

/** A lane with leased deliveries: all its deliveries have the same customer. */
interface LeasedLane {
  customerId: string;
  count: number;
}

/**
 * The leases of this process, which the database holds. Claims and releases change them at once. What an SQL transaction
 * changes is collected, and happens with `apply` after COMMIT, or not at all with `drop` after a rollback.
 */
export class DeliveryLeases {
  /** Names this process in its leases. */
  readonly owner: string;
  /** Whether this process is the home of a lane: new deliveries of other lanes stay on disk. */
  isHome: (lane: string) => boolean = () => true;
  /** Where claims begin to look. */
  readonly floors = new LaneFloors();
  /** The monotonic clock. */
  readonly now: () => number;
  readonly #budget: DeliveryBudget;
  /** In the order in which they began, which is the order in which they end: all last equally long. */
  readonly #leases = new Map<string, OwnLease>();
  readonly #lanes = new Map<string, LeasedLane>();
  /** Lanes with leases of this process whose time is over, until a claim has looked for them. */
  readonly #expired = new Set<string>();
  /** The lease of new deliveries; null without a holder. */
  #leaseMs: number | null = null;
  /** The latest due time of a new delivery. */
  #newestAt = Number.MIN_SAFE_INTEGER;
  /** New deliveries that are offered, and count as leased. */
  readonly #offered = new Set<LeasableDelivery>();
  /** Lanes with a new delivery that is not offered: later ones stay behind it. */
  readonly #behind = new Set<string>();
  readonly #born: { lease: number; delivery: LeasableDelivery }[] = [];
  readonly #ended: string[] = [];

  /** `now`: the monotonic clock, by which leases end. */
  constructor(owner: string, now: () => number) {
    this.owner = owner;
    this.now = now;
    this.#budget = new DeliveryBudget(now);
  }

  /** How long new deliveries are leased; null: they all stay on disk. */
  get leaseMs(): number | null {
    return this.#leaseMs;
  }

  hold(leaseMs: number | null): void {
    this.#leaseMs = leaseMs;
  }

  /** The leases of this process. */
  known(): number[] {
    return [...this.#leases.values()].map(({ lease }) => lease);
  }

  /** Leased deliveries. */
  get count(): number {
    return this.#budget.count;
  }

  /** A claim that was asked for at `now` finds deliveries due by this time: a new one is due at once, also if it was made after that. */
  dueUntil(now: number): number {
    return withoutStepBack(this.#newestAt, now);
  }

  /** How many deliveries of a lane may be leased at most. */
  roomOf(lane: string): number {
    const known = this.#lanes.get(lane);
    if (known !== undefined && !this.#budget.hasRoom(known.customerId, 0)) return 0;
    return Math.max(0, IN_HAND_MAX - this.#budget.count);
  }

  /** Adds a lease of a claim; false if there is no room for it. A delivery has one: somebody else may have ended the lease before it. */
  add(place: LeasedPlace, lease: number, leaseMs: number): boolean {
    this.remove([place.id]);
    if (!this.#budget.hasRoom(place.customerId, place.size)) return false;
    this.#count(place, 1);
    this.#leases.set(place.id, { ...place, lease, endsAt: this.now() + leaseMs });
    return true;
  }

  /** The lane of a delivery that is leased; null if it is not. */
  laneOf(id: string): string | null {
    return this.#leases.get(id)?.lane ?? null;
  }

  /** Removes the leases of deliveries. Returns those that had not ended already. */
  remove(ids: Iterable<string>): OwnLease[] {
    return [...ids].flatMap((id) => {
      const own = this.#leases.get(id);
      if (own === undefined) return [];
      this.#leases.delete(id);
      this.#count(own, -1);
      return [own];
    });
  }

  /** Removes the leases whose time is over, or all of them. */
  expire(all = false): void {
    const now = this.now();
    for (const { id, endsAt } of this.#leases.values()) {
      if (!all && endsAt > now) return;
      for (const { lane } of this.remove([id])) this.#expired.add(lane);
    }
  }

  /** Whether a lane may have leases of this process whose time is over. */
  hasExpired(lane: string): boolean {
    return this.#expired.has(lane);
  }

  /** A claim has looked for all leases of a lane whose time is over. */
  foundExpired(lane: string): void {
    this.#expired.delete(lane);
  }

  /** A delivery of an event that just happened. The caller inserts it and calls `settle`. */
  offer(delivery: Delivery, { bytes, correlationId }: Event): LeasableDelivery {
    const { id, lane, customerId } = delivery;
    this.#newestAt = withoutStepBack(this.#newestAt, delivery.createdAt);
    const values = encodeRecord("deliveries", delivery);
    const place = { id, lane, customerId, size: bytes.length };
    const made = { ...place, values, isOffered: this.#isFree(place), bytes, correlationId };
    if (made.isOffered) {
      this.#offered.add(made);
      this.#count(made, 1);
    } else this.#behind.add(lane);
    return made;
  }

  #isFree({ lane, customerId, size }: LeasedPlace): boolean {
    if (this.#leaseMs === null || this.#behind.has(lane) || !this.isHome(lane)) return false;
    if (this.#expired.has(lane) || this.#isEnding(lane)) return false;
    const leased = this.#lanes.get(lane)?.count ?? 0;
    return this.#budget.hasRoomInLane(lane, leased) && this.#budget.hasRoom(customerId, size);
  }

  /** Whether a lease of the lane is about to end by its time. */
  #isEnding(lane: string): boolean {
    const until = this.now() + Math.min(LEFT_MS_MIN, (this.#leaseMs ?? 0) / 2);
    for (const own of this.#leases.values()) {
      if (own.endsAt > until) return false;
      if (own.lane === lane) return true;
    }
    return false;
  }

  /** An offered delivery was inserted with its lease, or without one, or its transaction was refused. */
  settle(delivery: LeasableDelivery, lease: number | null): void {
    if (lease !== null) this.#born.push({ lease, delivery });
    else this.#takeBack(delivery);
  }

  /** The attempt of a leased delivery has ended, or the delivery is gone. */
  end(id: string): void {
    this.#ended.push(id);
  }

  /** Makes the collected changes. Returns the new deliveries that are leased, in the order in which they were made. */
  apply(): DueRow[] {
    for (const { lane } of this.remove(this.#ended)) this.#budget.noteEnded(lane);
    const endsAt = this.now() + (this.#leaseMs ?? 0);
    const born = this.#born.map(({ lease, delivery }): DueRow => {
      const { id, lane, customerId, size, values, bytes, correlationId } = delivery;
      this.#leases.set(id, { id, lane, customerId, size, lease, endsAt });
      this.#offered.delete(delivery);
      return [NO_ROW, values, bytes, correlationId];
    });
    this.drop();
    return born;
  }

  /** Forgets the collected changes. */
  drop(): void {
    for (const delivery of this.#offered) this.#takeBack(delivery);
    this.#behind.clear();
    this.#born.length = 0;
    this.#ended.length = 0;
  }

  #takeBack(delivery: LeasableDelivery): void {
    if (this.#offered.delete(delivery)) this.#count(delivery, -1);
  }

  #count({ lane, customerId, size }: LeasedPlace, change: 1 | -1): void {
    if (change === 1) this.#budget.add(customerId, size);
    else this.#budget.remove(customerId, size);
    const known = this.#lanes.get(lane) ?? { customerId, count: 0 };
    known.count += change;
    if (known.count === 0) this.#lanes.delete(lane);
    else this.#lanes.set(lane, known);
  }
}
