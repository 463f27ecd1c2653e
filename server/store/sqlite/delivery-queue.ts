/** Which deliveries are leased, and where the next claim of each lane begins. In memory only, without SQL. */

import { LEASED_MAX, LeaseBudget } from "../jobs/lease-budget.ts";

/** A place in the order of a lane's deliveries: due time, then insertion. */
export interface LanePosition {
  dueAt: number;
  row: number;
}

/** A due delivery as a claim reads it. `owner`: its customer. `size`: the length of its event. */
export interface DueRow extends LanePosition {
  id: string;
  owner: string;
  size: number;
}

/** A new delivery. `lanes` gets its lane if it stays on disk; `born` gets its lease if it is leased at once. */
export interface NewDelivery extends DueRow {
  lane: string;
  lanes: Set<string>;
  born(lease: number): void;
}

interface Lease {
  lease: number;
  id: string;
  lane: string;
  owner: string;
  position: LanePosition;
  size: number;
  /** By the monotonic clock. */
  endsAt: number;
}

interface QueueLane {
  leased: number;
  /** The last row that a claim read: every due row up to it is leased. */
  cursor: LanePosition;
  /** Due rows of the lane may be on disk that are not leased. A new delivery then stays there, behind them. */
  isBehind: boolean;
}

/** Lanes that are remembered; beyond it those without a lease are dropped, which costs one claim each. */
const LANES_KEPT_MAX = 2 * LEASED_MAX;

const FRONT: LanePosition = { dueAt: Number.MIN_SAFE_INTEGER, row: 0 };

function isAfter(one: LanePosition, other: LanePosition): boolean {
  return one.dueAt === other.dueAt ? one.row > other.row : one.dueAt > other.dueAt;
}

/**
 * Leases of deliveries. Claims and releases change it at once. What a SQL transaction changes is collected (`end`, `move`,
 * `dueAgain`, `add`) and happens with `apply` after COMMIT, or not at all with `drop` after a rollback.
 */
export class DeliveryQueue {
  readonly #now: () => number;
  /** In the order in which they began, which is the order in which they end: all last equally long. */
  readonly #leases = new Map<number, Lease>();
  readonly #byId = new Map<string, Lease>();
  readonly #lanes = new Map<string, QueueLane>();
  readonly #budget: LeaseBudget;
  #lastLease = 0;
  /** The latest shifted time of a claim. */
  #claimedAt = Number.MIN_SAFE_INTEGER;
  readonly #ended = new Set<string>();
  readonly #moved: { id: string; position: LanePosition }[] = [];
  readonly #dueAgain: { lane: string; position: LanePosition; isNew: boolean }[] = [];
  readonly #added = new Map<string, NewDelivery>();

  /** `now`: the monotonic clock, in milliseconds. */
  constructor(now: () => number) {
    this.#now = now;
    this.#budget = new LeaseBudget(now);
  }

  /** Leased deliveries. */
  get size(): number {
    return this.#leases.size;
  }

  leasedIn(lane: string): number {
    return this.#lanes.get(lane)?.leased ?? 0;
  }

  /** The lease of a delivery; null if it has none, or the SQL transaction in progress has ended it. */
  leased(id: string): Readonly<Lease> | null {
    return this.#ended.has(id) ? null : (this.#byId.get(id) ?? null);
  }

  /**
   * Leases due deliveries of a lane, at most `permits`, for `leaseMs`. `read` returns rows after a place in the lane's order, at
   * most as many as it is asked for, and fewer only at the end. `more`: the lane may have more.
   */
  claim<Row extends DueRow>(
    lane: string,
    { permits, now, leaseMs }: { permits: number; now: number; leaseMs: number },
    read: (after: LanePosition, limit: number) => Row[],
  ): { claimed: { lease: number; row: Row }[]; more: boolean } {
    this.#claimedAt = Math.max(this.#claimedAt, now);
    const state = this.#lane(lane);
    state.isBehind = true;
    const claimed: { lease: number; row: Row }[] = [];
    for (;;) {
      const limit = permits - claimed.length;
      if (limit <= 0) return { claimed, more: true };
      const rows = read(state.cursor, limit);
      for (const row of rows) {
        if (!this.#byId.has(row.id)) {
          // A later poll of the lane goes on from here.
          if (!this.#budget.hasRoom(row.owner, row.size)) return { claimed, more: false };
          claimed.push({ lease: this.#lease(lane, row, leaseMs), row });
        }
        state.cursor = { dueAt: row.dueAt, row: row.row };
      }
      if (rows.length === limit) continue;
      state.isBehind = false;
      return { claimed, more: false };
    }
  }

  /** Leases a due delivery wherever it is in its lane. Null if it is leased, or its owner has no room for it. */
  leaseOne(lane: string, row: DueRow, leaseMs: number): number | null {
    if (this.#byId.has(row.id) || !this.#budget.hasRoom(row.owner, row.size)) return null;
    return this.#lease(lane, row, leaseMs);
  }

  /** Ends leases without a change of their deliveries, which are due as before. Leases that have ended already are left out. */
  release(leases: Iterable<number>): void {
    for (const one of leases) {
      const lease = this.#leases.get(one);
      if (lease !== undefined) this.#giveBack(lease);
    }
  }

  /** Ends the leases whose time is over, or all of them. */
  expire(all = false): void {
    const now = this.#now();
    for (const lease of this.#leases.values()) {
      if (!all && lease.endsAt > now) return;
      this.#giveBack(lease);
    }
  }

  /** Every lane begins at its front again: rows have become due that nobody named. */
  rescan(): void {
    for (const state of this.#lanes.values()) {
      state.cursor = FRONT;
      state.isBehind = true;
    }
  }

  /** The delivery has ended, has another due time, or is gone: its lease ends, and it is not leased as new. */
  end(id: string): void {
    this.#added.delete(id);
    if (this.#byId.has(id)) this.#ended.add(id);
  }

  /** A delivery is due at another time or for the first time. `isNew`: it is due now. */
  dueAgain(lane: string, position: LanePosition, isNew: boolean): void {
    this.#dueAgain.push({ lane, position, isNew });
  }

  /** A leased delivery has another due time; its lease stands. */
  move(id: string, position: LanePosition): void {
    this.#moved.push({ id, position });
  }

  /** An event made a delivery, which is due at once. */
  add(delivery: NewDelivery): void {
    this.#added.set(delivery.id, delivery);
  }

  /** Makes the collected changes. New deliveries are leased for `leaseMs`; null: they all stay on disk. */
  apply(leaseMs: number | null): void {
    for (const id of this.#ended) {
      const lease = this.#byId.get(id);
      if (lease === undefined) continue;
      this.#remove(lease);
      this.#budget.noteEnded(lease.lane);
    }
    for (const { id, position } of this.#moved) {
      const lease = this.#byId.get(id);
      if (lease !== undefined) lease.position = position;
    }
    for (const { lane, position, isNew } of this.#dueAgain) {
      const state = this.#lane(lane);
      moveBack(state, position);
      if (isNew || position.dueAt <= this.#claimedAt) state.isBehind = true;
    }
    for (const delivery of this.#added.values()) this.#bear(delivery, leaseMs);
    this.drop();
  }

  /** Forgets the collected changes. */
  drop(): void {
    this.#ended.clear();
    this.#moved.length = 0;
    this.#dueAgain.length = 0;
    this.#added.clear();
  }

  #bear(delivery: NewDelivery, leaseMs: number | null): void {
    const { lane, lanes } = delivery;
    const state = this.#lane(lane);
    const hasRoom =
      this.#budget.hasRoomInLane(lane, state.leased) && this.#budget.hasRoom(delivery.owner, delivery.size);
    const isLeased = leaseMs !== null && !state.isBehind && hasRoom;
    if (isLeased) {
      delivery.born(this.#lease(lane, delivery, leaseMs));
      return;
    }
    state.isBehind = true;
    moveBack(state, delivery);
    lanes.add(lane);
  }

  #lease(lane: string, { id, dueAt, row, owner, size }: DueRow, leaseMs: number): number {
    this.#lastLease += 1;
    const lease: Lease = {
      lease: this.#lastLease,
      id,
      lane,
      owner,
      position: { dueAt, row },
      size,
      endsAt: this.#now() + leaseMs,
    };
    this.#leases.set(lease.lease, lease);
    this.#byId.set(id, lease);
    this.#budget.add(owner, size);
    this.#lane(lane).leased += 1;
    return lease.lease;
  }

  #remove(lease: Lease): void {
    this.#leases.delete(lease.lease);
    this.#byId.delete(lease.id);
    this.#budget.remove(lease.owner, lease.size);
    const state = this.#lane(lease.lane);
    state.leased -= 1;
  }

  #giveBack(lease: Lease): void {
    const state = this.#lane(lease.lane);
    this.#remove(lease);
    state.isBehind = true;
    moveBack(state, lease.position);
  }

  #lane(name: string): QueueLane {
    const known = this.#lanes.get(name);
    if (known !== undefined) return known;
    if (this.#lanes.size >= LANES_KEPT_MAX) {
      for (const [idle, { leased }] of this.#lanes) if (leased === 0) this.#lanes.delete(idle);
    }
    const state: QueueLane = { leased: 0, cursor: FRONT, isBehind: true };
    this.#lanes.set(name, state);
    return state;
  }
}

/** The next claim reads the row at `position`. */
function moveBack(state: QueueLane, { dueAt, row }: LanePosition): void {
  if (!isAfter({ dueAt, row }, state.cursor)) state.cursor = { dueAt, row: row - 1 };
}
