/** The deliveries in hand against a naive table: any history of commits, reads, ends and returns takes each due delivery once, in order, and strands none. */

import assert from "node:assert/strict";
import { test } from "node:test";
import { seeded } from "../../../test/support/engine.ts";
import type { Delivery } from "../../core/delivery.ts";
import type { DeliveryId } from "../../core/id.ts";
import type { DueDelivery, LanePlace, LaneRead } from "../../store/due-deliveries.ts";
import type { DueRow, PushedRow } from "../../store/jobs/jobs.ts";
import { DuePushes } from "../../store/sqlite/due-pushes.ts";
import { InHand } from "./in-hand.ts";

const LANES = ["a", "b", "c"];

/** A delivery in the table of the model. */
interface Row {
  id: DeliveryId;
  lane: string;
  /** Null: it has ended. */
  dueAt: number | null;
  row: number;
  /** Whether it was tried: when its next time has come, new ones may go before it until a look finds it. */
  wasTried: boolean;
}

function due({ id, lane, dueAt, row }: Row, customerId = "cust_1", bytes = "{}"): DueDelivery {
  const delivery = { id, lane, dueAt, customerId } as unknown as Delivery;
  return { delivery, row, bytes, correlationId: "cor_1" };
}

function isBehind(one: LanePlace, other: LanePlace): boolean {
  return one.dueAt > other.dueAt || (one.dueAt === other.dueAt && one.row > other.row);
}

/** A message to the hand. */
type Message = () => void;

/** The table, its writer, and a hand at the other end of a port. */
class Model {
  readonly rows = new Map<DeliveryId, Row>();
  readonly hand: InHand;
  readonly pushes = new DuePushes();
  readonly random: (limit: number) => number;
  /** Whether reads are answered from a snapshot that is older than the ends before them, as by a server. Then nothing is pushed. */
  readonly isServer: boolean;
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
  readonly counts = { pushed: 0, refused: 0, fenced: 0, missed: 0, changed: 0 };

  constructor(seed: number, isServer: boolean) {
    this.random = seeded(seed);
    this.isServer = isServer;
    this.hand = new InHand(() => this.monotonic);
    if (!isServer) this.pushes.hold(true);
  }

  lane(): string {
    return LANES[this.random(LANES.length)] ?? "a";
  }

  make(dueAt: number): Row {
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
      // The clock may step back a little. A server finds such rows by what changed since the last read.
      const made = this.make(this.now - (this.isServer ? 0 : this.random(3)));
      const delivery = { ...due(made).delivery, createdAt: made.dueAt ?? 0 };
      const row: DueRow = [made.row, [made.id], "{}", "cor_1"];
      this.pushes.add(delivery, row, new Set());
    });
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

  some(): Row | undefined {
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
    const isTaken = this.hand.push(due({ ...row, dueAt: row.dueAt ?? this.now }));
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
  checkOrder({ id, lane, row, dueAt }: Row, at: number): void {
    const passed = [...this.rows.values()].filter(
      (one) =>
        one.lane === lane &&
        one.dueAt !== null &&
        one.dueAt <= at &&
        one.row < row &&
        !one.wasTried &&
        !this.hand.has(one.id) &&
        isBehind({ dueAt: dueAt ?? 0, row }, { dueAt: one.dueAt, row: one.row }),
    );
    // A message behind this one tells of changes since then.
    if (this.port.length === 0) assert.deepEqual(passed, [], `${id} overtook others`);
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
    const snapshot = this.isServer ? this.found(read) : null;
    this.asked.push(() => {
      const rows = snapshot ?? this.found(read);
      const isEnd = rows.length < read.limit;
      if (!this.isServer) this.pushes.read(lane, isEnd);
      const at = this.now;
      this.port.push(() => this.answer(read, rows, isEnd, at));
    });
  }

  found({ lane, after, limit }: LaneRead): Row[] {
    return [...this.rows.values()]
      .filter((row) => row.lane === lane && row.dueAt !== null && row.dueAt <= this.now)
      .map((row) => ({ ...row }))
      .filter(({ dueAt, row }) => isBehind({ dueAt: dueAt ?? 0, row }, after))
      .sort((one, other) => (one.dueAt ?? 0) - (other.dueAt ?? 0) || one.row - other.row)
      .slice(0, limit);
  }

  answer({ lane }: LaneRead, rows: readonly Row[], isEnd: boolean, at: number): void {
    this.reading.delete(lane);
    const before = new Set(rows.filter(({ id }) => this.hand.has(id)).map(({ id }) => id));
    const { taken, refused, mayHaveMore } = this.hand.answer(
      lane,
      rows.map((row) => due(row)),
      isEnd,
    );
    this.counts.fenced += refused.length;
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
    else if (this.isServer || kind < 39) this.giveUp([...this.held][0] ?? ("" as DeliveryId));
    else if (this.random(3) === 0) this.insert();
    else this.change();
    this.forget();
  }

  /** Forgets some of what has ended. */
  forget(): void {
    if (this.rows.size < 200 || this.asked.length + this.port.length > 0) return;
    for (const [id, { dueAt }] of this.rows) if (dueAt === null && !this.hand.has(id)) this.rows.delete(id);
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
    for (const lane of LANES)
      for (let reads = 0; reads < 1_000; reads += 1) {
        const size = this.hand.size;
        this.read(lane);
        run();
        if (this.hand.size === size && reads > 400) break;
      }
    const dueNow = [...this.rows.values()].filter(({ dueAt }) => dueAt !== null && dueAt <= this.now);
    assert.deepEqual(
      dueNow.filter(({ id }) => !this.hand.has(id)),
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

for (const isServer of [false, true]) {
  const seeds = 60;
  test(`${seeds} histories of 1,000 steps, ${isServer ? "read from snapshots" : "read and pushed in the order of commits"}`, () => {
    const total = { pushed: 0, refused: 0, fenced: 0, missed: 0, changed: 0 };
    for (let seed = 0; seed < seeds; seed += 1) {
      const model = new Model(seed, isServer);
      for (let step = 0; step < 1_000; step += 1) model.step();
      model.settle();
      for (const name of Object.keys(total) as (keyof typeof total)[]) total[name] += model.counts[name];
    }
    const wanted = isServer ? (["fenced", "missed"] as const) : (["pushed", "refused", "missed", "changed"] as const);
    for (const name of wanted) assert.ok(total[name] > 100, `${name}: ${total[name]}`);
  });
}

for (const size of [1, 20_000]) {
  test(`a customer with many lanes leaves room to other customers, with events of ${size} bytes`, () => {
    const hand = new InHand(() => 0);
    let rows = 0;
    const bytes = "x".repeat(size);
    const claim = (lane: string, customer: string) => {
      const { limit } = hand.ask(lane, 128);
      const found = Array.from({ length: limit }, () => {
        rows += 1;
        return due({ id: `dlv_${rows}`, lane, dueAt: 0, row: rows, wasTried: false }, customer, bytes);
      });
      return hand.answer(lane, found, false).taken.length;
    };
    for (let lane = 0; lane < 200; lane += 1) claim(`lane ${lane}`, "cust_1");
    assert.ok(hand.size * size > 20_000_000 || hand.size > 13_000, `${hand.size} in the hand of one customer`);
    assert.equal(claim("another lane", "cust_2"), 128);
    assert.equal(claim("a third lane", "cust_3"), 128);
    assert.equal(claim("the first lane", "cust_1"), 0);
  });
}

test("a delivery whose end could not be recorded leaves the hand when its time is over, and is read again", () => {
  let now = 0;
  const hand = new InHand(() => now);
  const row: Row = { id: "dlv_1", lane: "a", dueAt: 5, row: 1, wasTried: false };
  hand.ask("a", 9);
  assert.equal(hand.answer("a", [due(row)], true).taken.length, 1);
  now = 59;
  hand.expire(60);
  assert.deepEqual([hand.size, hand.ask("a", 9).after], [1, { dueAt: 5, row: 1 }]);
  hand.failed("a");
  now = 60;
  hand.expire(60);
  assert.deepEqual([hand.size, hand.ask("a", 9).after], [0, { dueAt: 5, row: 0 }]);
});
