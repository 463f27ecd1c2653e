/** Decides from memory alone which deliveries this process has in hand, and how far it has read each lane. */

import { DeliveryBudget, IN_HAND_MAX } from "../../core/delivery-budget.ts";
import type { DeliveryId } from "../../core/id.ts";
import type { DueDelivery, LanePlace, LaneRead } from "../../store/due-deliveries.ts";

/** A delivery in hand. */
interface InHandPlace extends LanePlace {
  lane: string;
  owner: string;
  /** Bytes of the delivery's event. */
  size: number;
  /** When the hand took the delivery (monotonic time). */
  since: number;
}

interface HandLane {
  /** Deliveries of the lane in hand. */
  count: number;
  /** Every due delivery up to this place is in hand, or its attempt has ended. */
  readTo: LanePlace;
  /** The lane may have due deliveries on disk that are not in hand. A new delivery stays on disk, behind them. */
  isBehind: boolean;
  /** The read in progress; null if there is none. */
  reading: LaneReading | null;
  /** The customer and size of the first row for which the last read found no room; null: there was room. */
  noRoom: { owner: string; size: number } | null;
}

/** A read in progress. Its answer may miss these changes, which came after the read was asked for. */
interface LaneReading {
  /** The first place in the lane that became due; `END` if none did. */
  missed: LanePlace;
  /** Deliveries of the lane that have left the hand. */
  left: Set<DeliveryId>;
}

/** The deliveries of a read that were taken; the others stay on disk. */
export interface TakenDeliveries {
  taken: DueDelivery[];
  /** Whether the lane is to be read again at once. */
  mayHaveMore: boolean;
}

/** The hand remembers this many lanes. Beyond it, the hand drops idle lanes, which costs one read for each. */
const LANES_KEPT_MAX = 2 * IN_HAND_MAX;

const FRONT: LanePlace = { dueAt: Number.MIN_SAFE_INTEGER, row: 0 };
const END: LanePlace = { dueAt: Number.MAX_SAFE_INTEGER, row: 0 };

function isBefore(one: LanePlace, other: LanePlace): boolean {
  return one.dueAt === other.dueAt ? one.row < other.row : one.dueAt < other.dueAt;
}

/**
 * The answer of a read is older than the state of the hand. So the hand skips a delivery that is in hand already.
 * It also skips a delivery that left the hand during the read. It reads again from a place that became due meanwhile.
 *
 * | A delivery | The hand |
 * |---|---|
 * | is read | takes it, unless it is in hand, left during the read, or is behind a place to be read again |
 * | is read, and finds no room | takes neither it nor any delivery behind it |
 * | is pushed | takes it, unless the lane is behind or there is no room: then the lane is behind |
 * | has become due, or has another due time | reads the lane again from there |
 * | has ended | drops it; if the delivery is due again, reads the lane from its new place |
 * | is given up | drops it, and reads the lane again from its place |
 */
export class InHand {
  readonly #now: () => number;
  readonly #items = new Map<DeliveryId, InHandPlace>();
  readonly #lanes = new Map<string, HandLane>();
  readonly #budget: DeliveryBudget;
  /** Unanswered reads outside the order of lanes, and the deliveries that left the hand since the first read. */
  #readsOfSome = 0;
  readonly #left = new Set<DeliveryId>();

  /** `now`: the monotonic clock, in milliseconds. */
  constructor(now: () => number) {
    this.#now = now;
    this.#budget = new DeliveryBudget(now);
  }

  /** Deliveries in hand. */
  get size(): number {
    return this.#items.size;
  }

  /** The lane of a delivery in hand; null if it is not in hand. */
  laneOf(id: DeliveryId): string | null {
    return this.#items.get(id)?.lane ?? null;
  }

  /** Bytes of events that the hand has room for. */
  get freeBytes(): number {
    return this.#items.size >= IN_HAND_MAX ? 0 : this.#budget.freeBytes;
  }

  /** The lanes that the hand remembers. */
  get lanes(): string[] {
    return [...this.#lanes.keys()];
  }

  /** Whether there is room now for the first row that the last read of the lane could not take. */
  hasRoom(lane: string): boolean {
    const { noRoom } = this.#lane(lane);
    return noRoom === null || this.#budget.hasRoom(noRoom.owner, noRoom.size);
  }

  /** Begins a read of a lane that is not being read. `answer` or `failed` follows. */
  ask(lane: string, limit: number): LaneRead {
    const state = this.#lane(lane);
    state.reading = { missed: END, left: new Set() };
    state.noRoom = null;
    return { lane, after: state.readTo, limit };
  }

  /** Takes the rows of a read, in the order of the lane. `isEnd`: the lane has no more. */
  answer(lane: string, rows: readonly DueDelivery[], isEnd: boolean): TakenDeliveries {
    const state = this.#lane(lane);
    const { left } = state.reading ?? { left: new Set() };
    const taken: DueDelivery[] = [];
    let isFull = false;
    for (const row of rows) {
      const { id, customerId: owner } = row.delivery;
      const [place, size] = [placeOf(row), row.bytes.length];
      const isHeld = this.#items.has(id);
      // This read may be older than the end of the delivery: the next read tells.
      if (left.has(id) && !isHeld) this.#moveBack(state, place);
      // The next read begins at a place that became due meanwhile: no later delivery may pass it.
      const isBehindMissed = state.reading !== null && isBefore(state.reading.missed, place);
      if (!isHeld && !isFull && !this.#budget.hasRoom(owner, size)) {
        isFull = true;
        state.noRoom = { owner, size };
        // A read of a server may go back to what others have put before its place.
        readFrom(state, place);
      }
      if (isFull || isBehindMissed || left.has(id)) continue;
      if (!isHeld) {
        taken.push(row);
        this.#take(row);
      }
      state.readTo = place;
    }
    const { missed } = state.reading ?? { missed: END };
    state.reading = null;
    state.isBehind = isFull || !isEnd;
    if (missed !== END) this.#moveBack(state, missed);
    return { taken, mayHaveMore: state.isBehind && !isFull };
  }

  /** The read of the lane failed. */
  failed(lane: string): void {
    this.#lane(lane).reading = null;
  }

  /** Takes a due delivery wherever it is in its lane. Returns whether the hand took it. */
  takeOne(due: DueDelivery): boolean {
    const { id, customerId } = due.delivery;
    if (this.#items.has(id) || this.#left.has(id) || !this.#budget.hasRoom(customerId, due.bytes.length)) return false;
    this.#take(due);
    return true;
  }

  /** Begins a read outside the order of lanes. `answerSome` follows when the read has ended. */
  askSome(): void {
    this.#readsOfSome += 1;
  }

  answerSome(): void {
    this.#readsOfSome -= 1;
    if (this.#readsOfSome === 0) this.#left.clear();
  }

  /** Takes a new delivery. Returns whether the hand took it: if not, the delivery stays on disk. */
  push(due: DueDelivery): boolean {
    const { lane, customerId } = due.delivery;
    const state = this.#lane(lane);
    const size = due.bytes.length;
    const hasRoom = this.#budget.hasRoomInLane(lane, state.count) && this.#budget.hasRoom(customerId, size);
    if (!state.isBehind && hasRoom) {
      this.#take(due);
      return true;
    }
    this.#moveBack(state, placeOf(due));
    return false;
  }

  /** A delivery of the lane is due from this place on. */
  due(lane: string, place: LanePlace): void {
    this.#moveBack(this.#lane(lane), place);
  }

  /** Any delivery may have become due: the next read of each lane begins at its front. */
  all(): void {
    for (const state of this.#lanes.values()) this.#moveBack(state, FRONT);
  }

  /**
   * The attempt of a delivery is on disk, or the delivery is gone. `dueAt`: when the delivery is due again, or null.
   * `now`: the service's time.
   */
  ended(id: DeliveryId, dueAt: number | null, now: number): void {
    const item = this.#remove(id);
    if (item === null) return;
    this.#budget.noteEnded(item.lane);
    if (dueAt === null) return;
    const state = this.#lane(item.lane);
    const place = { dueAt, row: item.row };
    // The look finds a delivery that is due later, at its time. Until then new deliveries may pass it.
    if (dueAt <= now || isBefore(place, state.readTo)) this.#moveBack(state, place);
  }

  /** Gives up deliveries that the loop does not try now: they are read again. Skips ids that are not in hand. */
  giveUp(ids: Iterable<DeliveryId>): void {
    for (const id of ids) {
      const item = this.#remove(id);
      if (item !== null) this.#moveBack(this.#lane(item.lane), item);
    }
  }

  /** Gives up deliveries that are in hand for longer than this, as when an outcome could not be recorded. */
  expire(inHandMs: number): void {
    const until = this.#now() - inHandMs;
    const expired: DeliveryId[] = [];
    for (const [id, { since }] of this.#items) {
      if (since > until) break;
      expired.push(id);
    }
    this.giveUp(expired);
  }

  #take(due: DueDelivery): void {
    const { id, lane, customerId: owner } = due.delivery;
    const size = due.bytes.length;
    this.#items.set(id, { ...placeOf(due), lane, owner, size, since: this.#now() });
    this.#budget.add(owner, size);
    this.#lane(lane).count += 1;
  }

  #remove(id: DeliveryId): InHandPlace | null {
    const item = this.#items.get(id);
    if (item === undefined) return null;
    this.#items.delete(id);
    this.#budget.remove(item.owner, item.size);
    const state = this.#lane(item.lane);
    state.count -= 1;
    state.reading?.left.add(id);
    if (this.#readsOfSome > 0) this.#left.add(id);
    return item;
  }

  /** Makes the next read begin at the place, also if a read is in progress. */
  #moveBack(state: HandLane, { dueAt, row }: LanePlace): void {
    state.isBehind = true;
    readFrom(state, { dueAt, row });
    if (state.reading !== null && isBefore({ dueAt, row }, state.reading.missed)) state.reading.missed = { dueAt, row };
  }

  #lane(name: string): HandLane {
    const known = this.#lanes.get(name);
    if (known !== undefined) return known;
    if (this.#lanes.size >= LANES_KEPT_MAX) {
      for (const [idle, { count, reading }] of this.#lanes)
        if (count === 0 && reading === null) this.#lanes.delete(idle);
    }
    const state: HandLane = { count: 0, readTo: FRONT, isBehind: true, reading: null, noRoom: null };
    this.#lanes.set(name, state);
    return state;
  }
}

/** Makes the next read of a lane begin at the place, or before. */
function readFrom(state: HandLane, { dueAt, row }: LanePlace): void {
  const before = { dueAt, row: row - 1 };
  if (isBefore(before, state.readTo)) state.readTo = before;
}

function placeOf({ delivery, row }: DueDelivery): LanePlace {
  return { dueAt: delivery.dueAt ?? FRONT.dueAt, row };
}
