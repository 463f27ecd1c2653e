import assert from "node:assert/strict";
import { test } from "node:test";
import { RecentSubmits } from "./recent-submits.ts";

const FREE = () => false;

test("a user reference is never used twice among submits in flight, and never if it is in use elsewhere", () => {
  const recentSubmits = new RecentSubmits(0);
  const first = recentSubmits.open("msg_first", FREE);
  const elsewhere = (first.userReference % 0xffff) + 1;
  const given = new Set<number>();
  for (let count = 0; count < 70_000; count += 1) {
    const submitted = recentSubmits.open("msg_next", (userReference) => userReference === elsewhere);
    assert.ok(submitted.userReference >= 1 && submitted.userReference <= 0xffff);
    given.add(submitted.userReference);
    recentSubmits.close(submitted, null);
  }
  assert.equal(given.has(first.userReference), false);
  assert.equal(given.has(elsewhere), false);
  assert.equal(given.size, 0xffff - 2);
  assert.equal(recentSubmits.find(first.userReference), first);
});

test("a receipt that came while a response was on its way is early until that response is there", () => {
  const recentSubmits = new RecentSubmits(0);
  assert.equal(recentSubmits.isEarly(recentSubmits.order), false);
  const first = recentSubmits.open("msg_1", FREE);
  const came = recentSubmits.order;
  const second = recentSubmits.open("msg_2", FREE);
  assert.equal(recentSubmits.isEarly(came), true);
  recentSubmits.close(second, "2");
  assert.equal(recentSubmits.isEarly(came), true);
  recentSubmits.close(first, "1");
  assert.equal(recentSubmits.isEarly(came), false);
  recentSubmits.open("msg_3", FREE);
  assert.equal(recentSubmits.isEarly(came), false, "a later submit changes nothing");
});

test("an id that two messages have at once identifies neither; an id that is used again after the end belongs to the newer message", () => {
  const recentSubmits = new RecentSubmits(0);
  recentSubmits.assignId("7", "msg_1", "7");
  assert.equal(recentSubmits.isIdOfAnother("7", "msg_2"), true);
  assert.equal(recentSubmits.isIdOfAnother("7", "msg_1"), false);
  recentSubmits.endId("7");
  recentSubmits.assignId("7", "msg_2", "tb:2");
  assert.equal(recentSubmits.byId("7")?.reference, "tb:2");
  recentSubmits.assignId("7", "msg_3", "tb:3");
  assert.equal(recentSubmits.byId("7"), null);
  assert.deepEqual([recentSubmits.isShared("7"), recentSubmits.sharedIds], [true, 1]);
});
