/** The deliveries in hand beside a naive table, its writer, and other processes that put rows into the table, for a test of any history. */

import assert from "node:assert/strict";
import type { Delivery } from "../../server/core/delivery.ts";
import type { DeliveryId } from "../../server/core/id.ts";
import { InHand } from "../../server/engine/queue/in-hand.ts";
import type { DueDelivery, LanePlace, LaneRead } from "../../server/store/due-deliveries.ts";
import { DuePushes } from "../../server/store/due-pushes.ts";
import type { DueRow, PushedRow } from "../../server/store/jobs/jobs.ts";
import { seeded } from "./engine.ts";

const LANES = ["a", "b", "c"];

/** A delivery in the table of the model. */
export interface TableRow {
  id: DeliveryId;
  lane: string;
  /** Null: it has ended. */
  dueAt: number | null;
  row: number;
  /** Whether it was tried: when its next time has come, new ones may go before it until a look finds it. */
  wasTried: boolean;
  /** The number of the SQL transaction by which another process has put it there; absent: this process has. */
  putIn?: number;
}

/** A row as the store gives it to a hand. */
export function dueOf({ id, lane, dueAt, row }: TableRow, customerId = "cust_1", bytes = "{}"): DueDelivery {
  const delivery = { id, lane, dueAt, customerId } as unknown as Delivery;
  return { delivery, row, bytes, correlationId: "cor_1" };
}

function isBehind(one: LanePlace, other: LanePlace): boolean {
  return one.dueAt > other.dueAt || (one.dueAt === other.dueAt && one.row > other.row);
}

/** A message to the hand. */
type Message = () => void;

/**
 * `alone`: reads and commits are answered in their order. `shared`: other processes put rows into the table too, of which nobody tells; a read
 * goes back to them, and a commit pushes nothing if it finds any (`server/store/postgres/delivery-queue.ts`). `late`: the answers of reads are
 * older than the ends before them; nothing is pushed.
 */
export type HandKind = "alone" | "shared" | "late";

/** The table, its writer, and a hand at the other end of a port. Each step throws if a delivery is in hand twice or overtakes others. */
export class HandModel {
  readonly rows = new Map<DeliveryId, TableRow>();
  readonly hand: InHand;
  readonly pushes = new DuePushes();
  readonly random: (limit: number) => number;
  readonly kind: HandKind;
  /** The last SQL transaction, those of others that have not committed, and which was the oldest in progress when each lane was last seen. */
  transaction = 0;
  readonly inProgress = new Map<number, () => void>();
  readonly seen = new Map<string, number>();
  /** The questions to the writer, and its answers, in order. */
  readonly asked: (() => void)[] = [];
  readonly port: Message[] = [];
  /** In hand, and its end not asked for. */
  readonly held = new Set<DeliveryId>();
  /** Lanes with a read in progress. */
  readonly reading = new Set<string>();
  monotonic = 0;
  now = 1_000;
  made = 0;
  readonly counts = { pushed: 0, refused: 0, fenced: 0, missed: 0, changed: 0, wentBack: 0, passed: 0 };

  constructor(seed: number, kind: HandKind) {
    this.random = seeded(seed);
    this.kind = kind;
    this.hand = new InHand(() => this.monotonic);
    this.pushes.hold(kind !== "late");
  }

  lane(): string {
    return LANES[this.random(LANES.length)] ?? "a";
  }

  make(dueAt: number): TableRow {
    this.made += 1;
    const row = { id: `dlv_${this.made}` as DeliveryId, lane: this.lane(), dueAt, row: this.made, wasTried: false };
    this.rows.set(row.id, row);
    return row;
  }

  /** Commits what `change` does, and sends what is pushed. */
  commit(change: () => void): void {
    change();
    this.pushes.apply();
    const pushed = this.pushes.take();
    const at = this.now;
    if (pushed.length > 0) this.port.push(() => this.take(pushed, at));
  }

  add(): void {
    this.commit(() => {
      // The clock may step back a little.
      const made = this.make(this.now - (this.kind === "late" ? 0 : this.random(3)));
      this.lookForOthers(made.lane);
      const delivery = { ...dueOf(made).delivery, createdAt: made.dueAt ?? 0 };
      const row: DueRow = [made.row, [made.id], "{}", "cor_1"];
      this.pushes.add(delivery, row, new Set());
    });
  }

  /** The oldest SQL transaction in progress. */
  get oldest(): number {
    return Math.min(this.transaction + 1, ...this.inProgress.keys());
  }

  /** The rows of others in a lane since it was last seen. */
  ofOthers(lane: string): TableRow[] {
    const since = this.seen.get(lane) ?? 0;
    return [...this.rows.values()].filter(
      (row) => row.lane === lane && row.dueAt !== null && (row.putIn ?? -1) >= since,
    );
  }

  /** A commit that makes a delivery looks whether another process has put something into its lane. */
  lookForOthers(lane: string): void {
    if (!this.pushes.hasCaughtUp(lane)) return;
    if (this.ofOthers(lane).length === 0) this.seen.set(lane, this.oldest);
    else {
      this.counts.passed += 1;
      this.pushes.credit({ arrived: 0, bytes: 0, behind: [lane] });
    }
  }

  /** An event that another process commits: it waits for those of this process, so that it is behind them. */
  addElsewhere(): void {
    this.transaction += 1;
    this.make(this.now).putIn = this.transaction;
  }

  /** Another process begins to put a row anywhere, such as a replay or a retry by hand. */
  putElsewhere(): void {
    this.transaction += 1;
    const putIn = this.transaction;
    const row = { ...this.make(this.now - this.random(40)), putIn, wasTried: true };
    const ended = this.some();
    const isAgain = ended !== undefined && ended.dueAt === null && !this.isHeld(ended.id) && this.random(2) === 0;
    this.rows.delete(row.id);
    this.inProgress.set(putIn, () => {
      if (isAgain) Object.assign(ended, { dueAt: row.dueAt, putIn, wasTried: true });
      else this.rows.set(row.id, row);
    });
  }

  commitElsewhere(): void {
    const [first] = [...this.inProgress].slice(this.random(Math.max(1, this.inProgress.size)));
    if (first === undefined) return;
    this.inProgress.delete(first[0]);
    first[1]();
  }

  /** A replay, or a row that somebody else puts before others. */
  insert(): void {
    this.commit(() => {
      const { lane, dueAt, row } = this.make(this.now - this.random(40));
      this.pushes.due(null, lane, { dueAt: dueAt ?? 0, row });
    });
  }

  /** A retry by hand, or the cancellation, of any delivery. */
  change(): void {
    const row = this.some();
    if (row === undefined) return;
    this.commit(() => {
      if (this.random(3) === 0) {
        row.dueAt = null;
        this.pushes.gone(row.id);
      } else {
        row.dueAt = Math.min(row.dueAt ?? this.now, this.now);
        this.pushes.due(row.id, row.lane, { dueAt: row.dueAt, row: row.row });
      }
    });
    this.counts.changed += 1;
  }

  some(): TableRow | undefined {
    const all = [...this.rows.values()];
    return all[this.random(all.length)];
  }

  take(pushed: readonly PushedRow[], at: number): void {
    for (const change of pushed) {
      if (change[0] === "new") this.takeNew(change[2][0] as DeliveryId, at);
      else if (change[0] === "due") {
        const [, id, lane, dueAt, row] = change;
        this.hand.due(lane, { dueAt, row });
        if (id !== null) this.giveUp(id as DeliveryId);
      } else if (change[0] === "gone") this.giveUp(change[1] as DeliveryId);
      else this.hand.all();
    }
  }

  takeNew(id: DeliveryId, at: number): void {
    const row = this.rows.get(id) ?? assert.fail();
    const isTaken = this.hand.push(dueOf({ ...row, dueAt: row.dueAt ?? this.now }));
    if (!isTaken) {
      this.counts.refused += 1;
      this.pushes.credit({ arrived: 1, bytes: 2, behind: [row.lane] });
      return;
    }
    this.counts.pushed += 1;
    this.held.add(id);
    this.checkOrder(row, at);
  }

  /** No delivery that was due at a time, was not tried and is before the taken one in its lane is out of hand. */
  checkOrder({ id, lane, row, dueAt }: TableRow, at: number): void {
    const passed = [...this.rows.values()].filter(
      (one) =>
        one.lane === lane &&
        one.dueAt !== null &&
        one.dueAt <= at &&
        one.row < row &&
        !one.wasTried &&
        !this.isHeld(one.id) &&
        isBehind({ dueAt: dueAt ?? 0, row }, { dueAt: one.dueAt, row: one.row }),
    );
    // A message behind this one tells of changes since then.
    if (this.port.length === 0) assert.deepEqual(passed, [], `${id} overtook others`);
  }

  isHeld(id: DeliveryId): boolean {
    return this.hand.laneOf(id) !== null;
  }

  giveUp(id: DeliveryId): void {
    if (!this.held.delete(id)) return;
    this.hand.giveUp([id]);
  }

  /** Asks for a read of a lane. */
  read(lane = this.lane()): void {
    if (this.reading.has(lane)) return;
    this.reading.add(lane);
    const read = this.hand.ask(lane, 1 + this.random(6));
    const late = this.kind === "late" ? this.found(read) : null;
    this.asked.push(() => {
      const rows = late ?? this.found(this.backToOthers(read));
      this.seen.set(lane, this.oldest);
      const isEnd = rows.length < read.limit;
      this.pushes.read(lane, isEnd);
      const at = this.now;
      this.port.push(() => this.answer(read, rows, isEnd, at));
    });
  }

  /** The read from the first place that others have put something to, if that is before its own. */
  backToOthers(read: LaneRead): LaneRead {
    const others = this.ofOthers(read.lane).map(({ dueAt, row }) => ({ dueAt: dueAt ?? 0, row: row - 1 }));
    const first = others.sort((one, other) => (isBehind(one, other) ? 1 : -1))[0];
    if (first === undefined || !isBehind(read.after, first)) return read;
    this.counts.wentBack += 1;
    return { ...read, after: first };
  }

  found({ lane, after, limit }: LaneRead): TableRow[] {
    return [...this.rows.values()]
      .filter((row) => row.lane === lane && row.dueAt !== null && row.dueAt <= this.now)
      .map((row) => ({ ...row }))
      .filter(({ dueAt, row }) => isBehind({ dueAt: dueAt ?? 0, row }, after))
      .sort((one, other) => (one.dueAt ?? 0) - (other.dueAt ?? 0) || one.row - other.row)
      .slice(0, limit);
  }

  answer({ lane }: LaneRead, rows: readonly TableRow[], isEnd: boolean, at: number): void {
    this.reading.delete(lane);
    const before = new Set(rows.filter(({ id }) => this.isHeld(id)).map(({ id }) => id));
    const { taken, mayHaveMore } = this.hand.answer(
      lane,
      rows.map((row) => dueOf(row)),
      isEnd,
    );
    this.counts.fenced += rows.length - before.size - taken.length;
    if (mayHaveMore && isEnd) this.counts.missed += 1;
    const ids = taken.map(({ delivery }) => delivery.id);
    assert.deepEqual(
      ids.filter((id) => before.has(id) || this.held.has(id)),
      [],
      "a delivery is in hand once",
    );
    for (const id of ids) this.held.add(id);
    for (const id of ids) this.checkOrder(this.rows.get(id) ?? assert.fail(), at);
  }

  /** The attempt of a delivery in hand ends, for good or until later. */
  end(): void {
    const [id] = [...this.held].slice(this.random(Math.max(1, this.held.size)));
    const row = id === undefined ? undefined : this.rows.get(id);
    if (id === undefined || row === undefined) return;
    this.held.delete(id);
    const dueAt = this.random(2) === 0 ? null : this.now + this.random(20) - 5;
    const write = () => {
      // On another version the end is decided again, over the fresh record.
      row.dueAt = row.dueAt === null ? null : dueAt;
      row.wasTried = true;
      const written = row.dueAt;
      this.port.push(() => this.hand.ended(id, written, this.now));
    };
    this.asked.push(write);
  }

  pass(): void {
    this.now += this.random(40);
    this.monotonic += this.random(40);
  }

  step(): void {
    const kind = this.random(40);
    if (kind < 4) this.add();
    else if (kind < 11) this.read();
    else if (kind < 20) this.asked.shift()?.();
    else if (kind < 29) this.port.shift()?.();
    else if (kind < 35) this.end();
    else if (kind < 38) this.pass();
    else if (this.kind === "late" || kind < 39) this.giveUp([...this.held][0] ?? ("" as DeliveryId));
    else if (this.random(3) === 0) this.insert();
    else this.change();
    if (this.kind === "shared" && this.random(8) === 0) this.putBySomebody();
    this.forget();
  }

  putBySomebody(): void {
    const kind = this.random(4);
    if (kind < 2) this.addElsewhere();
    else if (kind === 2) this.putElsewhere();
    else this.commitElsewhere();
  }

  /** Forgets some of what has ended. */
  forget(): void {
    if (this.rows.size < 200 || this.asked.length + this.port.length > 0) return;
    for (const [id, { dueAt }] of this.rows) if (dueAt === null && !this.isHeld(id)) this.rows.delete(id);
  }

  /** Everything that was asked is answered, and every lane is read to its end. */
  settle(): void {
    const run = () => {
      while (this.asked.length + this.port.length > 0) {
        this.asked.shift()?.();
        this.port.shift()?.();
      }
    };
    run();
    while (this.inProgress.size > 0) this.commitElsewhere();
    for (const lane of LANES)
      for (let reads = 0; reads < 1_000; reads += 1) {
        const size = this.hand.size;
        this.read(lane);
        run();
        if (this.hand.size === size && reads > 400) break;
      }
    const dueNow = [...this.rows.values()].filter(({ dueAt }) => dueAt !== null && dueAt <= this.now);
    assert.deepEqual(
      dueNow.filter(({ id }) => !this.isHeld(id)),
      [],
      "a due delivery is stranded",
    );
    assert.deepEqual(
      [...this.held].filter((id) => this.rows.get(id)?.dueAt === null),
      [],
      "what is gone was given up",
    );
  }
}
