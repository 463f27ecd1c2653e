/** The writer's deliveries: new ones, claims, outcomes of attempts, retries by hand and cancellations. */

import { type Delivery, goesAtOnce, retryByHand } from "../../core/delivery.ts";
import type { Event } from "../../core/event.ts";
import { withoutStepBack } from "../../core/step-back.ts";
import {
  type ClaimedRow,
  type ClaimedRows,
  type EncodedOutcome,
  encodePart,
  encodeRecord,
  FINISHED_COLUMNS,
  type FinishedRow,
} from "../jobs/jobs.ts";
import { decodeEach, decodeRecord, LAYOUT, type SqlValue } from "../rows.ts";
import type { DeliveryClaim } from "../store.ts";
import { DeliveryQueue, type DueRow, type LanePosition } from "./delivery-queue.ts";
import type { QuarantineTable } from "./quarantine.ts";
import type { Statements } from "./statements.ts";
import { allRows } from "./wide-rows.ts";

const indexOf = (property: keyof Delivery) => LAYOUT.deliveries.findIndex((column) => column.property === property);
const ID = indexOf("id");
const LANE = indexOf("lane");
const DUE_AT = indexOf("dueAt");
const CUSTOMER_ID = indexOf("customerId");
const FINISHED_DUE_AT = FINISHED_COLUMNS.indexOf("dueAt");

interface ReadRow extends DueRow {
  values: SqlValue[];
  bytes: SqlValue;
  correlationId: SqlValue;
}

/** Claims and releases change leases at once; everything else changes them with `apply`, after the COMMIT of its SQL transaction. */
export class DeliveryWriter {
  readonly #statements: Statements;
  readonly #quarantine: QuarantineTable;
  readonly #queue: DeliveryQueue;
  /** The lease of new deliveries; null without a holder. */
  #leaseMs: number | null = null;
  /** The latest due time of a new delivery. */
  #newestAt = Number.MIN_SAFE_INTEGER;
  #rowsRead = 0;
  /** New deliveries that are leased, until `takeBorn`. */
  #born: ClaimedRow[] = [];

  /** `now`: the monotonic clock, by which leases end. */
  constructor(statements: Statements, quarantine: QuarantineTable, now: () => number) {
    this.#statements = statements;
    this.#quarantine = quarantine;
    this.#queue = new DeliveryQueue(now);
  }

  /** Rows that claims have read so far. */
  get rowsRead(): number {
    return this.#rowsRead;
  }

  /** From now on new deliveries are leased for `leaseMs` and returned by `takeBorn`; null: no longer. */
  hold(leaseMs: number | null): void {
    this.#leaseMs = leaseMs;
  }

  apply(): void {
    this.#queue.apply(this.#leaseMs);
  }

  drop(): void {
    this.#queue.drop();
  }

  /** The new deliveries that were leased since the last call, in the order in which they were made. */
  takeBorn(): ClaimedRow[] {
    const born = this.#born;
    if (born.length > 0) this.#born = [];
    return born;
  }

  /** Inserts the delivery of an event that just happened. After COMMIT `lanes` has its lane, if it stays on disk. */
  add(delivery: Delivery, { bytes, correlationId }: Event, lanes: Set<string>): void {
    const values = encodeRecord("deliveries", delivery);
    const { lastInsertRowid } = this.#statements.insert("deliveries").run(...values);
    const { id, lane, customerId: owner, createdAt: dueAt } = delivery;
    this.#newestAt = withoutStepBack(this.#newestAt, dueAt);
    const row = Number(lastInsertRowid);
    const born = (lease: number) => void this.#born.push([lease, values, bytes, correlationId]);
    this.#queue.add({ id, lane, dueAt, row, owner, size: bytes.length, lanes, born });
  }

  /** A delivery was inserted that no event of its transaction made, such as a replay. */
  inserted(values: readonly SqlValue[], row: number): void {
    const dueAt = values[DUE_AT];
    if (typeof dueAt === "number") this.#queue.dueAgain(String(values[LANE]), { dueAt, row }, true);
  }

  /** The due time of a delivery was changed by somebody else than the holder of its lease, which stands if it is still due. */
  updated(id: string): void {
    const { lane, dueAt, row } = this.#placeOf(id);
    if (dueAt === null) this.#queue.end(id);
    else if (this.#queue.leased(id) !== null) this.#queue.move(id, { dueAt, row });
    else this.#queue.dueAgain(lane, { dueAt, row }, true);
  }

  /** A delivery is gone, or out of its queue. */
  removed(id: string): void {
    this.#queue.end(id);
  }

  /** Rows have become due that nobody named. */
  rescan(): void {
    this.#queue.rescan();
  }

  claim({ lanes, now: claimedAt, leaseMs, atOnce }: DeliveryClaim): ClaimedRows {
    this.#queue.expire();
    // A new delivery is due at once, also if it was made after the claim was asked for: no later one of its lane may be leased before it.
    const now = withoutStepBack(this.#newestAt, claimedAt);
    if (atOnce !== undefined) {
      const names = new Set(lanes.map(({ lane }) => lane));
      return { rows: atOnce.flatMap((id) => this.#claimAtOnce(id, names, { now, leaseMs })), more: [] };
    }
    const rows: ClaimedRow[] = [];
    const more: string[] = [];
    for (const { lane, permits } of lanes) {
      // Deliveries to an endpoint in quarantine wait until its row is repaired.
      if (this.#quarantine.holds(lane)) continue;
      const claim = this.#queue.claim(lane, { permits, now, leaseMs }, (after, limit) =>
        this.#read(lane, now, after, limit),
      );
      for (const { lease, row } of claim.claimed) rows.push([lease, row.values, row.bytes, row.correlationId]);
      if (claim.more) more.push(lane);
    }
    return { rows, more };
  }

  /** Leases one delivery of the lanes, if it is due and goes at once. */
  #claimAtOnce(id: string, lanes: ReadonlySet<string>, { now, leaseMs }: { now: number; leaseMs: number }) {
    const { lane, dueAt, row } = this.#placeOf(id);
    if (dueAt === null || !lanes.has(lane) || this.#quarantine.holds(lane)) return [];
    const [found] = this.#read(lane, now, { dueAt, row: row - 1 }, 1);
    if (found?.id !== id) return [];
    const { records } = decodeEach([found.values], (values) => decodeRecord("deliveries", values));
    const lease = records.some(goesAtOnce) ? this.#queue.leaseOne(lane, found, leaseMs) : null;
    return lease === null ? [] : [[lease, found.values, found.bytes, found.correlationId] satisfies ClaimedRow];
  }

  #placeOf(id: string): { lane: string; dueAt: number | null; row: number } {
    const place = this.#statements.placeOfDelivery().get(id) as unknown as [string, number | null, number] | undefined;
    const [lane = "", dueAt = null, row = 0] = place ?? [];
    return { lane, dueAt, row };
  }

  /** Due deliveries of a lane after a position, with their events. */
  #read(lane: string, now: number, after: LanePosition, limit: number): ReadRow[] {
    // SQLite seeks to a row number by the index only with an exact due time.
    const isDue = after.dueAt <= now;
    const same = isDue ? allRows(this.#statements.deliveriesDueAt(), [lane, after.dueAt, after.row, limit]) : [];
    const left = limit - same.length;
    const later = left === 0 ? [] : allRows(this.#statements.deliveriesDueAfter(), [lane, after.dueAt, now, left]);
    const rows = [...same, ...later] as SqlValue[][];
    this.#rowsRead += rows.length;
    return rows.map(([row = 0, bytes = null, correlationId = null, ...values]) => {
      const size = typeof bytes === "string" ? bytes.length : 0;
      const [id, owner] = [String(values[ID]), String(values[CUSTOMER_ID])];
      return { id, dueAt: Number(values[DUE_AT]), row: Number(row), owner, size, values, bytes, correlationId };
    });
  }

  release(leases: readonly number[]): void {
    this.#queue.release(leases);
  }

  /** Ends the leases whose time is over, or all. */
  expire(all: boolean): void {
    this.#queue.expire(all);
  }

  /** Writes the outcomes of attempts whose lease and version are still theirs. */
  finish(outcomes: readonly EncodedOutcome[]): FinishedRow[] {
    return outcomes.map(([lease, id, version, values]) => {
      const leased = this.#queue.leased(id);
      if (leased === null || leased.lease !== lease) return "gone";
      const { changes } = this.#statements.finishDelivery().run(...values, leased.position.row, id, version);
      if (Number(changes) === 0) return this.#changed(id);
      this.#queue.end(id);
      const dueAt = values[FINISHED_DUE_AT];
      if (typeof dueAt === "number") this.#queue.dueAgain(leased.lane, { dueAt, row: leased.position.row }, false);
      return "ok";
    });
  }

  #changed(id: string): FinishedRow {
    const [values] = allRows(this.#statements.delivery(), [id]) as SqlValue[][];
    if (values !== undefined) return values;
    this.#queue.end(id);
    return "gone";
  }

  /** An attempt at once, or after the one in flight. */
  retry(id: string, now: number): void {
    const [values] = allRows(this.#statements.delivery(), [id]) as SqlValue[][];
    if (values === undefined) return;
    const delivery = decodeRecord("deliveries", values);
    const isLeased = this.#queue.leased(id) !== null;
    const [properties, set] = encodePart("deliveries", retryByHand(delivery, isLeased, now));
    if (properties === "") return;
    this.#statements.update("deliveries", properties).run(...set, id);
    if (!isLeased) this.updated(id);
  }

  /** Cancels deliveries of an endpoint that is not active, or those of a replay that were not tried since, except leased ones. */
  cancel(endpointId: string, limit: number, replayId: string | null): number {
    if (replayId === null && this.#statements.activeEndpoint().get(endpointId) !== undefined) return 0;
    const read = limit + this.#queue.leasedIn(endpointId);
    const due = this.#statements
      .waiting(replayId === null ? "lane" : "untried")
      .all(replayId ?? endpointId, read) as unknown as [string, number][];
    const free = due.filter(([id]) => this.#queue.leased(id) === null).slice(0, limit);
    for (const [id, row] of free) {
      this.#statements.cancelDelivery().run(row);
      this.#queue.end(id);
    }
    return free.length;
  }
}
