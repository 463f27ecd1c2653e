/**
 * Compares the deliveries in hand with a naive table. Any history of commits, reads, ends and returns takes each due
 * delivery once, in order, and strands none.
 */

import assert from "node:assert/strict";
import { test } from "node:test";
import { dueOf, HandModel, type TableRow } from "../../../test/support/hand-model.ts";
import { InHand } from "./in-hand.ts";

/** Events that have to happen in the histories of each kind of store (`HandKind`). */
const KINDS = {
  alone: ["pushed", "refused", "missed", "changed"],
  shared: ["pushed", "refused", "missed", "changed", "wentBack", "passed"],
  late: ["fenced", "missed"],
} as const;

for (const kind of ["alone", "shared", "late"] as const) {
  const seeds = 60;
  test(`${seeds} histories of 1,000 steps, of a store that is ${kind}`, () => {
    const total = { pushed: 0, refused: 0, fenced: 0, missed: 0, changed: 0, wentBack: 0, passed: 0 };
    for (let seed = 0; seed < seeds; seed += 1) {
      const model = new HandModel(seed, kind);
      for (let step = 0; step < 1_000; step += 1) model.step();
      model.settle();
      for (const name of Object.keys(total) as (keyof typeof total)[]) total[name] += model.counts[name];
    }
    for (const name of KINDS[kind]) assert.ok(total[name] > 40, `${name}: ${total[name]}`);
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
        return dueOf({ id: `dlv_${rows}`, lane, dueAt: 0, row: rows, wasTried: false }, customer, bytes);
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
  const row: TableRow = { id: "dlv_1", lane: "a", dueAt: 5, row: 1, wasTried: false };
  hand.ask("a", 9);
  assert.equal(hand.answer("a", [dueOf(row)], true).taken.length, 1);
  now = 59;
  hand.expire(60);
  assert.deepEqual([hand.size, hand.ask("a", 9).after], [1, { dueAt: 5, row: 1 }]);
  hand.failed("a");
  now = 60;
  hand.expire(60);
  assert.deepEqual([hand.size, hand.ask("a", 9).after], [0, { dueAt: 5, row: 0 }]);
});

test("a delivery before the place of a read for which there was no room is read again", () => {
  const hand = new InHand(() => 0);
  const at = (dueAt: number): TableRow => ({ id: `dlv_${dueAt}`, lane: "a", dueAt, row: dueAt, wasTried: false });
  hand.ask("a", 9);
  assert.equal(hand.answer("a", [dueOf(at(10))], true).taken.length, 1);
  assert.deepEqual(hand.ask("a", 9).after, { dueAt: 10, row: 10 });
  // Another process has put it there meanwhile.
  const large = dueOf(at(5), "cust_1", "x".repeat(33_554_433));
  assert.equal(hand.answer("a", [large, dueOf(at(10))], true).taken.length, 0);
  assert.deepEqual(hand.ask("a", 9).after, { dueAt: 5, row: 4 });
});
