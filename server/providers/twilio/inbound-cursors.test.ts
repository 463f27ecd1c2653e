/** The cursor of each number: kept on disk, never moved back, and new for a new customer. */

import assert from "node:assert/strict";
import { test } from "node:test";
import { memoryIn } from "../../../test/support/twilio/stage.ts";
import { type InboundCursor, InboundCursors } from "./inbound-cursors.ts";

const [ONE, TWO] = ["+15005550006", "+15005550007"];

function own(address: string, customerId: `cust_${string}` = "cust_1") {
  return { address, customerId, isDefault: false };
}

async function marksOn(entries: Map<string, string>): Promise<InboundCursors> {
  const marks = new InboundCursors(memoryIn(entries));
  await marks.load();
  return marks;
}

function cursor(marks: InboundCursors, number: string): InboundCursor {
  return marks.get(number) ?? assert.fail(`${number} has no cursor`);
}

test("a number begins when it is first seen, and goes on from there in the next process", async () => {
  const entries = new Map<string, string>();
  const marks = await marksOn(entries);
  await marks.setNumbers([own(ONE)], 1_000);
  await marks.setNumbers([own(ONE), own(TWO)], 2_000);
  await marks.advance(ONE, cursor(marks, ONE), 5_000);
  assert.deepEqual(cursor(marks, ONE), { customerId: "cust_1", bornAt: 1_000, readUntil: 5_000 });
  const next = await marksOn(entries);
  assert.deepEqual(next.numbers, [ONE, TWO]);
  assert.deepEqual([cursor(next, ONE), cursor(next, TWO)], [cursor(marks, ONE), cursor(marks, TWO)]);
  assert.equal(cursor(next, TWO).readUntil, null);
});

test("a cursor never goes back, and a read for an old cursor does not move its successor", async () => {
  const marks = await marksOn(new Map());
  await marks.setNumbers([own(ONE)], 1_000);
  const before = cursor(marks, ONE);
  await marks.advance(ONE, before, 5_000);
  await marks.advance(ONE, cursor(marks, ONE), 4_000);
  await marks.advance(ONE, cursor(marks, ONE), Number.NEGATIVE_INFINITY);
  assert.equal(cursor(marks, ONE).readUntil, 5_000);
  await marks.advance(ONE, before, 9_000);
  assert.equal(cursor(marks, ONE).readUntil, 5_000);
});

test("a number with a new customer, and one that was away, gets a new cursor", async () => {
  const entries = new Map<string, string>();
  const marks = await marksOn(entries);
  await marks.setNumbers([own(ONE), own(TWO)], 1_000);
  await marks.advance(ONE, cursor(marks, ONE), 5_000);
  await marks.setNumbers([own(ONE, "cust_2")], 6_000);
  assert.deepEqual(cursor(marks, ONE), { customerId: "cust_2", bornAt: 6_000, readUntil: null });
  assert.deepEqual([marks.get(TWO), entries.size], [null, 1]);
  await marks.setNumbers([own(ONE, "cust_2"), own(TWO)], 7_000);
  assert.equal(cursor(marks, TWO).bornAt, 7_000);
});

test("a number whose entry cannot be read gets a new cursor; other keys are ignored", async () => {
  const entries = new Map([
    [`inbound/${ONE}`, "{"],
    [`inbound/${TWO}`, '{"customerId":"cust_1","bornAt":"x"}'],
    ["sent/x", "{}"],
  ]);
  const marks = await marksOn(entries);
  assert.deepEqual(marks.numbers, []);
  await marks.setNumbers([own(ONE)], 3_000);
  assert.equal(cursor(marks, ONE).bornAt, 3_000);
  assert.equal(entries.has("sent/x"), true);
});

test("a cursor that could not be written does not exist", async () => {
  const entries = new Map<string, string>();
  const memory = memoryIn(entries);
  const marks = new InboundCursors({ ...memory, put: () => Promise.reject(new Error("the disk is full")) });
  await assert.rejects(marks.setNumbers([own(ONE)], 1_000));
  assert.equal(marks.get(ONE), null);
});
