/** Which deliveries this process has in hand, and how far it has read each lane. In memory only, without the store: all of it is decided here. */

import { DeliveryBudget, IN_HAND_MAX } from "../../core/delivery-budget.ts";
import type { DeliveryId } from "../../core/id.ts";
import type { DueDelivery, LanePlace, LaneRead } from "../../store/due-deliveries.ts";

/** A delivery in hand. */
interface InHandPlace extends LanePlace {
  lane: string;
  owner: string;
  /** The length of its event. */
  size: number;
  /** When it was taken (monotonic time). */
  since: number;
}

interface HandLane {
  /** Deliveries of the lane in hand. */
  count: number;
  /** Every due delivery up to this place is in hand, or was ended. */
  readTo: LanePlace;
  /** The lane may have due deliveries on disk that are not in hand. A new delivery then stays there, behind them. */
  isBehind: boolean;
  /** The read in progress; null if there is none. */
  reading: LaneReading | null;
  /** The customer and size of the first row for which the last read found no room; null: there was room. */
  noRoom: { owner: string; size: number } | null;
}

/** A read in progress: the changes since it was asked for, which it may not know. */
interface LaneReading {
  /** The first place that came up; `END` if none did. */
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

/** Lanes that are remembered; beyond it those without a delivery in hand are dropped, which costs one read each. */
const LANES_KEPT_MAX = 2 * IN_HAND_MAX;

const FRONT: LanePlace = { dueAt: Number.MIN_SAFE_INTEGER, row: 0 };
const END: LanePlace = { dueAt: Number.MAX_SAFE_INTEGER, row: 0 };

function isBefore(one: LanePlace, other: LanePlace): boolean {
  return one.dueAt === other.dueAt ? one.row < other.row : one.dueAt < other.dueAt;
}

/**
 * A read is older than what the hand knows. So an id that is in hand when the answer comes, or has left the hand since the read was asked
 * for, is not taken from it; and a place that came up meanwhile is read again.
 *
 * | A delivery | The hand |
 * |---|---|
 * | is read | takes it, unless it has or had it, has no room, or a place before it came up meanwhile: then nothing behind it is taken |
 * | is pushed | takes it, unless its lane is behind or it has no room: then the lane is behind |
 * | has become due, or has another due time | reads the lane again from there |
 * | has ended | has it no more; if it is due again, the lane is read from its new place |
 * | is given up | has it no more, and the lane is read again from its place |
 */
export class InHand {
  readonly #now: () => number;
  readonly #items = new Map<DeliveryId, InHandPlace>();
  readonly #lanes = new Map<string, HandLane>();
  readonly #budget: DeliveryBudget;
  /** Reads outside the order of lanes without an answer, and what has left the hand since the first of them was asked for. */
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

  /** The bytes of events for which there is room. */
  get freeBytes(): number {
    return this.#items.size >= IN_HAND_MAX ? 0 : this.#budget.freeBytes;
  }

  /** The lanes that are known. */
  get lanes(): string[] {
    return [...this.#lanes.keys()];
  }

  /** Whether a read of the lane can take anything: there is room for the row for which there was none. */
  hasRoom(lane: string): boolean {
    const { noRoom } = this.#lane(lane);
    return noRoom === null || this.#budget.hasRoom(noRoom.owner, noRoom.size);
  }

  /** A read of a lane is asked for, which is not being read. `answer` follows, or `failed`. */
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
      // Whether the read knew of its end, only the next one tells.
      if (left.has(id) && !isHeld) this.#moveBack(state, place);
      // A place that came up meanwhile is read first: nothing behind it may pass it.
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

  /** A read came to nothing. */
  failed(lane: string): void {
    this.#lane(lane).reading = null;
  }

  /** Takes a due delivery wherever it is in its lane. Returns whether it did. */
  takeOne(due: DueDelivery): boolean {
    const { id, customerId } = due.delivery;
    if (this.#items.has(id) || this.#left.has(id) || !this.#budget.hasRoom(customerId, due.bytes.length)) return false;
    this.#take(due);
    return true;
  }

  /** A read outside the order of lanes is asked for. `answerSome` follows its answer. */
  askSome(): void {
    this.#readsOfSome += 1;
  }

  answerSome(): void {
    this.#readsOfSome -= 1;
    if (this.#readsOfSome === 0) this.#left.clear();
  }

  /** Takes a new delivery. Returns whether it did: otherwise it stays on disk. */
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

  /** Any delivery may have become due: every lane is read from its front. */
  all(): void {
    for (const state of this.#lanes.values()) this.#moveBack(state, FRONT);
  }

  /** The attempt of a delivery is on disk, or the delivery is gone. `dueAt`: when it is due again; null: not. `now`: the service's time. */
  ended(id: DeliveryId, dueAt: number | null, now: number): void {
    const item = this.#remove(id);
    if (item === null) return;
    this.#budget.noteEnded(item.lane);
    if (dueAt === null) return;
    const state = this.#lane(item.lane);
    const place = { dueAt, row: item.row };
    // The look finds a later one when its time has come. Until then new ones may go before it.
    if (dueAt <= now || isBefore(place, state.readTo)) this.#moveBack(state, place);
  }

  /** These deliveries are not tried now: they are read again. Those that are not in hand are left out. */
  giveUp(ids: Iterable<DeliveryId>): void {
    for (const id of ids) {
      const item = this.#remove(id);
      if (item !== null) this.#moveBack(this.#lane(item.lane), item);
    }
  }

  /** Gives up what is in hand for longer than this, such as after an end that could not be recorded. */
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

  /** The next read begins at the place, also if a read is in progress. */
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

/** The next read of a lane begins at the place, or before. */
function readFrom(state: HandLane, { dueAt, row }: LanePlace): void {
  const before = { dueAt, row: row - 1 };
  if (isBefore(before, state.readTo)) state.readTo = before;
}

function placeOf({ delivery, row }: DueDelivery): LanePlace {
  return { dueAt: delivery.dueAt ?? FRONT.dueAt, row };
}
