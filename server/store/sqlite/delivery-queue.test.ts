/** Leases and cursors of deliveries against a naive model: any history of operations leases the same deliveries. */

import assert from "node:assert/strict";
import { test } from "node:test";
import { seeded } from "../../../test/support/engine.ts";
import { DeliveryQueue, type DueRow, type LanePosition } from "./delivery-queue.ts";

const LANES = ["a", "b", "c"];
const LEASE_MS = 100;

interface Row {
  id: string;
  lane: string;
  /** Null: it has ended. */
  dueAt: number | null;
  row: number;
  lease: number | null;
  leasedAt: number;
}

/** A table of deliveries with their leases, searched from its beginning each time. */
class Model {
  readonly rows: Row[] = [];
  readonly queue: DeliveryQueue;
  readonly random: (limit: number) => number;
  /** Lanes with a due delivery that is not leased although no time passed: new deliveries stay behind it. */
  readonly behind = new Set(LANES);
  readonly leasesGiven = new Set<number>();
  monotonic = 0;
  now = 1_000;
  born = 0;
  movedBack = 0;
  caughtUp = 0;
  skipped = 0;

  constructor(seed: number) {
    this.random = seeded(seed);
    this.queue = new DeliveryQueue(() => this.monotonic);
  }

  lane(): string {
    return LANES[this.random(LANES.length)] ?? "a";
  }

  some(matches: (row: Row) => boolean): Row | undefined {
    const found = this.rows.filter(matches);
    return found[this.random(found.length)];
  }

  leased(row: Row, lease: number): void {
    assert.ok(!this.leasesGiven.has(lease), "a lease is given once");
    assert.equal(row.lease, null, "a delivery has one lease");
    this.leasesGiven.add(lease);
    row.lease = lease;
    row.leasedAt = this.monotonic;
  }

  read(lane: string, after: LanePosition, limit: number): DueRow[] {
    const due = this.rows
      .filter((row) => row.lane === lane && row.dueAt !== null && row.dueAt <= this.now)
      .map(({ id, dueAt, row, lease }) => ({ id, dueAt: dueAt ?? 0, row, owner: "customer", size: 1, lease }))
      .filter(({ dueAt, row }) => dueAt > after.dueAt || (dueAt === after.dueAt && row > after.row))
      .sort((one, other) => one.dueAt - other.dueAt || one.row - other.row)
      .slice(0, limit);
    this.skipped += due.filter(({ lease }) => lease !== null).length;
    return due;
  }

  claim(): void {
    const lane = this.lane();
    const permits = 1 + this.random(6);
    const { claimed, more } = this.queue.claim(lane, { permits, now: this.now, leaseMs: LEASE_MS }, (after, limit) =>
      this.read(lane, after, limit),
    );
    const free = this.rows
      .filter((row) => row.lane === lane && row.dueAt !== null && row.dueAt <= this.now && row.lease === null)
      .sort((one, other) => (one.dueAt ?? 0) - (other.dueAt ?? 0) || one.row - other.row);
    const expected = free.slice(0, permits);
    assert.deepEqual(
      claimed.map(({ row }) => row.id),
      expected.map(({ id }) => id),
    );
    for (const [index, { lease }] of claimed.entries()) this.leased(expected[index] as Row, lease);
    assert.equal(more, expected.length === permits);
    if (more) this.behind.add(lane);
    else if (this.behind.delete(lane)) this.caughtUp += 1;
  }

  /** A SQL transaction of a few changes, which may be rolled back. */
  commit(): void {
    const isKept = this.random(8) > 0;
    const hasHolder = this.random(20) > 0;
    const effects: (() => void)[] = [];
    for (let count = this.random(4); count >= 0; count -= 1) {
      const change = this.random(10);
      if (change < 4) effects.push(this.add(hasHolder));
      else if (change < 6) effects.push(this.insert());
      else if (change < 8) effects.push(this.finish());
      else if (change < 9) effects.push(this.move());
      else effects.push(this.askAgain());
    }
    if (isKept) {
      this.queue.apply(hasHolder ? LEASE_MS : null);
      for (const effect of effects) effect();
    } else this.queue.drop();
  }

  make(dueAt: number): Row {
    const row = { id: `dlv_${this.rows.length}`, lane: this.lane(), dueAt, row: this.rows.length + 1 };
    return { ...row, lease: null, leasedAt: 0 };
  }

  add(hasHolder: boolean): () => void {
    // The clock may have stepped back a little.
    const row = this.make(this.now - this.random(3));
    const number = this.pending();
    const lanes = new Set<string>();
    let given: number | null = null;
    this.queue.add({
      id: `new_${number}`,
      lane: row.lane,
      dueAt: row.dueAt ?? 0,
      row: number,
      owner: "customer",
      size: 1,
      lanes,
      born: (lease) => {
        given = lease;
      },
    });
    return () => {
      this.rows.push({ ...row, id: `new_${number}`, row: number });
      const kept = this.rows.at(-1) as Row;
      const isLeased = hasHolder && !this.behindNow.has(row.lane);
      assert.equal(given !== null, isLeased, "it is leased at once unless others wait in front of it");
      assert.deepEqual([...lanes], isLeased ? [] : [row.lane]);
      if (given === null) this.behind.add(row.lane);
      else {
        this.born += 1;
        this.leased(kept, given);
      }
    };
  }

  insert(): () => void {
    const number = this.pending();
    const row = { ...this.make(this.now - this.random(40)), id: `new_${number}`, row: number };
    this.queue.dueAgain(row.lane, { dueAt: row.dueAt ?? 0, row: number }, true);
    this.behindNow.add(row.lane);
    return () => {
      this.rows.push(row);
      this.behind.add(row.lane);
      this.movedBack += 1;
    };
  }

  /** A leased delivery ends, or is due again later. */
  finish(): () => void {
    const row = this.some(({ lease, id }) => lease !== null && this.queue.leased(id)?.lease === lease);
    if (row === undefined) return () => {};
    const dueAt = this.random(2) === 0 ? null : this.now + this.random(60) - 5;
    this.queue.end(row.id);
    assert.equal(this.queue.leased(row.id), null, "inside of the transaction it has ended");
    if (dueAt !== null) this.queue.dueAgain(row.lane, { dueAt, row: row.row }, false);
    const isDue = dueAt !== null && dueAt <= this.claimedAt;
    if (isDue) this.behindNow.add(row.lane);
    return () => {
      row.lease = null;
      row.dueAt = dueAt;
      if (isDue) this.behind.add(row.lane);
    };
  }

  /** A leased delivery gets another due time. */
  move(): () => void {
    const row = this.some(({ lease, id }) => lease !== null && this.queue.leased(id)?.lease === lease);
    if (row === undefined) return () => {};
    const dueAt = this.now - this.random(40);
    this.queue.move(row.id, { dueAt, row: row.row });
    return () => {
      if (row.lease !== null) row.dueAt = dueAt;
    };
  }

  /** A retry by hand of a delivery that is not leased. */
  askAgain(): () => void {
    const row = this.some(({ lease, id }) => lease === null && !this.touched.has(id));
    if (row === undefined) return () => {};
    this.touched.add(row.id);
    const dueAt = Math.min(row.dueAt ?? this.now, this.now);
    this.queue.dueAgain(row.lane, { dueAt, row: row.row }, true);
    this.behindNow.add(row.lane);
    return () => {
      row.dueAt = dueAt;
      this.behind.add(row.lane);
    };
  }

  release(): void {
    const row = this.some(({ lease }) => lease !== null);
    if (row === undefined || row.lease === null) return;
    this.queue.release([row.lease, 1_000_000]);
    row.lease = null;
    this.behind.add(row.lane);
  }

  pass(): void {
    this.now += this.random(20);
    this.monotonic += this.random(20);
    this.queue.expire();
    for (const row of this.rows.filter(({ lease }) => lease !== null)) {
      if (row.leasedAt + LEASE_MS > this.monotonic) continue;
      row.lease = null;
      this.behind.add(row.lane);
    }
  }

  /** Lanes that are behind when the transaction is applied. */
  behindNow = new Set<string>();
  touched = new Set<string>();
  claimedAt = 0;
  #pending = 100_000;

  pending(): number {
    this.#pending += 1;
    return this.#pending;
  }

  step(): void {
    this.behindNow = new Set(this.behind);
    this.touched = new Set();
    const kind = this.random(10);
    if (kind < 4) {
      this.claimedAt = Math.max(this.claimedAt, this.now);
      this.claim();
    } else if (kind < 8) this.commit();
    else if (kind < 9) this.pass();
    else this.release();
    assert.equal(this.queue.size, this.rows.filter(({ lease }) => lease !== null).length);
    if (this.rows.length > 300) this.tidy();
  }

  /** Forgets what has ended. */
  tidy(): void {
    const kept = this.rows.filter(({ dueAt }) => dueAt !== null);
    this.rows.splice(0, this.rows.length, ...kept.slice(-200));
    for (const { lease, id } of kept.slice(0, -200)) {
      if (lease !== null) this.queue.end(id);
    }
    this.queue.apply(null);
  }
}

test("100,000 random operations lease the same deliveries as a table that is searched from its beginning", () => {
  const total = { born: 0, caughtUp: 0, movedBack: 0, skipped: 0 };
  for (let seed = 0; seed < 100; seed += 1) {
    const model = new Model(seed);
    for (let step = 0; step < 1_000; step += 1) model.step();
    for (const name of Object.keys(total) as (keyof typeof total)[]) total[name] += model[name];
  }
  for (const [name, count] of Object.entries(total)) assert.ok(count > 1_000, `${name}: ${count}`);
});

for (const size of [1, 20_000]) {
  test(`a customer with many lanes leaves leases to other customers, with events of ${size} bytes`, () => {
    const queue = new DeliveryQueue(() => 0);
    let rows = 0;
    const claim = (lane: string, owner: string) => {
      const read = (_: LanePosition, limit: number) =>
        Array.from({ length: limit }, () => {
          rows += 1;
          return { id: `dlv_${rows}`, dueAt: 0, row: rows, owner, size };
        });
      return queue.claim(lane, { permits: 128, now: 0, leaseMs: LEASE_MS }, read).claimed.length;
    };
    for (let lane = 0; lane < 200; lane += 1) claim(`lane ${lane}`, "cust_1");
    assert.ok(queue.size * size > 20_000_000 || queue.size > 13_000, `${queue.size} leases of one customer`);
    assert.equal(claim("another lane", "cust_2"), 128);
    assert.equal(claim("a third lane", "cust_3"), 128);
    assert.equal(claim("the first lane", "cust_1"), 0);
  });
}
