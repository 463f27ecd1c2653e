/** The changes that the holder of deliveries is told of after each COMMIT, and which lanes have their new deliveries pushed. In memory only, without SQL. */

import type { Delivery } from "../core/delivery.ts";
import type { HolderCredit, LanePlace } from "./due-deliveries.ts";
import type { DueRow, PushedRow } from "./jobs/jobs.ts";

/** New deliveries that may be on their way to the holder, and the bytes of their events: without room for one, its lane is read later. */
const ON_WAY_MAX = 4_096;
const ON_WAY_BYTES_MAX = 16 * 1024 * 1024;
/** Lanes that are known to have caught up, or to have been told of. Beyond it all are forgotten, which costs one read or message each. */
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
 * A new delivery is pushed with its row while its lane has caught up: its holder has read, or was pushed, all that is before it. Otherwise it
 * stays on disk, and the holder is told its place, once until it reads the lane again. Whatever else becomes due sends its lane back to reading.
 */
export class DuePushes {
  #isHeld = false;
  /** Lanes that the holder has read to their end. */
  readonly #caughtUp = new Set<string>();
  /** The first place of new deliveries that the holder was told of in each lane, since it last read the lane. */
  readonly #told = new Map<string, LanePlace>();
  #onWay = { count: 0, bytes: 0 };
  #changes: DueChange[] = [];
  #pushed: PushedRow[] = [];

  /** Whether somebody takes the changes. */
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

  /** Whether the holder knows all that is before a new delivery of the lane. */
  hasCaughtUp(lane: string): boolean {
    return this.#isHeld && this.#caughtUp.has(lane);
  }

  /** The holder has read a lane. `isEnd`: to its end. */
  read(lane: string, isEnd: boolean): void {
    this.#told.delete(lane);
    if (this.#caughtUp.size >= LANES_MAX) this.#caughtUp.clear();
    if (isEnd) this.#caughtUp.add(lane);
    else this.#caughtUp.delete(lane);
  }

  /** An event made a delivery. `lanes` gets its lane if it is not pushed. */
  add(delivery: Delivery, row: DueRow, lanes: Set<string>): void {
    this.#changes.push({ kind: "new", delivery, row, lanes });
  }

  /** A delivery has become due, or has another due time. `id` is null if the holder cannot have it in hand. */
  due(id: string | null, lane: string, place: LanePlace): void {
    const last = this.#changes.at(-1);
    // A replay makes many at a time, in their order.
    const isBehindLast = last?.kind === "due" && last.id === null && last.lane === lane && !isBefore(place, last.place);
    if (id !== null || !isBehindLast) this.#changes.push({ kind: "due", id, lane, place });
  }

  /** A delivery is gone, or is no longer due. */
  gone(id: string): void {
    this.#changes.push({ kind: "gone", id });
  }

  /** Any delivery may have become due. */
  all(): void {
    this.#changes.push({ kind: "all" });
  }

  /** After COMMIT. */
  apply(): void {
    const changes = this.#changes;
    this.#changes = [];
    for (const change of changes) this.#apply(change);
  }

  /** After a rollback. */
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

  /** Whether the row is pushed. */
  #push(lane: string, row: DueRow): boolean {
    const bytes = String(row[2]).length;
    const hasRoom = this.#onWay.count < ON_WAY_MAX && this.#onWay.bytes + bytes <= ON_WAY_BYTES_MAX;
    if (!hasRoom || !this.hasCaughtUp(lane)) return false;
    this.#onWay.count += 1;
    this.#onWay.bytes += bytes;
    this.#pushed.push(["new", ...row]);
    return true;
  }

  /** A new delivery stays on disk. The clock may have stepped back: its place may be before one that was read. */
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
