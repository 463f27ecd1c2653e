/** The cursor of each number: kept on disk, never moved back, and new for a new customer. */

import assert from "node:assert/strict";
import { test } from "node:test";
import { memoryIn } from "../../../test/support/twilio/stage.ts";
import { type InboundCursor, InboundCursors } from "./inbound-cursors.ts";

const [ONE, TWO] = ["+15005550006", "+15005550007"];

function own(address: string, customerId: `cust_${string}` = "cust_1") {
  return { address, customerId, isDefault: false };
}

async function cursorsOn(entries: Map<string, string>): Promise<InboundCursors> {
  const cursors = new InboundCursors(memoryIn(entries));
  await cursors.load();
  return cursors;
}

function cursor(cursors: InboundCursors, number: string): InboundCursor {
  return cursors.get(number) ?? assert.fail(`${number} has no cursor`);
}

test("a number begins when it is first seen, and goes on from there in the next process", async () => {
  const entries = new Map<string, string>();
  const cursors = await cursorsOn(entries);
  await cursors.setNumbers([own(ONE)], 1_000);
  await cursors.setNumbers([own(ONE), own(TWO)], 2_000);
  await cursors.advance(ONE, cursor(cursors, ONE), 5_000);
  assert.deepEqual(cursor(cursors, ONE), { customerId: "cust_1", bornAt: 1_000, readUntil: 5_000 });
  assert.deepEqual(JSON.parse(entries.get(`inbound/${ONE}`) ?? ""), {
    customerId: "cust_1",
    bornAt: 1_000,
    heardAt: 5_000,
  });
  const next = await cursorsOn(entries);
  assert.deepEqual(next.numbers, [ONE, TWO]);
  assert.deepEqual([cursor(next, ONE), cursor(next, TWO)], [cursor(cursors, ONE), cursor(cursors, TWO)]);
  assert.equal(cursor(next, TWO).readUntil, null);
});

test("a cursor never goes back, and a read for an old cursor does not move its successor", async () => {
  const cursors = await cursorsOn(new Map());
  await cursors.setNumbers([own(ONE)], 1_000);
  const before = cursor(cursors, ONE);
  await cursors.advance(ONE, before, 5_000);
  await cursors.advance(ONE, cursor(cursors, ONE), 4_000);
  await cursors.advance(ONE, cursor(cursors, ONE), Number.NEGATIVE_INFINITY);
  assert.equal(cursor(cursors, ONE).readUntil, 5_000);
  await cursors.advance(ONE, before, 9_000);
  assert.equal(cursor(cursors, ONE).readUntil, 5_000);
});

test("a number with a new customer, and one that was away, gets a new cursor", async () => {
  const entries = new Map<string, string>();
  const cursors = await cursorsOn(entries);
  await cursors.setNumbers([own(ONE), own(TWO)], 1_000);
  await cursors.advance(ONE, cursor(cursors, ONE), 5_000);
  await cursors.setNumbers([own(ONE, "cust_2")], 6_000);
  assert.deepEqual(cursor(cursors, ONE), { customerId: "cust_2", bornAt: 6_000, readUntil: null });
  assert.deepEqual([cursors.get(TWO), entries.size], [null, 1]);
  await cursors.setNumbers([own(ONE, "cust_2"), own(TWO)], 7_000);
  assert.equal(cursor(cursors, TWO).bornAt, 7_000);
});

test("a number whose entry cannot be read gets a new cursor; other keys are ignored", async () => {
  const entries = new Map([
    [`inbound/${ONE}`, "{"],
    [`inbound/${TWO}`, '{"customerId":"cust_1","bornAt":"x"}'],
    ["sent/x", "{}"],
  ]);
  const cursors = await cursorsOn(entries);
  assert.deepEqual(cursors.numbers, []);
  await cursors.setNumbers([own(ONE)], 3_000);
  assert.equal(cursor(cursors, ONE).bornAt, 3_000);
  assert.equal(entries.has("sent/x"), true);
});

test("a cursor that could not be written does not exist", async () => {
  const entries = new Map<string, string>();
  const memory = memoryIn(entries);
  const cursors = new InboundCursors({ ...memory, put: () => Promise.reject(new Error("the disk is full")) });
  await assert.rejects(cursors.setNumbers([own(ONE)], 1_000));
  assert.equal(cursors.get(ONE), null);
});
