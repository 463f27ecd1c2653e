/**
 * Collects the changes of due deliveries that the holder gets after each COMMIT, and decides which new deliveries are
 * pushed. In memory only, without SQL.
 */

import type { Delivery } from "../core/delivery.ts";
import type { HolderCredit, LanePlace } from "./due-deliveries.ts";
import type { DueRow, PushedRow } from "./jobs/jobs.ts";

/**
 * The most new deliveries on their way to the holder, and the most bytes of their events. Beyond it the holder reads
 * the lane later.
 */
const ON_WAY_MAX = 4_096;
const ON_WAY_BYTES_MAX = 16 * 1024 * 1024;
/**
 * The most lanes in `#caughtUp`, and in `#told`. Beyond it all are forgotten, which costs one read or message for each
 * lane.
 */
const LANES_MAX = 32_768;

/** An event makes a delivery. */
interface NewChange {
  kind: "new";
  delivery: Delivery;
  row: DueRow;
  /** Gets the lane if the delivery is not pushed. */
  lanes: Set<string>;
}

/** A change of a lane or delivery by a SQL transaction. */
type DueChange =
  | NewChange
  | { kind: "due"; id: string | null; lane: string; place: LanePlace }
  | { kind: "gone"; id: string }
  | { kind: "all" };

/**
 * Pushes a new delivery with its row while its lane has caught up: the holder has read or got everything before the
 * delivery. Otherwise the delivery stays on disk, and the holder gets its place, once until it reads the lane again.
 * After any other delivery becomes due, the holder has to read the lane.
 */
export class DuePushes {
  #isHeld = false;
  /** Lanes that the holder has read to their end. */
  readonly #caughtUp = new Set<string>();
  /** For each lane, the first place of new deliveries that the holder was told since it last read the lane. */
  readonly #told = new Map<string, LanePlace>();
  #onWay = { count: 0, bytes: 0 };
  #changes: DueChange[] = [];
  #pushed: PushedRow[] = [];

  /** Begins a hold, or ends it. Only during a hold are changes collected. */
  hold(isHeld: boolean): void {
    this.#isHeld = isHeld;
    this.#caughtUp.clear();
    this.#told.clear();
    this.#onWay = { count: 0, bytes: 0 };
  }

  credit({ arrived, bytes, behind }: HolderCredit): void {
    this.#onWay.count = Math.max(0, this.#onWay.count - arrived);
    this.#onWay.bytes = Math.max(0, this.#onWay.bytes - bytes);
    for (const lane of behind) this.#caughtUp.delete(lane);
  }

  /** Whether the holder knows every delivery before a new delivery of the lane. */
  hasCaughtUp(lane: string): boolean {
    return this.#isHeld && this.#caughtUp.has(lane);
  }

  /** Notes that the holder has read a lane. `isEnd`: to its end. */
  read(lane: string, isEnd: boolean): void {
    this.#told.delete(lane);
    if (this.#caughtUp.size >= LANES_MAX) this.#caughtUp.clear();
    if (isEnd) this.#caughtUp.add(lane);
    else this.#caughtUp.delete(lane);
  }

  /** Notes that an event made a delivery. `lanes` gets its lane if the delivery is not pushed. */
  add(delivery: Delivery, row: DueRow, lanes: Set<string>): void {
    this.#changes.push({ kind: "new", delivery, row, lanes });
  }

  /**
   * Notes that a delivery is due, or has another due time. `id` is null if the holder cannot have the delivery in hand.
   */
  due(id: string | null, lane: string, place: LanePlace): void {
    const last = this.#changes.at(-1);
    // A replay makes many deliveries at a time, in their order: one place tells the holder of all.
    const isBehindLast = last?.kind === "due" && last.id === null && last.lane === lane && !isBefore(place, last.place);
    if (id !== null || !isBehindLast) this.#changes.push({ kind: "due", id, lane, place });
  }

  /** Notes that a delivery is gone, or is no longer due. */
  gone(id: string): void {
    this.#changes.push({ kind: "gone", id });
  }

  /** Notes that any delivery may have become due. */
  all(): void {
    this.#changes.push({ kind: "all" });
  }

  /** Makes the changes ready to be taken, after COMMIT. */
  apply(): void {
    const changes = this.#changes;
    this.#changes = [];
    for (const change of changes) this.#apply(change);
  }

  /** Forgets the changes, after a rollback. */
  drop(): void {
    this.#changes = [];
  }

  take(): PushedRow[] {
    const pushed = this.#pushed;
    this.#pushed = [];
    return pushed;
  }

  #apply(change: DueChange): void {
    switch (change.kind) {
      case "new":
        if (!this.#push(change.delivery.lane, change.row)) this.#keep(change);
        return;
      case "due": {
        const { id, lane, place } = change;
        this.#caughtUp.delete(lane);
        this.#tell(["due", id, lane, place.dueAt, place.row]);
        return;
      }
      case "gone":
        this.#tell(["gone", change.id]);
        return;
      case "all":
        this.#caughtUp.clear();
        this.#tell(["all"]);
        return;
    }
  }

  /** Pushes the row if its lane has caught up and there is room. Returns whether it did. */
  #push(lane: string, row: DueRow): boolean {
    const bytes = String(row[2]).length;
    const hasRoom = this.#onWay.count < ON_WAY_MAX && this.#onWay.bytes + bytes <= ON_WAY_BYTES_MAX;
    if (!hasRoom || !this.hasCaughtUp(lane)) return false;
    this.#onWay.count += 1;
    this.#onWay.bytes += bytes;
    this.#pushed.push(["new", ...row]);
    return true;
  }

  /**
   * Leaves a new delivery on disk. If the clock has stepped back, its place may be before one that the holder has read.
   */
  #keep({ delivery: { lane, createdAt: dueAt }, row: [row], lanes }: NewChange): void {
    this.#caughtUp.delete(lane);
    lanes.add(lane);
    const told = this.#told.get(lane);
    if (told !== undefined && !isBefore({ dueAt, row }, told)) return;
    if (this.#told.size >= LANES_MAX) this.#told.clear();
    this.#told.set(lane, { dueAt, row });
    this.#tell(["due", null, lane, dueAt, row]);
  }

  #tell(row: PushedRow): void {
    if (this.#isHeld) this.#pushed.push(row);
  }
}

function isBefore(one: LanePlace, other: LanePlace): boolean {
  return one.dueAt === other.dueAt ? one.row < other.row : one.dueAt < other.dueAt;
}
