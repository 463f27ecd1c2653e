/**
 * The queue of deliveries on PostgreSQL, as the writer of one process knows it.
 * Reads due deliveries, and decides which new ones are pushed to the holder.
 *
 * Before the holder is pushed a delivery, it must know all deliveries of the lane before that one. The holder learns of every change by
 * its own process. Changes by other processes are found by `put_by` and `changed_in`, which say by which process and SQL transaction a row
 * got its due time. A statement does not see the writes of SQL transactions that are in progress in its snapshot, or that begin later.
 */

import type { Delivery } from "../../core/delivery.ts";
import type { Event } from "../../core/event.ts";
import { hashOf } from "../../core/rendezvous.ts";
import { withoutStepBack } from "../../core/step-back.ts";
import type { DueRead, HolderCredit, LaneRead } from "../due-deliveries.ts";
import { DuePushes } from "../due-pushes.ts";
import type { DueRow, DueRows, PushedRow } from "../jobs/jobs.ts";
import { LAYOUT } from "../rows.ts";
import { findAtOnce, findDue, findPassed, readRecords } from "./due-reads.ts";
import type { Sql } from "./sql.ts";

/** Lanes whose last snapshot is remembered. Beyond this number all are forgotten, and each lane is read from its front once. */
const LANES_MAX = 32_768;
/** Rows that a read finds in all lanes together, unless one lane alone may have more. */
const ROWS_MAX = 4_096;
/** A pushed row has no row number yet: it counts as the first of its due time. */
const NO_ROW = 0;

export class DeliveryQueue {
  readonly #member: string;
  /** How often commits may have been lost. */
  #losses = 0;
  readonly #pushes = new DuePushes();
  /** The snapshot in which each lane was last seen. */
  readonly #seen = new Map<string, string>();
  /** The newest SQL transaction of all snapshots. */
  #newest = 0;
  /** The latest due time of a new delivery. */
  #newestAt = Number.MIN_SAFE_INTEGER;

  /** `member`: the name of this process. */
  constructor(member: string) {
    this.#member = member;
  }

  /**
   * The number of this process in the rows that it puts into the queue. Two processes get the same number once in four billion times.
   * After a loss the process takes another number, so that rows of commits that it does not know of count as rows of another process.
   */
  get putBy(): number {
    return hashOf(`${this.#member} ${this.#losses}`) | 0;
  }

  /** True: changes of due deliveries are pushed from now on. False: they are not pushed any more. */
  hold(isHeld: boolean): void {
    this.#pushes.hold(isHeld);
  }

  credit(credit: HolderCredit): void {
    this.#pushes.credit(credit);
  }

  /**
   * Forgets what was seen, after a loss. Commits may be lost, unknown or still on their way, and
   * a server that took the place of another may count its SQL transactions from an earlier one.
   */
  forget(): void {
    this.#losses += 1;
    this.#newest = 0;
    this.#seen.clear();
    this.#pushes.drop();
    this.#pushes.all();
    this.#pushes.apply();
  }

  apply(): void {
    this.#pushes.apply();
  }

  drop(): void {
    this.#pushes.drop();
  }

  /** The changes to push since the last call, in the order of the commits. */
  takePushed(): PushedRow[] {
    return this.#pushes.take();
  }

  /**
   * Asks whether other processes have put something into lanes of new deliveries. The look belongs to the SQL
   * transaction of the deliveries, which holds the locks of their customers. The lanes that the holder has not
   * read to their ends are left out: nothing of them is pushed.
   */
  async look(sql: Sql, lanes: Iterable<string>): Promise<void> {
    const caughtUp = [...new Set(lanes)].flatMap((lane) => {
      const seen = this.#seen.get(lane);
      return seen !== undefined && this.#pushes.hasCaughtUp(lane) ? [{ lane, seen }] : [];
    });
    if (caughtUp.length === 0) return;
    const { passed, snapshot } = await findPassed(sql, caughtUp, this.putBy);
    this.#leftBehind(passed);
    for (const { lane } of caughtUp) if (!passed.includes(lane)) this.#note(lane, snapshot);
  }

  /** Nothing of these lanes is pushed until the holder has read them to their ends. */
  #leftBehind(lanes: readonly string[]): void {
    this.#pushes.credit({ arrived: 0, bytes: 0, behind: lanes });
  }

  /** The SQL transaction in progress inserts a delivery of an event. If the delivery is not pushed, its lane is added to `lanes` after COMMIT. */
  add(delivery: Delivery, values: DueRow[1], { bytes, correlationId }: Event, lanes: Set<string>): void {
    this.#newestAt = withoutStepBack(this.#newestAt, delivery.createdAt);
    this.#pushes.add(delivery, [NO_ROW, values, bytes, correlationId], lanes);
  }

  /** A delivery has a new due time; null: it is no longer due. `isNew`: the holder cannot have it in hand. */
  changed(id: string, lane: string, dueAt: number | null, isNew = false): void {
    if (dueAt === null) this.#pushes.gone(id);
    else this.#pushes.due(isNew ? null : id, lane, { dueAt, row: NO_ROW });
  }

  /** Deliveries are gone, or are no longer due. */
  gone(ids: readonly string[]): void {
    for (const id of ids) this.#pushes.gone(id);
  }

  /** Any delivery may have become due. */
  rescan(): void {
    this.#pushes.all();
  }

  async read(sql: Sql, { lanes, now, bytesMax, atOnce }: DueRead): Promise<DueRows> {
    // A new delivery is due at once, also if it was made after the read was asked
    // for. So the read includes it: no later one of its lane may be pushed before it.
    const until = withoutStepBack(this.#newestAt, now);
    if (atOnce !== undefined) {
      const names = lanes.map(({ lane }) => lane);
      return { rows: await readRecords(sql, await findAtOnce(sql, atOnce, names, until)), more: [] };
    }
    const read = lanes.slice(0, lanesWithin(lanes));
    const wanted = read.map((one) => ({ ...one, seen: this.#seen.get(one.lane) ?? null }));
    const { found, snapshot } = await findDue(sql, wanted, until, this.putBy);
    this.#noteSnapshot(snapshot);
    const places = [...found.values()].flatMap((one) => one.places);
    const records = Map.groupBy(await readRecords(sql, places), ([, values]) => String(values[LANE]));
    const rows: DueRow[] = [];
    const more = lanes.slice(read.length).map(({ lane }) => lane);
    let bytes = 0;
    for (const { lane, limit } of read) {
      const ofLane = found.get(lane);
      // Deliveries to an endpoint in quarantine wait until its row is repaired.
      if (ofLane === undefined) {
        this.#leftBehind([lane]);
        continue;
      }
      const own = records.get(lane) ?? [];
      const taken = own.filter((row) => {
        const hasRoom = bytes < bytesMax;
        bytes += sizeOf(row);
        return hasRoom;
      });
      rows.push(...taken);
      const isEnd = taken.length === own.length && ofLane.places.length < limit;
      if (!isEnd) more.push(lane);
      this.#pushes.read(lane, isEnd && !ofLane.hasSoon);
      // If the read leaves out all rows of others before its place, the next read has to find them again.
      if (taken.length > 0 || isEnd) this.#note(lane, snapshot);
    }
    return { rows, more };
  }

  /** A server that counts its SQL transactions from an earlier one has taken the place of the one before. Null: nothing was read. */
  #noteSnapshot(snapshot: string | null): void {
    if (snapshot === null) return;
    const newest = newestOf(snapshot);
    if (newest < this.#newest) this.forget();
    this.#newest = newest;
  }

  #note(lane: string, snapshot: string | null): void {
    if (snapshot === null) return;
    if (this.#seen.size >= LANES_MAX && !this.#seen.has(lane)) {
      this.#leftBehind([...this.#seen.keys()]);
      this.#seen.clear();
    }
    this.#seen.set(lane, snapshot);
  }
}

/** The number after the newest SQL transaction of a snapshot (`xmin:xmax:in progress`). */
function newestOf(snapshot: string): number {
  return Number(snapshot.split(":")[1] ?? 0);
}

const LANE = LAYOUT.deliveries.findIndex(({ property }) => property === "lane");

/** The length of the event of a row. */
function sizeOf([, , bytes]: DueRow): number {
  return typeof bytes === "string" ? bytes.length : 0;
}

/** How many of the first lanes one read may read: at least one. */
function lanesWithin(lanes: readonly LaneRead[]): number {
  let rows = 0;
  const tooMany = lanes.findIndex(({ limit }, index) => {
    rows += limit;
    return index > 0 && rows > ROWS_MAX;
  });
  return tooMany === -1 ? lanes.length : tooMany;
}
