/**
 * Inserts deliveries, reads due ones, and writes outcomes of attempts and cancellations, over the writer's connection.
 */

import { type Delivery, goesAtOnce } from "../../core/delivery.ts";
import type { Event } from "../../core/event.ts";
import { withoutStepBack } from "../../core/step-back.ts";
import type { DueRead, HolderCredit, LanePlace } from "../due-deliveries.ts";
import { DuePushes } from "../due-pushes.ts";
import {
  type DueRow,
  type DueRows,
  type EncodedOutcome,
  encodeRecord,
  type FinishedRow,
  type PushedRow,
} from "../jobs/jobs.ts";
import { decodeEach, decodeRecord, LAYOUT, type SqlValue } from "../rows.ts";
import type { QuarantineTable } from "./quarantine.ts";
import type { Statements } from "./statements.ts";
import { allRows } from "./wide-rows.ts";

const indexOf = (property: keyof Delivery) => LAYOUT.deliveries.findIndex((column) => column.property === property);
const ID = indexOf("id");
const LANE = indexOf("lane");
const DUE_AT = indexOf("dueAt");

/**
 * Reads change nothing on disk. After a COMMIT, `apply` passes on the transaction's changes of due deliveries. After a
 * rollback, `drop` forgets them.
 */
export class DeliveryWriter {
  readonly #statements: Statements;
  readonly #quarantine: QuarantineTable;
  readonly #pushes = new DuePushes();
  /** The latest due time of a new delivery. */
  #newestAt = Number.MIN_SAFE_INTEGER;
  #rowsRead = 0;

  constructor(statements: Statements, quarantine: QuarantineTable) {
    this.#statements = statements;
    this.#quarantine = quarantine;
  }

  /** Rows that reads of due deliveries have read so far. */
  get rowsRead(): number {
    return this.#rowsRead;
  }

  /** Begins to push changes of due deliveries, or stops it. */
  hold(isHeld: boolean): void {
    this.#pushes.hold(isHeld);
  }

  credit(credit: HolderCredit): void {
    this.#pushes.credit(credit);
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
   * Inserts the delivery of an event that just happened. After COMMIT `lanes` has its lane, unless the delivery is
   * pushed.
   */
  add(delivery: Delivery, { bytes, correlationId }: Event, lanes: Set<string>): void {
    const values = encodeRecord("deliveries", delivery);
    const { lastInsertRowid } = this.#statements.insert("deliveries").run(...values);
    this.#newestAt = withoutStepBack(this.#newestAt, delivery.createdAt);
    this.#pushes.add(delivery, [Number(lastInsertRowid), values, bytes, correlationId], lanes);
  }

  /** Notes an inserted delivery that no event of its transaction made, such as one of a replay. */
  inserted(values: readonly SqlValue[], row: number): void {
    const dueAt = values[DUE_AT];
    if (typeof dueAt === "number") this.#pushes.due(null, String(values[LANE]), { dueAt, row });
  }

  /** Notes that somebody else than the holder has changed the due time of a delivery. */
  updated(id: string): void {
    const { lane, dueAt, row } = this.#placeOf(id);
    if (dueAt === null) this.#pushes.gone(id);
    else this.#pushes.due(id, lane, { dueAt, row });
  }

  /** Notes that a delivery is gone, or out of its queue. */
  removed(id: string): void {
    this.#pushes.gone(id);
  }

  /** Notes that any delivery may have become due. */
  rescan(): void {
    this.#pushes.all();
  }

  read({ lanes, now: askedAt, bytesMax, atOnce }: DueRead): DueRows {
    // A new delivery is due at once, even if it was made after the read was asked for. The read finds it, so that no
    // later
    // delivery of its lane is pushed before it.
    const now = withoutStepBack(this.#newestAt, askedAt);
    // Deliveries to an endpoint in quarantine wait until its row is repaired.
    const open = lanes.filter(({ lane }) => !this.#quarantine.holds(lane));
    if (atOnce !== undefined) {
      const names = new Set(open.map(({ lane }) => lane));
      return { rows: atOnce.flatMap((id) => this.#readAtOnce(id, names, now)), more: [] };
    }
    const rows: DueRow[] = [];
    const more: string[] = [];
    let bytes = 0;
    for (const { lane, after, limit } of open) {
      const found = bytes < bytesMax ? this.#read(lane, now, after, limit) : null;
      const isEnd = found !== null && found.length < limit;
      if (!isEnd) more.push(lane);
      this.#pushes.read(lane, isEnd);
      for (const row of found ?? []) {
        bytes += sizeOf(row);
        rows.push(row);
      }
    }
    return { rows, more };
  }

  /** Reads one delivery, if it is in one of the lanes, is due, and goes at once (`goesAtOnce`). */
  #readAtOnce(id: string, lanes: ReadonlySet<string>, now: number): DueRow[] {
    const { lane, dueAt, row } = this.#placeOf(id);
    if (dueAt === null || !lanes.has(lane)) return [];
    const found = this.#read(lane, now, { dueAt, row: row - 1 }, 1).filter(([, values]) => values[ID] === id);
    return found.filter(([, values]) => decodeEach([values], decodeDelivery).records.some(goesAtOnce));
  }

  #placeOf(id: string): { lane: string; dueAt: number | null; row: number } {
    const place = this.#statements.placeOfDelivery().get(id) as unknown as [string, number | null, number] | undefined;
    const [lane = "", dueAt = null, row = 0] = place ?? [];
    return { lane, dueAt, row };
  }

  /** Reads due deliveries of a lane after a place, with their events. */
  #read(lane: string, now: number, after: LanePlace, limit: number): DueRow[] {
    // SQLite seeks to a row number by the index only with an exact due time.
    const isDue = after.dueAt <= now;
    const same = isDue ? allRows(this.#statements.deliveriesDueAt(), [lane, after.dueAt, after.row, limit]) : [];
    const left = limit - same.length;
    const later = left === 0 ? [] : allRows(this.#statements.deliveriesDueAfter(), [lane, after.dueAt, now, left]);
    const rows = [...same, ...later] as SqlValue[][];
    this.#rowsRead += rows.length;
    return rows.map(([row = 0, bytes = null, correlationId = null, ...values]) => [
      Number(row),
      values,
      bytes,
      correlationId,
    ]);
  }

  /** Writes the outcomes of attempts, except where the delivery has another version than the outcome was decided on. */
  finish(outcomes: readonly EncodedOutcome[]): FinishedRow[] {
    return outcomes.map(([row, id, version, values]) => {
      const { changes } = this.#statements.finishDelivery().run(...values, row, id, version);
      return Number(changes) === 0 ? this.#changed(id) : "ok";
    });
  }

  #changed(id: string): FinishedRow {
    const [values] = allRows(this.#statements.delivery(), [id]) as SqlValue[][];
    return values ?? "gone";
  }

  /**
   * Cancels deliveries of an endpoint that is not active, or deliveries of a replay that were not tried since the
   * replay.
   */
  cancel(endpointId: string, limit: number, replayId: string | null): number {
    if (replayId === null && this.#statements.activeEndpoint().get(endpointId) !== undefined) return 0;
    const due = this.#statements
      .waiting(replayId === null ? "lane" : "untried")
      .all(replayId ?? endpointId, limit) as unknown as [string, number][];
    for (const [id, row] of due) {
      this.#statements.cancelDelivery().run(row);
      this.#pushes.gone(id);
    }
    return due.length;
  }
}

function decodeDelivery(values: SqlValue[]): Delivery {
  return decodeRecord("deliveries", values);
}

/** Characters in the envelope of a delivery's event. */
function sizeOf([, , bytes]: DueRow): number {
  return typeof bytes === "string" ? bytes.length : 0;
}
